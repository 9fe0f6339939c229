// What the tiling function of MulMulReduceMeanDTwice tells the kernel. Lowered from a tile program.
#ifndef MUL_MUL_REDUCE_MEAN_D_TWICE_TILING_H
#define MUL_MUL_REDUCE_MEAN_D_TWICE_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(MulMulReduceMeanDTwiceTilingData)
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, d);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, width);
TILING_DATA_FIELD_DEF(int64_t, most);
TILING_DATA_FIELD_DEF(bool, again);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(MulMulReduceMeanDTwice, MulMulReduceMeanDTwiceTilingData)
}  // namespace optiling
#endif
