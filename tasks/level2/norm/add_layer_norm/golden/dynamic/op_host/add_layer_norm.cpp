// AddLayerNorm on the host: tiling, shapes and types, definition.
#include "layer_norm_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(AddLayerNorm, LayerNormTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t columns = context->GetInputShape(2)->GetStorageShape().GetShapeSize();
    const gert::StorageShape* bias = context->GetOptionalInputShape(4);
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    const bool biasIsRow = bias != nullptr && static_cast<uint64_t>(bias->GetStorageShape().GetShapeSize()) != total;
    const float epsilon = *context->GetAttrs()->GetFloat(0);
    const bool returnsSum = *context->GetAttrs()->GetBool(1);
    const uint64_t tensors = 3 + (bias != nullptr) + returnsSum;
    return LaunchLayerNorm(context, columns, tensors, epsilon, biasIsRow, returnsSum);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& x = *context->GetInputShape(0);
    const size_t axes = context->GetInputShape(2)->GetDimNum();
    *context->GetOutputShape(0) = x;
    ShapeOfStatistics(context->GetOutputShape(1), x, axes);
    ShapeOfStatistics(context->GetOutputShape(2), x, axes);
    *context->GetOutputShape(3) = *context->GetAttrs()->GetBool(1) ? x : gert::Shape({0});
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    context->SetOutputDataType(1, DT_FLOAT);
    context->SetOutputDataType(2, DT_FLOAT);
    context->SetOutputDataType(3, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class AddLayerNorm : public OpDef {
  public:
    explicit AddLayerNorm(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16};
        const std::vector<ge::DataType> floats(types.size(), ge::DT_FLOAT);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        for (const char* tensor : {"x1", "x2", "gamma", "beta"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        this->Input("bias").ParamType(OPTIONAL).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("mean").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Output("rstd").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Output("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("epsilon").AttrType(OPTIONAL).Float(1.0e-5);
        this->Attr("additional_output").AttrType(OPTIONAL).Bool(false);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(AddLayerNorm);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
