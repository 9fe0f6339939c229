// What the tiling function of CraftTripletMarginLoss tells the kernel. Lowered from a tile program.
#ifndef CRAFT_TRIPLET_MARGIN_LOSS_TILING_H
#define CRAFT_TRIPLET_MARGIN_LOSS_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftTripletMarginLossTilingData)
TILING_DATA_FIELD_DEF(float, margin);
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, d);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
TILING_DATA_FIELD_DEF(int64_t, parts);
TILING_DATA_FIELD_DEF(float, scale);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftTripletMarginLoss, CraftTripletMarginLossTilingData)
}  // namespace optiling
#endif
