// What the tiling function of CraftSumReductionOverADimension tells the kernel. Lowered from a tile program.
#ifndef CRAFT_SUM_REDUCTION_OVER_A_DIMENSION_TILING_H
#define CRAFT_SUM_REDUCTION_OVER_A_DIMENSION_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftSumReductionOverADimensionTilingData)
TILING_DATA_FIELD_DEF(int64_t, dim);
TILING_DATA_FIELD_DEF(int64_t, items);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, inner);
TILING_DATA_FIELD_DEF(int64_t, strips);
TILING_DATA_FIELD_DEF(int64_t, width);
TILING_DATA_FIELD_DEF(int64_t, run);
TILING_DATA_FIELD_DEF(int64_t, tall);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftSumReductionOverADimension, CraftSumReductionOverADimensionTilingData)
}  // namespace optiling
#endif
