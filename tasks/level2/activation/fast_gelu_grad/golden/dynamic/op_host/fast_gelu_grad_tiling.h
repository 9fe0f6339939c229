// What the tiling function of FastGeluGrad tells the kernel. Lowered from a tile program.
#ifndef FAST_GELU_GRAD_TILING_H
#define FAST_GELU_GRAD_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(FastGeluGradTilingData)
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(FastGeluGrad, FastGeluGradTilingData)
}  // namespace optiling
#endif
