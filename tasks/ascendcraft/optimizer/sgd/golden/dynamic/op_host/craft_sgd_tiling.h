// What the tiling function of CraftSgd tells the kernel. Lowered from a tile program.
#ifndef CRAFT_SGD_TILING_H
#define CRAFT_SGD_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftSgdTilingData)
TILING_DATA_FIELD_DEF(float, momentum);
TILING_DATA_FIELD_DEF(float, lr);
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftSgd, CraftSgdTilingData)
}  // namespace optiling
#endif
