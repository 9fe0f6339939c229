// AddRmsNormQuant on the host: tiling, shapes and types, definition.
#include "add_rms_norm_quant_tiling.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    const uint64_t columns = context->GetInputShape(2)->GetStorageShape().GetShapeSize();
    AddRmsNormQuantTilingData tiling;
    const Footprint footprint{49, 38, 32, true};
    const uint32_t blocks = PlanRows(context, columns == 0 ? 0 : total / columns, columns, footprint, tiling.plan);
    tiling.set_epsilon(*context->GetAttrs()->GetFloat(1));
    tiling.set_share(columns == 0 ? 0.0f : 1.0 / columns);
    tiling.set_divides(*context->GetAttrs()->GetBool(2));
    return Launch(context, tiling, blocks);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& x = *context->GetInputShape(0);
    *context->GetOutputShape(0) = x;
    *context->GetOutputShape(1) = context->GetOptionalInputShape(4) == nullptr ? gert::Shape({0}) : x;
    *context->GetOutputShape(2) = x;
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, DT_INT8);
    context->SetOutputDataType(1, DT_INT8);
    context->SetOutputDataType(2, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class AddRmsNormQuant : public OpDef {
  public:
    explicit AddRmsNormQuant(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT16, ge::DT_BF16};
        const std::vector<ge::DataType> scales = {ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_BF16, ge::DT_BF16};
        const std::vector<ge::DataType> points = {ge::DT_INT32, ge::DT_INT32, ge::DT_BF16, ge::DT_BF16};
        const std::vector<ge::DataType> bytes(types.size(), ge::DT_INT8);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        for (const char* tensor : {"x1", "x2", "gamma"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        this->Input("scales1").ParamType(REQUIRED).DataType(scales).Format(formats);
        this->Input("scales2").ParamType(OPTIONAL).DataType(scales).Format(formats);
        this->Input("zero_points1").ParamType(OPTIONAL).DataType(points).Format(formats);
        this->Input("zero_points2").ParamType(OPTIONAL).DataType(points).Format(formats);
        this->Output("y1").ParamType(REQUIRED).DataType(bytes).Format(formats);
        this->Output("y2").ParamType(REQUIRED).DataType(bytes).Format(formats);
        this->Output("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("axis").AttrType(OPTIONAL).Int(-1);
        this->Attr("epsilon").AttrType(OPTIONAL).Float(1.0e-6);
        this->Attr("div_mode").AttrType(OPTIONAL).Bool(true);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(AddRmsNormQuant);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
