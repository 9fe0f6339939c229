// What the tiling function of SwiGluGrad tells the kernel. Lowered from a tile program.
#ifndef SWI_GLU_GRAD_TILING_H
#define SWI_GLU_GRAD_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(SwiGluGradTilingData)
TILING_DATA_FIELD_DEF(int64_t, dim);
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, m);
TILING_DATA_FIELD_DEF(int64_t, items);
TILING_DATA_FIELD_DEF(int64_t, chunks);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, width);
TILING_DATA_FIELD_DEF(int64_t, most);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(SwiGluGrad, SwiGluGradTilingData)
}  // namespace optiling
#endif
