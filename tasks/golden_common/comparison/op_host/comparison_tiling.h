// Host side of comparisons: how they are cut. The narrowest tensor is the answer, of one byte per element.
#ifndef COMPARISON_TILING_H
#define COMPARISON_TILING_H
#include "elementwise_tiling.h"
#include "truth_type.h"

namespace optiling {
inline ge::graphStatus TileComparison(gert::TilingContext* context) {
    return Cut(context, ElementsOf(context, 0), 1, BytesOf(context, 0) == 8 ? 2048 : 4096);
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
