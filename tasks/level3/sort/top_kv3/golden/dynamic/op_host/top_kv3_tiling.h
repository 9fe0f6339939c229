// What the tiling function of TopKV3 tells the kernel.
#ifndef TOP_KV3_TILING_H
#define TOP_KV3_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(TopKV3TilingData)
TILING_DATA_FIELD_DEF(uint64_t, outer);      // product of the axes before dim
TILING_DATA_FIELD_DEF(uint64_t, length);     // extent of dim
TILING_DATA_FIELD_DEF(uint64_t, inner);      // product of the axes behind dim
TILING_DATA_FIELD_DEF(uint32_t, k);
TILING_DATA_FIELD_DEF(uint32_t, tileLines);  // lines along dim per tile
TILING_DATA_FIELD_DEF(uint32_t, largest);    // 1: the largest elements, 0: the smallest
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(TopKV3, TopKV3TilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
