// What the tiling function of AddRmsNorm tells the kernel. Lowered from a tile program.
#ifndef ADD_RMS_NORM_TILING_H
#define ADD_RMS_NORM_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(AddRmsNormTilingData)
TILING_DATA_FIELD_DEF(float, epsilon);
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, d);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, width);
TILING_DATA_FIELD_DEF(int64_t, most);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(AddRmsNorm, AddRmsNormTilingData)
}  // namespace optiling
#endif
