// What the tiling function of Cross tells the kernel.
#ifndef CROSS_TILING_H
#define CROSS_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CrossTilingData)
TILING_DATA_FIELD_DEF(uint64_t, outer);   // elements before the axis of the components
TILING_DATA_FIELD_DEF(uint64_t, inner);   // elements after it
TILING_DATA_FIELD_DEF(uint64_t, pieces);  // of inner
TILING_DATA_FIELD_DEF(uint64_t, tiles);   // of both
TILING_DATA_FIELD_DEF(uint32_t, tileOuter);  // rows of a tile
TILING_DATA_FIELD_DEF(uint32_t, tileInner);  // elements of a row of a tile
TILING_DATA_FIELD_DEF(uint32_t, pitch);      // elements from row to row, whole blocks of 32 bytes
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(Cross, CrossTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
