// What the tiling function of GatherV3 tells the kernel.
#ifndef GATHER_V3_TILING_H
#define GATHER_V3_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(GatherV3TilingData)
TILING_DATA_FIELD_DEF(uint64_t, batches);  // positions of the axes that x and indices share
TILING_DATA_FIELD_DEF(uint64_t, outer);    // positions of the other axes before the gathered one
TILING_DATA_FIELD_DEF(uint64_t, extent);   // of the gathered axis
TILING_DATA_FIELD_DEF(uint64_t, slices);   // indices of a batch
TILING_DATA_FIELD_DEF(uint64_t, bytes);    // of a slice
TILING_DATA_FIELD_DEF(uint64_t, pieces);   // of a slice
TILING_DATA_FIELD_DEF(uint64_t, tiles);    // pieces of work
TILING_DATA_FIELD_DEF(uint32_t, tileSlices);
TILING_DATA_FIELD_DEF(uint32_t, tileBytes);  // of a slice in a tile
TILING_DATA_FIELD_DEF(uint32_t, pitch);      // bytes from slice to slice of a tile, whole blocks of 32
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(GatherV3, GatherV3TilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
