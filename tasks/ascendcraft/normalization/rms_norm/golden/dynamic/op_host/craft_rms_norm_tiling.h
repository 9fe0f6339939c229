// What the tiling function of CraftRmsNorm tells the kernel. Lowered from a tile program.
#ifndef CRAFT_RMS_NORM_TILING_H
#define CRAFT_RMS_NORM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftRmsNormTilingData)
TILING_DATA_FIELD_DEF(float, eps);
TILING_DATA_FIELD_DEF(int64_t, items);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, channels);
TILING_DATA_FIELD_DEF(int64_t, area);
TILING_DATA_FIELD_DEF(int64_t, strips);
TILING_DATA_FIELD_DEF(int64_t, width);
TILING_DATA_FIELD_DEF(int64_t, tall);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftRmsNorm, CraftRmsNormTilingData)
}  // namespace optiling
#endif
