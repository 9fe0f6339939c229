// What the tiling function of Ccopy tells the kernel.
#ifndef CCOPY_TILING_H
#define CCOPY_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CcopyTilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);    // elements to copy
TILING_DATA_FIELD_DEF(uint64_t, share);    // of them for each core
TILING_DATA_FIELD_DEF(uint64_t, strideX);  // elements from one to the next in x
TILING_DATA_FIELD_DEF(uint64_t, strideY);  // and in y
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(Ccopy, CcopyTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
