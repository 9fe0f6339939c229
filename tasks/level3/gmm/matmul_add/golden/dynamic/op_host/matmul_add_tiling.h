// What the tiling function of MatmulAdd tells the kernel.
#ifndef MATMUL_ADD_TILING_H
#define MATMUL_ADD_TILING_H
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(MatmulAddTilingData)
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);  // of one rectangle; M and N are those of the result
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(MatmulAdd, MatmulAddTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
