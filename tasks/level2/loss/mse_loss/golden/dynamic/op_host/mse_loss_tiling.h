// What the tiling function of MseLoss tells the kernel.
#ifndef MSE_LOSS_TILING_H
#define MSE_LOSS_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(MseLossTilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);  // elements of predict and label
TILING_DATA_FIELD_DEF(uint64_t, share);  // elements for each core
TILING_DATA_FIELD_DEF(uint32_t, tile);   // elements per tile
TILING_DATA_FIELD_DEF(float, factor);    // of the sum
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(MseLoss, MseLossTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
