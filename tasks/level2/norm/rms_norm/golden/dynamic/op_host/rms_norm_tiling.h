// What the tiling function of RmsNorm tells the kernel.
#ifndef RMS_NORM_TILING_H
#define RMS_NORM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(RmsNormTilingData)
TILING_DATA_FIELD_DEF(uint64_t, rows);
TILING_DATA_FIELD_DEF(uint64_t, share);     // rows for each core
TILING_DATA_FIELD_DEF(uint64_t, columns);
TILING_DATA_FIELD_DEF(uint32_t, tile);      // elements per tile
TILING_DATA_FIELD_DEF(uint32_t, tileRows);  // whole rows per tile; 0: a row takes several tiles
TILING_DATA_FIELD_DEF(uint32_t, pitch);     // elements from row to row in a tile
TILING_DATA_FIELD_DEF(float, epsilon);
TILING_DATA_FIELD_DEF(float, mean);         // 1 / columns
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(RmsNorm, RmsNormTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
