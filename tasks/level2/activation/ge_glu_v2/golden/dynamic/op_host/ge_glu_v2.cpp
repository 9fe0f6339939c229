// GeGluV2 on the host: tiling, shapes and types, definition.
#include "halves_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(GeGluV2, HalvesTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    return LaunchHalves(context, context->GetInputShape(0)->GetStorageShape(), 4096);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const int64_t dim = *context->GetAttrs()->GetInt(0);
    ShapeOfHalf(context->GetOutputShape(0), *context->GetInputShape(0), dim);
    ShapeOfHalf(context->GetOutputShape(1), *context->GetInputShape(0), dim);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    context->SetOutputDataType(1, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class GeGluV2 : public OpDef {
  public:
    explicit GeGluV2(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("gelu").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("dim").AttrType(OPTIONAL).Int(-1);
        this->Attr("approximate").AttrType(OPTIONAL).Int(0);
        this->Attr("activate_left").AttrType(OPTIONAL).Bool(true);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(GeGluV2);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
