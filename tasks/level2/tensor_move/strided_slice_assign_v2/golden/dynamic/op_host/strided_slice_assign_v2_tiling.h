// What the tiling function of StridedSliceAssignV2 tells the kernel.
#ifndef STRIDED_SLICE_ASSIGN_V2_TILING_H
#define STRIDED_SLICE_ASSIGN_V2_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
constexpr uint32_t MOST_AXES = 8;

BEGIN_TILING_DATA_DEF(StridedSliceAssignV2TilingData)
TILING_DATA_FIELD_DEF(uint32_t, rank);
TILING_DATA_FIELD_DEF(uint32_t, axes);                        // before those at the end that are taken whole
TILING_DATA_FIELD_DEF(uint32_t, sliced);                      // axes that begin and strides speak of
TILING_DATA_FIELD_DEF(uint64_t, cell);                        // bytes of what the axes at the end hold
TILING_DATA_FIELD_DEF_ARR(uint64_t, MOST_AXES, counts);       // extents of the slice
TILING_DATA_FIELD_DEF_ARR(uint64_t, MOST_AXES, pitches);      // bytes from one index to the next, in var
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(StridedSliceAssignV2, StridedSliceAssignV2TilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
