// What the tiling function of CraftInstanceNorm tells the kernel. Lowered from a tile program.
#ifndef CRAFT_INSTANCE_NORM_TILING_H
#define CRAFT_INSTANCE_NORM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftInstanceNormTilingData)
TILING_DATA_FIELD_DEF(float, eps);
TILING_DATA_FIELD_DEF(int64_t, rows);
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftInstanceNorm, CraftInstanceNormTilingData)
}  // namespace optiling
#endif
