// RmsNorm on the host: tiling, shapes and types, definition.
//
// A tile has 7168 elements: with the floats that they are widened to, buffers take 182 KiB of the unified buffer.
#include "rms_norm_tiling.h"
#include "row_tiles.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint32_t TILE = 7168;
    const uint64_t columns = context->GetInputShape(1)->GetStorageShape().GetShapeSize();
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    const uint64_t rows = columns == 0 ? 0 : total / columns;
    const Shares shares = Divide(rows, 1, VectorCores(context));
    const RowTiles tiles = LayRows(columns, GranuleOf(context, 0) / 16, TILE, true);
    const float* epsilon = context->GetAttrs()->GetFloat(0);

    RmsNormTilingData tiling;
    tiling.set_rows(rows);
    tiling.set_share(shares.share);
    tiling.set_columns(columns);
    tiling.set_tile(TILE);
    tiling.set_tileRows(tiles.rows);
    tiling.set_pitch(tiles.pitch);
    tiling.set_epsilon(epsilon == nullptr ? 1.0e-6f : *epsilon);
    tiling.set_mean(columns == 0 ? 0.0 : 1.0 / columns);
    return Launch(context, tiling, shares.blocks);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape* x = context->GetInputShape(0);
    *context->GetOutputShape(0) = *x;
    *context->GetOutputShape(1) = *x;
    context->GetOutputShape(1)->SetDim(x->GetDimNum() - 1, 1);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    context->SetOutputDataType(1, DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class RmsNorm : public OpDef {
  public:
    explicit RmsNorm(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT, ge::DT_FLOAT16,
                                                 ge::DT_BF16};
        const std::vector<ge::DataType> gammas = {ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT, ge::DT_FLOAT,
                                                  ge::DT_FLOAT};
        const std::vector<ge::DataType> floats(types.size(), ge::DT_FLOAT);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("gamma").ParamType(REQUIRED).DataType(gammas).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("rstd").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Attr("epsilon").AttrType(OPTIONAL).Float(1.0e-6);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(RmsNorm);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
