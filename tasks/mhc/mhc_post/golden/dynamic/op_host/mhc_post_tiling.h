// What the tiling function of MhcPost tells the kernel. Lowered from a tile program.
#ifndef MHC_POST_TILING_H
#define MHC_POST_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(MhcPostTilingData)
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, d);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, width);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(MhcPost, MhcPostTilingData)
}  // namespace optiling
#endif
