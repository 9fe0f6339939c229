// What the tiling function of CraftCosineSimilarityLoss tells the kernel. Lowered from a tile program.
#ifndef CRAFT_COSINE_SIMILARITY_LOSS_TILING_H
#define CRAFT_COSINE_SIMILARITY_LOSS_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CraftCosineSimilarityLossTilingData)
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, d);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, tile);
TILING_DATA_FIELD_DEF(int64_t, parts);
TILING_DATA_FIELD_DEF(float, scale);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CraftCosineSimilarityLoss, CraftCosineSimilarityLossTilingData)
}  // namespace optiling
#endif
