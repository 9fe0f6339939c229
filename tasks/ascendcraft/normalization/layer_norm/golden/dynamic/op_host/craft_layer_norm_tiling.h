// What the tiling function of CraftLayerNorm tells the kernel. Lowered from a tile program.
#ifndef CRAFT_LAYER_NORM_TILING_H
#define CRAFT_LAYER_NORM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftLayerNormTilingData)
TILING_DATA_FIELD_DEF(float, eps);
TILING_DATA_FIELD_DEF(int64_t, rows);
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftLayerNorm, CraftLayerNormTilingData)
}  // namespace optiling
#endif
