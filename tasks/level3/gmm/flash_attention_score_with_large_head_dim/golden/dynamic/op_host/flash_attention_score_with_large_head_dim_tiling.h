// What the tiling function of FlashAttentionScoreWithLargeHeadDim tells the kernel.
#ifndef FLASH_ATTENTION_SCORE_WITH_LARGE_HEAD_DIM_TILING_H
#define FLASH_ATTENTION_SCORE_WITH_LARGE_HEAD_DIM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(FlashAttentionScoreWithLargeHeadDimTilingData)
TILING_DATA_FIELD_DEF(uint32_t, batches);
TILING_DATA_FIELD_DEF(uint32_t, heads);
TILING_DATA_FIELD_DEF(uint32_t, length);     // queries, and keys, of a batch
TILING_DATA_FIELD_DEF(uint32_t, headWidth);  // columns of a head
TILING_DATA_FIELD_DEF(uint32_t, tileRows);   // queries that are treated together
TILING_DATA_FIELD_DEF(float, scale);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(FlashAttentionScoreWithLargeHeadDim, FlashAttentionScoreWithLargeHeadDimTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
