// What the tiling function of CraftAveragePooling2d tells the kernel. Lowered from a tile program.
#ifndef CRAFT_AVERAGE_POOLING_2D_TILING_H
#define CRAFT_AVERAGE_POOLING_2D_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftAveragePooling2dTilingData)
TILING_DATA_FIELD_DEF(int64_t, kernel_size);
TILING_DATA_FIELD_DEF(int64_t, stride);
TILING_DATA_FIELD_DEF(int64_t, padding);
TILING_DATA_FIELD_DEF(int64_t, rows);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
TILING_DATA_FIELD_DEF(int64_t, segment);
TILING_DATA_FIELD_DEF(int64_t, width);
TILING_DATA_FIELD_DEF(int64_t, width_out);
TILING_DATA_FIELD_DEF(int64_t, height);
TILING_DATA_FIELD_DEF(int64_t, height_out);
TILING_DATA_FIELD_DEF(float, share_of_one);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftAveragePooling2d, CraftAveragePooling2dTilingData)
}  // namespace optiling
#endif
