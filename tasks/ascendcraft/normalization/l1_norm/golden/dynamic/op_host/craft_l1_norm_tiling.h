// What the tiling function of CraftL1Norm tells the kernel. Lowered from a tile program.
#ifndef CRAFT_L1_NORM_TILING_H
#define CRAFT_L1_NORM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftL1NormTilingData)
TILING_DATA_FIELD_DEF(int64_t, rows);
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftL1Norm, CraftL1NormTilingData)
}  // namespace optiling
#endif
