// What the tiling function of BatchedMatmul tells the kernel.
#ifndef BATCHED_MATMUL_TILING_H
#define BATCHED_MATMUL_TILING_H
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(BatchedMatmulTilingData)
TILING_DATA_FIELD_DEF(uint64_t, batches);
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);  // of one product
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(BatchedMatmul, BatchedMatmulTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
