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
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
