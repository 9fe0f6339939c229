// What the tiling function of GeluGrad tells the kernel. Lowered from a tile program.
#ifndef GELU_GRAD_TILING_H
#define GELU_GRAD_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(GeluGradTilingData)
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(GeluGrad, GeluGradTilingData)
}  // namespace optiling
#endif
