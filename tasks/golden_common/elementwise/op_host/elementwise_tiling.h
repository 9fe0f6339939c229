// Host side of element-wise operators: how they are cut, and that the output looks like the first input.
#ifndef ELEMENTWISE_TILING_H
#define ELEMENTWISE_TILING_H
#include "register/tilingdata_base.h"
#include "work_split.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(ElementwiseTilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);    // elements of the output
TILING_DATA_FIELD_DEF(uint64_t, share);    // elements for each core
TILING_DATA_FIELD_DEF(uint32_t, tile);     // elements per tile
TILING_DATA_FIELD_DEF(uint32_t, scratch);  // bytes that library functions ask for
END_TILING_DATA_DEF;

// The bytes of one element of input `index`.
inline uint32_t BytesOf(gert::TilingContext* context, size_t index) {
    return ge::GetSizeByDataType(context->GetInputDesc(index)->GetDataType());
}

// Cuts `total` elements. `bytes` belong to an element of the narrowest tensor, so that the shares of every tensor begin
// at a granule; a tile of `tile` elements and what its computation needs fit the unified buffer.
inline ge::graphStatus Cut(gert::TilingContext* context, uint64_t total, uint64_t bytes, uint32_t tile,
                           uint32_t scratch = 0) {
    const Shares shares = Divide(total, 512 / bytes, VectorCores(context));
    ElementwiseTilingData tiling;
    tiling.set_total(total);
    tiling.set_share(shares.share);
    tiling.set_tile(tile);
    tiling.set_scratch(scratch);
    return Launch(context, tiling, shares.blocks);
}

inline uint64_t ElementsOf(gert::TilingContext* context, size_t index) {
    return context->GetInputShape(index)->GetStorageShape().GetShapeSize();
}
}  // namespace optiling

namespace ge {
inline graphStatus ShapeOfFirstInput(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}

inline graphStatus TypeOfFirstInput(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
