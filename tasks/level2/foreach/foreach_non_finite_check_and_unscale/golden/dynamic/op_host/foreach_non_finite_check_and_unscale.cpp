// ForeachNonFiniteCheckAndUnscale on the host: shapes, types and the definition. Tiling is that of all operators here.
#include "foreach_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(ForeachNonFiniteCheckAndUnscale, ForeachTilingData)
}  // namespace optiling

namespace ge {
// The flag comes behind the list.
static graphStatus InferShape(gert::InferShapeContext* context) {
    const size_t count = context->GetComputeNodeOutputNum() - 1;
    for (size_t k = 0; k < count; ++k) {
        *context->GetOutputShape(k) = *context->GetDynamicInputShape(0, k);
    }
    *context->GetOutputShape(count) = *context->GetRequiredInputShape(1);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    const size_t count = context->GetComputeNodeOutputNum() - 1;
    for (size_t k = 0; k < count; ++k) {
        context->SetOutputDataType(k, context->GetDynamicInputDataType(0, k));
    }
    context->SetOutputDataType(count, DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class ForeachNonFiniteCheckAndUnscale : public OpDef {
  public:
    explicit ForeachNonFiniteCheckAndUnscale(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT};
        const std::vector<ge::DataType> floats(types.size(), ge::DT_FLOAT);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("scaled_grads").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->Input("found_inf").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Input("inv_scale").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Output("scaled_grads_ref").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->Output("found_inf_ref").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::ForeachTiling<0>);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ForeachNonFiniteCheckAndUnscale);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
