// What the tiling function of CraftLamb tells the kernel. Lowered from a tile program.
#ifndef CRAFT_LAMB_TILING_H
#define CRAFT_LAMB_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftLambTilingData)
TILING_DATA_FIELD_DEF(float, lr);
TILING_DATA_FIELD_DEF(float, eps);
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
TILING_DATA_FIELD_DEF(int64_t, parts);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftLamb, CraftLambTilingData)
}  // namespace optiling
#endif
