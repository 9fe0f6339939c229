// What the tiling function of CraftCumprod tells the kernel. Lowered from a tile program.
#ifndef CRAFT_CUMPROD_TILING_H
#define CRAFT_CUMPROD_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftCumprodTilingData)
TILING_DATA_FIELD_DEF(int64_t, dim);
TILING_DATA_FIELD_DEF(int64_t, items);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, inner);
TILING_DATA_FIELD_DEF(int64_t, strips);
TILING_DATA_FIELD_DEF(int64_t, width);
TILING_DATA_FIELD_DEF(int64_t, run);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftCumprod, CraftCumprodTilingData)
}  // namespace optiling
#endif
