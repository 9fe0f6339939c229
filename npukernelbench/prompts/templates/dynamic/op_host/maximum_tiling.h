#pragma once
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(MaximumTilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);    // elements of x, y and z
TILING_DATA_FIELD_DEF(uint64_t, perCore);  // elements for each core: whole 32-byte blocks
TILING_DATA_FIELD_DEF(uint32_t, tile);     // elements per tile
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(Maximum, MaximumTilingData)
}  // namespace optiling
