// AddLayerNormGrad on the host: tiling, shapes and types, definition.
#include "norm_grad_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(AddLayerNormGrad, NormGradTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t columns = context->GetInputShape(5)->GetStorageShape().GetShapeSize();
    const bool hasDsum = context->GetOptionalInputShape(6) != nullptr;
    return LaunchNormGrad(context, columns, 4 + hasDsum, 2, 1.0f);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    *context->GetOutputShape(1) = *context->GetInputShape(5);
    *context->GetOutputShape(2) = *context->GetInputShape(5);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    context->SetOutputDataType(1, DT_FLOAT);
    context->SetOutputDataType(2, DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class AddLayerNormGrad : public OpDef {
  public:
    explicit AddLayerNormGrad(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16};
        const std::vector<ge::DataType> floats(types.size(), ge::DT_FLOAT);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        for (const char* tensor : {"dy", "x1", "x2"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        this->Input("rstd").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Input("mean").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Input("gamma").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("dsum").ParamType(OPTIONAL).DataType(types).Format(formats);
        this->Output("dx").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("dgamma").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Output("dbeta").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(AddLayerNormGrad);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
