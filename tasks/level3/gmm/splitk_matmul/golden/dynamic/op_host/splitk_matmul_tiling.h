// What the tiling function of SplitkMatmul tells the kernel.
#ifndef SPLITK_MATMUL_TILING_H
#define SPLITK_MATMUL_TILING_H
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(SplitkMatmulTilingData)
TILING_DATA_FIELD_DEF(uint32_t, parts);           // of k
TILING_DATA_FIELD_DEF(uint32_t, depth);           // of a part; the last one may have less
TILING_DATA_FIELD_DEF(uint32_t, share);           // elements of the result that a vector core adds up
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);  // of one rectangle; M, N and Ka are those of the matrices
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(SplitkMatmul, SplitkMatmulTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
