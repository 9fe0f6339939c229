// What the tiling function of AddCustom tells the kernel.
#ifndef ADD_CUSTOM_TILING_H
#define ADD_CUSTOM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(AddCustomTilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);  // elements of x, y and z
TILING_DATA_FIELD_DEF(uint64_t, share);  // elements for each core
TILING_DATA_FIELD_DEF(uint32_t, tile);   // elements per tile
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(AddCustom, AddCustomTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
