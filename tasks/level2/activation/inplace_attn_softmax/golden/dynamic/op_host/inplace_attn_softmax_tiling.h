// What the tiling function of InplaceAttnSoftmax tells the kernel. Lowered from a tile program.
#ifndef INPLACE_ATTN_SOFTMAX_TILING_H
#define INPLACE_ATTN_SOFTMAX_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(InplaceAttnSoftmaxTilingData)
TILING_DATA_FIELD_DEF(int64_t, n);
TILING_DATA_FIELD_DEF(int64_t, d);
TILING_DATA_FIELD_DEF(int64_t, share);
TILING_DATA_FIELD_DEF(int64_t, width);
TILING_DATA_FIELD_DEF(int64_t, most);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(InplaceAttnSoftmax, InplaceAttnSoftmaxTilingData)
}  // namespace optiling
#endif
