// PreLayerNorm on the host: tiling, shapes and types, definition.
#include "layer_norm_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(PreLayerNorm, LayerNormTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t columns = context->GetInputShape(2)->GetStorageShape().GetShapeSize();
    return LaunchLayerNorm(context, columns, 3, *context->GetAttrs()->GetFloat(0), false, false);
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
class PreLayerNorm : public OpDef {
  public:
    explicit PreLayerNorm(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        for (const char* tensor : {"x", "y", "gamma", "beta"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        this->Output("res_out").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("epsilon").AttrType(REQUIRED).Float();
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(PreLayerNorm);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
