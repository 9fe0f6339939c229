// CrossEntropyLossGrad on the host: tiling, shapes and types, definition.
#include "cross_entropy_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(CrossEntropyLossGrad, CrossEntropyTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const bool squares = context->GetOptionalInputShape(4) != nullptr && context->GetOptionalInputShape(5) != nullptr;
    return LaunchCrossEntropy(context, 1, {21, 12}, squares);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(1);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(1));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class CrossEntropyLossGrad : public OpDef {
  public:
    explicit CrossEntropyLossGrad(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16};
        const std::vector<ge::DataType> classes(types.size(), ge::DT_INT64);
        const std::vector<ge::DataType> floats(types.size(), ge::DT_FLOAT);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("grad_loss").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("log_prob").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("target").ParamType(REQUIRED).DataType(classes).Format(formats);
        this->Input("weight").ParamType(OPTIONAL).DataType(floats).Format(formats);
        this->Input("grad_zloss").ParamType(OPTIONAL).DataType(types).Format(formats);
        this->Input("lse_for_zloss").ParamType(OPTIONAL).DataType(types).Format(formats);
        this->Output("x_grad").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("reduction").AttrType(OPTIONAL).String("mean");
        this->Attr("ignore_index").AttrType(OPTIONAL).Int(-100);
        this->Attr("label_smoothing").AttrType(OPTIONAL).Float(0.0);
        this->Attr("lse_square_scale_for_zloss").AttrType(OPTIONAL).Float(0.0);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(CrossEntropyLossGrad);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
