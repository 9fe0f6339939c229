// What the tiling function of GroupedMatmulSliceK tells the kernel.
#ifndef GROUPED_MATMUL_SLICE_K_TILING_H
#define GROUPED_MATMUL_SLICE_K_TILING_H
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(GroupedMatmulSliceKTilingData)
TILING_DATA_FIELD_DEF(uint64_t, groups);
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);  // of one rectangle; M and N are those of a result
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(GroupedMatmulSliceK, GroupedMatmulSliceKTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
