// What the tiling function of GroupedMatmulSliceM tells the kernel.
#ifndef GROUPED_MATMUL_SLICE_M_TILING_H
#define GROUPED_MATMUL_SLICE_M_TILING_H
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(GroupedMatmulSliceMTilingData)
TILING_DATA_FIELD_DEF(uint64_t, groups);
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);  // of one rectangle; M and N are those of the result
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(GroupedMatmulSliceM, GroupedMatmulSliceMTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
