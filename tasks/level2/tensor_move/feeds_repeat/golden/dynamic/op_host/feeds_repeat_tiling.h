// What the tiling function of FeedsRepeat tells the kernel.
#ifndef FEEDS_REPEAT_TILING_H
#define FEEDS_REPEAT_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(FeedsRepeatTilingData)
TILING_DATA_FIELD_DEF(uint64_t, rows);     // of feeds
TILING_DATA_FIELD_DEF(uint64_t, columns);  // elements of a row
TILING_DATA_FIELD_DEF(uint64_t, outputRows);
TILING_DATA_FIELD_DEF(uint64_t, share);    // rows of the output for each core
TILING_DATA_FIELD_DEF(uint32_t, tile);     // elements of a row at a time
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(FeedsRepeat, FeedsRepeatTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
