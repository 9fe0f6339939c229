// What the tiling function of CoalesceSparse tells the kernel.
#ifndef COALESCE_SPARSE_TILING_H
#define COALESCE_SPARSE_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CoalesceSparseTilingData)
TILING_DATA_FIELD_DEF(uint64_t, entries);
TILING_DATA_FIELD_DEF(uint64_t, ranks);         // different coordinates
TILING_DATA_FIELD_DEF(uint32_t, coordinates);   // of an entry
TILING_DATA_FIELD_DEF(uint64_t, columns);       // elements of a value
TILING_DATA_FIELD_DEF(uint64_t, rankShare);     // ranks for each core
TILING_DATA_FIELD_DEF(uint64_t, columnShare);   // columns for each core
TILING_DATA_FIELD_DEF(uint32_t, pieces);        // cores that have the same ranks, and different columns
TILING_DATA_FIELD_DEF(uint32_t, batch);         // ranks that a core sums at a time
TILING_DATA_FIELD_DEF(uint32_t, width);         // columns that a core sums at a time
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CoalesceSparse, CoalesceSparseTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
