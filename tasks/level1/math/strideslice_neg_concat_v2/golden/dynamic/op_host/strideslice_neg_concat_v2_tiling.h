// What the tiling function of StridesliceNegConcatV2 tells the kernel. Lowered from a tile program.
#ifndef STRIDESLICE_NEG_CONCAT_V2_TILING_H
#define STRIDESLICE_NEG_CONCAT_V2_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(StridesliceNegConcatV2TilingData)
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, w);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, width);
TILING_DATA_FIELD_DEF(int64_t, most);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(StridesliceNegConcatV2, StridesliceNegConcatV2TilingData)
}  // namespace optiling
#endif
