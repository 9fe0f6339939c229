// What the tiling function of Eye tells the kernel.
#ifndef EYE_TILING_H
#define EYE_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(EyeTilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);    // elements of the batch
TILING_DATA_FIELD_DEF(uint64_t, share);    // elements for each core
TILING_DATA_FIELD_DEF(uint64_t, rows);     // of a matrix
TILING_DATA_FIELD_DEF(uint64_t, columns);  // of a matrix
TILING_DATA_FIELD_DEF(uint32_t, tile);     // elements per tile
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(Eye, EyeTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
