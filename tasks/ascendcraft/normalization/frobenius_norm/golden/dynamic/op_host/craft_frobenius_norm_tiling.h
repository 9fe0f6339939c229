// What the tiling function of CraftFrobeniusNorm tells the kernel. Lowered from a tile program.
#ifndef CRAFT_FROBENIUS_NORM_TILING_H
#define CRAFT_FROBENIUS_NORM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftFrobeniusNormTilingData)
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
TILING_DATA_FIELD_DEF(int64_t, parts);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftFrobeniusNorm, CraftFrobeniusNormTilingData)
}  // namespace optiling
#endif
