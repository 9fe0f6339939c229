// What the tiling function of ReverseSequence tells the kernel.
#ifndef REVERSE_SEQUENCE_TILING_H
#define REVERSE_SEQUENCE_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(ReverseSequenceTilingData)
TILING_DATA_FIELD_DEF(uint64_t, outer);       // product of the axes before both
TILING_DATA_FIELD_DEF(uint64_t, batch);       // extent of batch_dim
TILING_DATA_FIELD_DEF(uint64_t, middle);      // product of the axes between the two
TILING_DATA_FIELD_DEF(uint64_t, time);        // extent of seq_dim
TILING_DATA_FIELD_DEF(uint64_t, columns);     // product of the axes behind both, the elements of a row
TILING_DATA_FIELD_DEF(uint32_t, batchFirst);  // whether batch_dim comes before seq_dim
TILING_DATA_FIELD_DEF(uint32_t, tileRows);    // elements of a sequence per tile
TILING_DATA_FIELD_DEF(uint32_t, tileColumns);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(ReverseSequence, ReverseSequenceTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
