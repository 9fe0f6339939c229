// What the tiling function of MhcPostGrad tells the kernel. Lowered from a tile program.
#ifndef MHC_POST_GRAD_TILING_H
#define MHC_POST_GRAD_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(MhcPostGradTilingData)
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, d);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, width);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(MhcPostGrad, MhcPostGradTilingData)
}  // namespace optiling
#endif
