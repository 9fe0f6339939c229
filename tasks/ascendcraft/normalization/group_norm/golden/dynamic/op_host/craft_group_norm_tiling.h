// What the tiling function of CraftGroupNorm tells the kernel. Lowered from a tile program.
#ifndef CRAFT_GROUP_NORM_TILING_H
#define CRAFT_GROUP_NORM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftGroupNormTilingData)
TILING_DATA_FIELD_DEF(int64_t, num_groups);
TILING_DATA_FIELD_DEF(float, eps);
TILING_DATA_FIELD_DEF(int64_t, groups);
TILING_DATA_FIELD_DEF(int64_t, channels);
TILING_DATA_FIELD_DEF(int64_t, area);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftGroupNorm, CraftGroupNormTilingData)
}  // namespace optiling
#endif
