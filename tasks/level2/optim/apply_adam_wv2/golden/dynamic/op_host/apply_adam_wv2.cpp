// ApplyAdamWV2 on the host: tiling, shapes and types, definition.
#include "apply_adam_wv2_tiling.h"
#include "work_split.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    const Shares shares = Divide(total, GranuleOf(context, 0), VectorCores(context));
    const gert::RuntimeAttrs* attributes = context->GetAttrs();
    ApplyAdamWV2TilingData tiling;
    tiling.set_total(total);
    tiling.set_share(shares.share);
    tiling.set_tile(2048);
    tiling.set_rate(*attributes->GetFloat(0));
    tiling.set_beta1(*attributes->GetFloat(1));
    tiling.set_beta2(*attributes->GetFloat(2));
    tiling.set_weightDecay(*attributes->GetFloat(3));
    tiling.set_epsilon(*attributes->GetFloat(4));
    tiling.set_largest(*attributes->GetBool(5));
    tiling.set_sign(*attributes->GetBool(6) ? -1.0f : 1.0f);
    return Launch(context, tiling, shares.blocks);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    for (size_t output = 0; output < 4; ++output) {
        *context->GetOutputShape(output) = *context->GetInputShape(0);
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    for (size_t output = 0; output < 4; ++output) {
        context->SetOutputDataType(output, context->GetInputDataType(0));
    }
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class ApplyAdamWV2 : public OpDef {
  public:
    explicit ApplyAdamWV2(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16,
                                                 ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16};
        const std::vector<ge::DataType> counts = {ge::DT_INT64, ge::DT_INT64, ge::DT_INT64,
                                                  ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        for (const char* tensor : {"var", "m", "v", "grad"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        this->Input("step").ParamType(REQUIRED).DataType(counts).Format(formats);
        this->Input("max_grad_norm").ParamType(OPTIONAL).DataType(types).Format(formats);
        for (const char* tensor : {"var", "m", "v", "max_grad_norm"}) {  // in the memory of the inputs of these names
            this->Output(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        for (const char* number : {"lr", "beta1", "beta2", "weight_decay", "eps"}) {
            this->Attr(number).AttrType(OPTIONAL).Float(0.1);
        }
        this->Attr("amsgrad").AttrType(OPTIONAL).Bool(false);
        this->Attr("maximize").AttrType(OPTIONAL).Bool(false);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ApplyAdamWV2);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
