// What the tiling function of CraftMseLoss tells the kernel. Lowered from a tile program.
#ifndef CRAFT_MSE_LOSS_TILING_H
#define CRAFT_MSE_LOSS_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftMseLossTilingData)
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
TILING_DATA_FIELD_DEF(int64_t, parts);
TILING_DATA_FIELD_DEF(float, scale);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftMseLoss, CraftMseLossTilingData)
}  // namespace optiling
#endif
