// What the tiling function of Mla tells the kernel.
#ifndef MLA_TILING_H
#define MLA_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(MlaTilingData)
TILING_DATA_FIELD_DEF(uint32_t, heads);
TILING_DATA_FIELD_DEF(uint32_t, cachedHeads);
TILING_DATA_FIELD_DEF(uint32_t, headWidth);   // columns without rotary embedding, and of values
TILING_DATA_FIELD_DEF(uint32_t, ropeWidth);   // columns with rotary embedding
TILING_DATA_FIELD_DEF(uint32_t, blockSize);   // cached tokens of a block
TILING_DATA_FIELD_DEF(uint32_t, tableWidth);  // blocks of a sequence
TILING_DATA_FIELD_DEF(uint32_t, sequences);
TILING_DATA_FIELD_DEF(uint32_t, tileRows);  // queries that are treated together
TILING_DATA_FIELD_DEF(float, scale);
TILING_DATA_FIELD_DEF_ARR(uint32_t, 128, tokens);  // of queries, of every sequence
TILING_DATA_FIELD_DEF_ARR(uint32_t, 128, cached);  // tokens of every sequence
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(Mla, MlaTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
