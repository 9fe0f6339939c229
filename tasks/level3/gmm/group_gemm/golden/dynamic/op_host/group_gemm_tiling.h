// What the tiling function of GroupGemm tells the kernel.
#ifndef GROUP_GEMM_TILING_H
#define GROUP_GEMM_TILING_H
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
constexpr uint32_t MOST_GROUPS = 64;

BEGIN_TILING_DATA_DEF(GroupGemmTilingData)
TILING_DATA_FIELD_DEF(uint32_t, groups);
TILING_DATA_FIELD_DEF_ARR(uint32_t, 64, m);
TILING_DATA_FIELD_DEF_ARR(uint32_t, 64, k);
TILING_DATA_FIELD_DEF_ARR(uint32_t, 64, n);
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);  // of one rectangle
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(GroupGemm, GroupGemmTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
