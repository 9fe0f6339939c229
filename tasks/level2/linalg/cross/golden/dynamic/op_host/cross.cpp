// Cross on the host: tiling, shapes and types, definition.
//
// The tensors are [outer, 3, inner]. Where inner is long, a tile holds rows of each component, which are moved with a
// stride (key 0). Where it is short, moving each row by itself would take an instruction's time for some bytes: a tile
// then holds whole vectors as they lie in memory, and the kernel gathers their components (key 1).
#include "cross_tiling.h"
#include "work_split.h"

namespace optiling {
// The axis of the components; by default the first one of extent 3.
static int64_t Axis(const gert::Shape& shape, const int64_t* dim) {
    constexpr int64_t DEFAULT = -65530;
    if (dim != nullptr && *dim != DEFAULT) {
        return *dim < 0 ? *dim + static_cast<int64_t>(shape.GetDimNum()) : *dim;
    }
    size_t axis = 0;
    while (axis < shape.GetDimNum() && shape.GetDim(axis) != 3) {
        ++axis;
    }
    return axis;
}

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint64_t TILE = 2048, BLOCK = 32, SHORT = 256;  // elements of a component, bytes, bytes
    const gert::Shape& shape = context->GetInputShape(0)->GetStorageShape();
    const int64_t axis = Axis(shape, context->GetAttrs()->GetInt(0));
    if (axis < 0 || axis >= static_cast<int64_t>(shape.GetDimNum()) || shape.GetDim(axis) != 3) {
        return ge::GRAPH_FAILED;
    }
    uint64_t outer = 1, inner = 1;
    for (int64_t i = 0; i < static_cast<int64_t>(shape.GetDimNum()); ++i) {
        outer *= i < axis ? shape.GetDim(i) : 1;
        inner *= i > axis ? shape.GetDim(i) : 1;
    }
    const uint64_t bytes = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
    const uint64_t cores = VectorCores(context);
    const bool gather = inner * bytes < SHORT;

    const uint64_t tileInner = inner < TILE ? inner : TILE;
    const uint64_t pitch = gather ? inner : CeilDiv(tileInner * bytes, BLOCK) * BLOCK / bytes;
    uint64_t tileOuter = outer == 0 || inner == 0 ? 1 : tileInner < inner ? 1 : TILE / (gather ? 3 * pitch : pitch);
    const uint64_t perCore = CeilDiv(outer, cores);
    tileOuter = perCore > 0 && perCore < tileOuter ? perCore : tileOuter;
    const uint64_t pieces = inner == 0 ? 0 : CeilDiv(inner, tileInner);
    const uint64_t tiles = CeilDiv(outer, tileOuter) * pieces;

    CrossTilingData tiling;
    tiling.set_outer(outer);
    tiling.set_inner(inner);
    tiling.set_pieces(pieces);
    tiling.set_tiles(tiles);
    tiling.set_tileOuter(tileOuter);
    tiling.set_tileInner(tileInner);
    tiling.set_pitch(pitch);
    context->SetTilingKey(gather ? 1 : 0);
    return Launch(context, tiling, tiles == 0 ? 1 : tiles < cores ? tiles : cores);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Cross : public OpDef {
  public:
    explicit Cross(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_INT32, ge::DT_INT8};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x1").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("x2").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("dim").AttrType(OPTIONAL).Int(-65530);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Cross);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
