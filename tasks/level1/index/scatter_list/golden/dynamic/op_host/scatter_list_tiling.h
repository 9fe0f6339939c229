// What the tiling function of ScatterList tells the kernel.
#ifndef SCATTER_LIST_TILING_H
#define SCATTER_LIST_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(ScatterListTilingData)
TILING_DATA_FIELD_DEF(uint64_t, count);   // tensors of the list
TILING_DATA_FIELD_DEF(uint64_t, outer);   // rows of each: what comes before the axis
TILING_DATA_FIELD_DEF(uint64_t, extent);  // of the axis
TILING_DATA_FIELD_DEF(uint64_t, inner);   // bytes of one position of the axis
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(ScatterList, ScatterListTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
