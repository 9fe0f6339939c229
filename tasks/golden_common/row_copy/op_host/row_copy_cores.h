// How many cores a copy of so many bytes is worth.
#ifndef ROW_COPY_CORES_H
#define ROW_COPY_CORES_H
#include <algorithm>

#include "work_split.h"

namespace optiling {
inline uint32_t CoresForBytes(gert::TilingContext* context, uint64_t bytes) {
    constexpr uint64_t WORTH = 2048;
    return std::min(VectorCores(context), std::max<uint64_t>(1, CeilDiv(bytes, WORTH)));
}
}  // namespace optiling
#endif
