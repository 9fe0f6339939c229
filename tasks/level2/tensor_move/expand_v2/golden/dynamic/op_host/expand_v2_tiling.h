// What the tiling function of ExpandV2 tells the kernel.
#ifndef EXPAND_V2_TILING_H
#define EXPAND_V2_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
constexpr uint32_t MOST_AXES = 8;

BEGIN_TILING_DATA_DEF(ExpandV2TilingData)
TILING_DATA_FIELD_DEF(uint64_t, groups);    // runs of x that are repeated as a whole
TILING_DATA_FIELD_DEF(uint64_t, times);     // how often each is repeated, one after the other
TILING_DATA_FIELD_DEF(uint64_t, run);       // elements of such a run in y
TILING_DATA_FIELD_DEF(uint32_t, spread);    // 1: a run is one element of x over and over
TILING_DATA_FIELD_DEF(uint32_t, tileRows);  // repetitions per tile
TILING_DATA_FIELD_DEF(uint32_t, tileRun);   // elements of a run per tile
TILING_DATA_FIELD_DEF(uint32_t, axes);      // that a group stands for, outermost first
TILING_DATA_FIELD_DEF_ARR(uint64_t, MOST_AXES, extents);  // of these axes
TILING_DATA_FIELD_DEF_ARR(uint64_t, MOST_AXES, strides);  // elements of x from index to index, 0 where it is repeated
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(ExpandV2, ExpandV2TilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
