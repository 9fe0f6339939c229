// What the tiling function of CraftRelu tells the kernel. Lowered from a tile program.
#ifndef CRAFT_RELU_TILING_H
#define CRAFT_RELU_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftReluTilingData)
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftRelu, CraftReluTilingData)
}  // namespace optiling
#endif
