// What the tiling function of AddSigmoidMulReduceSumD tells the kernel. Lowered from a tile program.
#ifndef ADD_SIGMOID_MUL_REDUCE_SUM_D_TILING_H
#define ADD_SIGMOID_MUL_REDUCE_SUM_D_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(AddSigmoidMulReduceSumDTilingData)
TILING_DATA_FIELD_DEF(int64_t, r);
TILING_DATA_FIELD_DEF(int64_t, c);
TILING_DATA_FIELD_DEF(int64_t, items);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, strips);
TILING_DATA_FIELD_DEF(int64_t, width);
TILING_DATA_FIELD_DEF(int64_t, tall);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(AddSigmoidMulReduceSumD, AddSigmoidMulReduceSumDTilingData)
}  // namespace optiling
#endif
