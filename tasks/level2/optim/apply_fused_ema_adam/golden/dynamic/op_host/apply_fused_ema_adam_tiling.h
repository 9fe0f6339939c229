// What the tiling function of ApplyFusedEmaAdam tells the kernel.
#ifndef APPLY_FUSED_EMA_ADAM_TILING_H
#define APPLY_FUSED_EMA_ADAM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(ApplyFusedEmaAdamTilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);      // elements of every tensor
TILING_DATA_FIELD_DEF(uint64_t, share);      // elements for each core
TILING_DATA_FIELD_DEF(uint32_t, tile);       // elements per tile
TILING_DATA_FIELD_DEF(uint32_t, decoupled);  // 1: weight decay acts on the weights, 0: on the gradient
TILING_DATA_FIELD_DEF(uint32_t, corrected);  // whether the moments are corrected for their start at zero
TILING_DATA_FIELD_DEF(float, rate);
TILING_DATA_FIELD_DEF(float, emaDecay);
TILING_DATA_FIELD_DEF(float, beta1);
TILING_DATA_FIELD_DEF(float, beta2);
TILING_DATA_FIELD_DEF(float, epsilon);
TILING_DATA_FIELD_DEF(float, weightDecay);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(ApplyFusedEmaAdam, ApplyFusedEmaAdamTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
