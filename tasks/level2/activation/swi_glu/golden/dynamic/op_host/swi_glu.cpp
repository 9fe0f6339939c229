// SwiGlu on the host: tiling, shapes and types, definition.
#include <algorithm>

#include "swi_glu_tiling.h"
#include "row_tiles.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint64_t TILE = 4096;
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const int64_t rank = x.GetDimNum();
    const int64_t dim = *context->GetAttrs()->GetInt(0);
    const int64_t axis = dim < 0 ? dim + rank : dim;
    if (axis < 0 || rank <= axis || x.GetDim(axis) % 2 != 0) {
        return ge::GRAPH_FAILED;
    }
    uint64_t outer = 1, inner = x.GetDim(axis) / 2;
    for (int64_t i = 0; i < rank; ++i) {
        outer *= i < axis ? x.GetDim(i) : 1;
        inner *= i > axis ? x.GetDim(i) : 1;
    }
    const uint64_t cores = VectorCores(context);
    const uint64_t columns = inner < TILE ? inner : TILE;
    const RowTiles tiles = LayRows(columns, GranuleOf(context, 0) / 16, TILE);
    const uint64_t fair = std::max<uint64_t>(1, CeilDiv(outer, cores));
    // A core's rows in tiles of equal height.
    const uint64_t rows = tiles.rows == 0 ? 1 : CeilDiv(fair, CeilDiv(fair, tiles.rows));
    const uint64_t items = inner == 0 ? 0 : CeilDiv(outer, rows) * CeilDiv(inner, columns);

    SwiGluTilingData tiling;
    tiling.set_outer(inner == 0 ? 0 : outer);
    tiling.set_inner(inner);
    tiling.set_columns(columns);
    tiling.set_pitch(tiles.pitch);
    tiling.set_tileRows(rows);
    return Launch(context, tiling, std::max<uint64_t>(1, std::min(items, cores)));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape* x = context->GetInputShape(0);
    const int64_t dim = *context->GetAttrs()->GetInt(0);
    const size_t axis = dim < 0 ? dim + x->GetDimNum() : dim;
    *context->GetOutputShape(0) = *x;
    context->GetOutputShape(0)->SetDim(axis, x->GetDim(axis) / 2);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class SwiGlu : public OpDef {
  public:
    explicit SwiGlu(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("dim").AttrType(OPTIONAL).Int(-1);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(SwiGlu);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
