// What the tiling function of CraftRmsprop tells the kernel. Lowered from a tile program.
#ifndef CRAFT_RMSPROP_TILING_H
#define CRAFT_RMSPROP_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftRmspropTilingData)
TILING_DATA_FIELD_DEF(float, lr);
TILING_DATA_FIELD_DEF(float, alpha);
TILING_DATA_FIELD_DEF(float, eps);
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftRmsprop, CraftRmspropTilingData)
}  // namespace optiling
#endif
