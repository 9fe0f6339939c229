// What the tiling function of CraftAdagrad tells the kernel. Lowered from a tile program.
#ifndef CRAFT_ADAGRAD_TILING_H
#define CRAFT_ADAGRAD_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftAdagradTilingData)
TILING_DATA_FIELD_DEF(float, lr);
TILING_DATA_FIELD_DEF(float, eps);
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftAdagrad, CraftAdagradTilingData)
}  // namespace optiling
#endif
