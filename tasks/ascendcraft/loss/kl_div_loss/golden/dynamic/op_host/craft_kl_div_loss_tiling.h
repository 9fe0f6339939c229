// What the tiling function of CraftKlDivLoss tells the kernel. Lowered from a tile program.
#ifndef CRAFT_KL_DIV_LOSS_TILING_H
#define CRAFT_KL_DIV_LOSS_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftKlDivLossTilingData)
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
TILING_DATA_FIELD_DEF(int64_t, parts);
TILING_DATA_FIELD_DEF(float, scale);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftKlDivLoss, CraftKlDivLossTilingData)
}  // namespace optiling
#endif
