// What the tiling function of MulSigmoid tells the kernel. Lowered from a tile program.
#ifndef MUL_SIGMOID_TILING_H
#define MUL_SIGMOID_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(MulSigmoidTilingData)
TILING_DATA_FIELD_DEF(float, t1);
TILING_DATA_FIELD_DEF(float, t2);
TILING_DATA_FIELD_DEF(float, t3);
TILING_DATA_FIELD_DEF(int64_t, items);
TILING_DATA_FIELD_DEF(int64_t, chunks);
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(MulSigmoid, MulSigmoidTilingData)
}  // namespace optiling
#endif
