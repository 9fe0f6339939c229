// What the tiling function of CraftSoftmax tells the kernel. Lowered from a tile program.
#ifndef CRAFT_SOFTMAX_TILING_H
#define CRAFT_SOFTMAX_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftSoftmaxTilingData)
TILING_DATA_FIELD_DEF(int64_t, rows);
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftSoftmax, CraftSoftmaxTilingData)
}  // namespace optiling
#endif
