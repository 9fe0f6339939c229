// What the tiling function of CraftElu tells the kernel. Lowered from a tile program.
#ifndef CRAFT_ELU_TILING_H
#define CRAFT_ELU_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftEluTilingData)
TILING_DATA_FIELD_DEF(float, alpha);
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftElu, CraftEluTilingData)
}  // namespace optiling
#endif
