// What the tiling function of SwiGlu tells the kernel.
#ifndef SWI_GLU_TILING_H
#define SWI_GLU_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(SwiGluTilingData)
TILING_DATA_FIELD_DEF(uint64_t, outer);    // rows of y
TILING_DATA_FIELD_DEF(uint64_t, inner);    // elements of a row of y, half of those of x
TILING_DATA_FIELD_DEF(uint32_t, columns);  // of a tile
TILING_DATA_FIELD_DEF(uint32_t, pitch);    // elements from row to row in a tile
TILING_DATA_FIELD_DEF(uint32_t, tileRows);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(SwiGlu, SwiGluTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
