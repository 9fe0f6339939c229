// GatherV3 on the host: tiling, shapes and types, definition.
//
// Slices are moved as they are, several to a tile, long ones in pieces (key 0). Where a slice is one element of 16 or
// 32 bits and a whole row fits the unified buffer, the row is copied in, and the vector unit gathers from it (key 1).
#include "gather_v3_tiling.h"
#include "work_split.h"

namespace optiling {
static uint64_t Product(const gert::Shape& shape, size_t from, size_t to) {
    uint64_t product = 1;
    for (size_t axis = from; axis < to; ++axis) {
        product *= shape.GetDim(axis);
    }
    return product;
}

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint64_t TILE = 32768, BLOCK = 32, MOST_SLICES = 4095, GATHERED = 4096;  // bytes, bytes, slices, elements
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& indices = context->GetInputShape(1)->GetStorageShape();
    const gert::Tensor* axisTensor = context->GetInputTensor(2);
    if (axisTensor == nullptr || axisTensor->GetData<int64_t>() == nullptr) {
        return ge::GRAPH_FAILED;
    }
    const int64_t rank = x.GetDimNum();
    const int64_t given = *axisTensor->GetData<int64_t>();
    const int64_t axis = given < 0 ? given + rank : given;
    const int64_t* batchDims = context->GetAttrs()->GetInt(0);
    const size_t shared = batchDims == nullptr ? 0 : *batchDims;
    if (axis < static_cast<int64_t>(shared) || axis >= rank) {
        return ge::GRAPH_FAILED;
    }
    const uint64_t width = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
    const uint64_t batches = Product(x, 0, shared);
    const uint64_t outer = Product(x, shared, axis);
    const uint64_t extent = x.GetDim(axis);
    const uint64_t bytes = Product(x, axis + 1, rank) * width;
    const uint64_t slices = Product(indices, shared, indices.GetDimNum());
    const uint64_t cores = VectorCores(context);
    const bool gather = bytes == width && (width == 2 || width == 4) && extent * width <= TILE;

    uint64_t tileBytes = bytes < TILE ? bytes : TILE;
    uint64_t pitch = tileBytes == 0 ? BLOCK : CeilDiv(tileBytes, BLOCK) * BLOCK;
    uint64_t tileSlices = GATHERED, pieces = 1;
    uint64_t tiles = slices == 0 ? 0 : batches * outer;
    if (!gather) {
        const uint64_t total = batches * outer * slices;
        const uint64_t perCore = CeilDiv(total, cores);
        tileSlices = TILE / pitch < MOST_SLICES ? TILE / pitch : MOST_SLICES;
        tileSlices = perCore > 0 && perCore < tileSlices ? perCore : tileSlices;
        pieces = bytes == 0 ? 0 : CeilDiv(bytes, tileBytes);
        tileSlices = pieces > 1 ? 1 : tileSlices;
        tiles = CeilDiv(total, tileSlices) * pieces;
    }

    GatherV3TilingData tiling;
    tiling.set_batches(batches);
    tiling.set_outer(outer);
    tiling.set_extent(extent);
    tiling.set_slices(slices);
    tiling.set_bytes(bytes);
    tiling.set_pieces(pieces);
    tiling.set_tiles(tiles);
    tiling.set_tileSlices(tileSlices);
    tiling.set_tileBytes(tileBytes);
    tiling.set_pitch(pitch);
    context->SetTilingKey(gather ? 1 : 0);
    return Launch(context, tiling, tiles == 0 ? 1 : tiles < cores ? tiles : cores);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& x = *context->GetInputShape(0);
    const gert::Shape& indices = *context->GetInputShape(1);
    const int64_t given = *context->GetInputTensor(2)->GetData<int64_t>();
    const size_t axis = given < 0 ? given + static_cast<int64_t>(x.GetDimNum()) : given;
    const int64_t* batchDims = context->GetAttrs()->GetInt(0);
    gert::Shape* y = context->GetOutputShape(0);
    y->SetDimNum(0);
    for (size_t i = 0; i < axis; ++i) {
        y->AppendDim(x.GetDim(i));
    }
    for (size_t i = batchDims == nullptr ? 0 : *batchDims; i < indices.GetDimNum(); ++i) {
        y->AppendDim(indices.GetDim(i));
    }
    for (size_t i = axis + 1; i < x.GetDimNum(); ++i) {
        y->AppendDim(x.GetDim(i));
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class GatherV3 : public OpDef {
  public:
    explicit GatherV3(const char* name) : OpDef(name) {
        std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16,   ge::DT_INT16,
                                           ge::DT_INT32, ge::DT_INT64,   ge::DT_INT8,   ge::DT_BOOL,
                                           ge::DT_UINT16, ge::DT_UINT32, ge::DT_UINT64, ge::DT_UINT8};
        std::vector<ge::DataType> indices(types.size(), ge::DT_INT32);
        indices.insert(indices.end(), types.size(), ge::DT_INT64);
        const std::vector<ge::DataType> once = types;
        types.insert(types.end(), once.begin(), once.end());
        const std::vector<ge::DataType> longs(types.size(), ge::DT_INT64);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("indices").ParamType(REQUIRED).DataType(indices).Format(formats);
        this->Input("axis").ParamType(REQUIRED).ValueDepend(REQUIRED).DataType(longs).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("batchDims").AttrType(OPTIONAL).Int(0);
        this->Attr("negativeIndexSupport").AttrType(OPTIONAL).Bool(false);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(GatherV3);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
