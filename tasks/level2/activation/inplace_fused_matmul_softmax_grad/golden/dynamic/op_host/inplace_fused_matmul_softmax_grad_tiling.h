// What the tiling function of InplaceFusedMatmulSoftmaxGrad tells the kernel.
#ifndef INPLACE_FUSED_MATMUL_SOFTMAX_GRAD_TILING_H
#define INPLACE_FUSED_MATMUL_SOFTMAX_GRAD_TILING_H
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(InplaceFusedMatmulSoftmaxGradTilingData)
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);  // a rectangle for each vector core
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(InplaceFusedMatmulSoftmaxGrad, InplaceFusedMatmulSoftmaxGradTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
