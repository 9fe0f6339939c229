// What the tiling function of MseLossGradV2 tells the kernel.
#ifndef MSE_LOSS_GRAD_V2_TILING_H
#define MSE_LOSS_GRAD_V2_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(MseLossGradV2TilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);  // elements of every tensor
TILING_DATA_FIELD_DEF(uint64_t, share);  // elements for each core
TILING_DATA_FIELD_DEF(uint32_t, tile);   // elements per tile
TILING_DATA_FIELD_DEF(float, factor);    // 2, over the number of elements for a mean
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(MseLossGradV2, MseLossGradV2TilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
