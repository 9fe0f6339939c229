// What the tiling function of BatchNormV3 tells the kernel.
#ifndef BATCH_NORM_V3_TILING_H
#define BATCH_NORM_V3_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(BatchNormV3TilingData)
TILING_DATA_FIELD_DEF(uint64_t, samples);
TILING_DATA_FIELD_DEF(uint64_t, channels);
TILING_DATA_FIELD_DEF(uint64_t, spatial);   // elements of a channel of a sample
TILING_DATA_FIELD_DEF(uint64_t, share);     // samples of a part
TILING_DATA_FIELD_DEF(uint32_t, parts);     // that the samples of a channel are cut into
TILING_DATA_FIELD_DEF(uint32_t, width);     // columns of a tile
TILING_DATA_FIELD_DEF(uint32_t, pitch);     // elements from row to row in a tile
TILING_DATA_FIELD_DEF(uint32_t, tileRows);  // samples of a tile
TILING_DATA_FIELD_DEF(uint32_t, training);
TILING_DATA_FIELD_DEF(float, epsilon);
TILING_DATA_FIELD_DEF(float, momentum);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(BatchNormV3, BatchNormV3TilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
