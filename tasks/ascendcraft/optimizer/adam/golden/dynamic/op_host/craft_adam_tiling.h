// What the tiling function of CraftAdam tells the kernel. Lowered from a tile program.
#ifndef CRAFT_ADAM_TILING_H
#define CRAFT_ADAM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftAdamTilingData)
TILING_DATA_FIELD_DEF(float, beta1);
TILING_DATA_FIELD_DEF(float, beta2);
TILING_DATA_FIELD_DEF(float, lr);
TILING_DATA_FIELD_DEF(float, eps);
TILING_DATA_FIELD_DEF(int64_t, step);
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
TILING_DATA_FIELD_DEF(float, correction1);
TILING_DATA_FIELD_DEF(float, correction2);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftAdam, CraftAdamTilingData)
}  // namespace optiling
#endif
