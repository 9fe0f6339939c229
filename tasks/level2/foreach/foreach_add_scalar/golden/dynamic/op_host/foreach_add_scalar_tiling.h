// What the tiling function of ForeachAddScalar tells the kernel.
#ifndef FOREACH_ADD_SCALAR_TILING_H
#define FOREACH_ADD_SCALAR_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
constexpr uint32_t MOST_TENSORS = 64;

BEGIN_TILING_DATA_DEF(ForeachAddScalarTilingData)
TILING_DATA_FIELD_DEF(uint32_t, count);                    // tensors in the list
TILING_DATA_FIELD_DEF(uint32_t, tile);                     // elements per tile
TILING_DATA_FIELD_DEF_ARR(uint64_t, MOST_TENSORS, sizes);  // elements of each
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(ForeachAddScalar, ForeachAddScalarTilingData)
}  // namespace optiling
#endif
