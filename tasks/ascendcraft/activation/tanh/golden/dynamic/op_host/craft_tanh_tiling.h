// What the tiling function of CraftTanh tells the kernel. Lowered from a tile program.
#ifndef CRAFT_TANH_TILING_H
#define CRAFT_TANH_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftTanhTilingData)
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftTanh, CraftTanhTilingData)
}  // namespace optiling
#endif
