// What the tiling function of CraftBatchNorm tells the kernel. Lowered from a tile program.
#ifndef CRAFT_BATCH_NORM_TILING_H
#define CRAFT_BATCH_NORM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftBatchNormTilingData)
TILING_DATA_FIELD_DEF(float, eps);
TILING_DATA_FIELD_DEF(int64_t, samples);
TILING_DATA_FIELD_DEF(int64_t, channels);
TILING_DATA_FIELD_DEF(int64_t, area);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftBatchNorm, CraftBatchNormTilingData)
}  // namespace optiling
#endif
