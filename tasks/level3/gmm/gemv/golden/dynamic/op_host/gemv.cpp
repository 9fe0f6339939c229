// Gemv on the host: tiling, shapes and types, definition.
//
// A core that has fewer rows than fill a tile still moves them in one piece: there are tiles of 24 KiB, two of them.
#include "gemv_tiling.h"
#include "row_tiles.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint32_t TILE = 6144;
    const gert::Shape& a = context->GetInputShape(0)->GetStorageShape();
    const uint64_t rows = a.GetDim(0), columns = a.GetDim(1);
    const Shares shares = Divide(rows, 8, VectorCores(context));  // whole blocks of the result for every core
    const RowTiles tiles = LayRows(columns, 8, TILE);

    GemvTilingData tiling;
    tiling.set_rows(rows);
    tiling.set_share(shares.share);
    tiling.set_columns(columns);
    tiling.set_tile(TILE);
    tiling.set_tileRows(tiles.rows);
    tiling.set_pitch(tiles.pitch);
    tiling.set_alpha(*context->GetAttrs()->GetFloat(0));
    tiling.set_beta(*context->GetAttrs()->GetFloat(1));
    return Launch(context, tiling, shares.blocks);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(2);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Gemv : public OpDef {
  public:
    explicit Gemv(const char* name) : OpDef(name) {
        for (const char* tensor : {"a", "x", "y"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        }
        this->Output("out").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Attr("alpha").AttrType(REQUIRED).Float();
        this->Attr("beta").AttrType(REQUIRED).Float();
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Gemv);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
