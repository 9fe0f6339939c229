// Host side of operators on vectors with a stride: how the elements that count are cut, and what results look like.
#ifndef STRIDED_TILING_H
#define STRIDED_TILING_H
#include <algorithm>

#include "register/tilingdata_base.h"
#include "work_split.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(StridedTilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);   // elements that count
TILING_DATA_FIELD_DEF(uint64_t, share);   // of them for each core
TILING_DATA_FIELD_DEF(uint64_t, stride);  // elements from one to the next in global memory
TILING_DATA_FIELD_DEF(uint32_t, pitch);   // elements from one to the next in a tile
TILING_DATA_FIELD_DEF(uint32_t, tile);    // elements that count per tile, a multiple of 64
TILING_DATA_FIELD_DEF(float, factor);     // of operators that have one
END_TILING_DATA_DEF;

// Up to a stride of 64 a tile is copied with the gaps, beyond that every element alone, to a block of 32 bytes of its
// own. `bytes` are those of an element, `room` the elements for which a tile has memory. `perCore` elements and fewer
// are left to one core.
inline StridedTilingData CutStrided(int64_t total, int64_t stride, uint32_t bytes, uint32_t room, uint64_t perCore,
                                    uint64_t cores) {
    const uint64_t count = std::max<int64_t>(total, 0), step = std::max<int64_t>(stride, 1);
    const uint32_t pitch = step <= 64 ? step : 32 / bytes;
    StridedTilingData tiling;
    tiling.set_total(count);
    tiling.set_share(Divide(count, std::max<uint64_t>(1, 512 / bytes / step), count <= perCore ? 1 : cores).share);
    tiling.set_stride(step);
    tiling.set_pitch(pitch);
    tiling.set_tile(std::min<uint64_t>(room / pitch / 64, std::max<uint64_t>(1, CeilDiv(count, 64))) * 64);
    tiling.set_factor(1.0f);
    return tiling;
}

// One number of a whole vector, whose n and incx are the first attributes. A single core need not wait for others: it
// is done with some tiles before they have met. With more, also those that have nothing to look at are waited for,
// and each leaves what it found in 64 bytes of the workspace.
inline ge::graphStatus CutReduction(gert::TilingContext* context) {
    constexpr uint32_t TILE = 4096;
    const gert::RuntimeAttrs* attributes = context->GetAttrs();
    const int64_t n = *attributes->GetInt(0), stride = *attributes->GetInt(1);
    const uint32_t bytes = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
    const uint64_t cores = VectorCores(context);
    const uint64_t alone = 16 * TILE / std::min<int64_t>(std::max<int64_t>(stride, 1), 8);
    StridedTilingData tiling = CutStrided(n, stride, bytes, TILE, alone, cores);
    const bool isAlone = tiling.get_total() <= tiling.get_share();
    return Launch(context, tiling, isAlone ? 1 : cores, cores * 64);
}
}  // namespace optiling

namespace ge {
inline graphStatus ShapeOfNumber(gert::InferShapeContext* context) {
    context->GetOutputShape(0)->SetDimNum(0);
    return GRAPH_SUCCESS;
}
}  // namespace ge
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
