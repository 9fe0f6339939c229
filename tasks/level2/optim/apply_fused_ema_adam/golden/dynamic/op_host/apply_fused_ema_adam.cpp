// ApplyFusedEmaAdam on the host: tiling, shapes and types, definition.
#include "apply_fused_ema_adam_tiling.h"
#include "work_split.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    const Shares shares = Divide(total, GranuleOf(context, 0), VectorCores(context));
    const gert::RuntimeAttrs* attributes = context->GetAttrs();

    ApplyFusedEmaAdamTilingData tiling;
    tiling.set_total(total);
    tiling.set_share(shares.share);
    tiling.set_tile(2048);
    tiling.set_rate(*attributes->GetFloat(0));
    tiling.set_emaDecay(*attributes->GetFloat(1));
    tiling.set_beta1(*attributes->GetFloat(2));
    tiling.set_beta2(*attributes->GetFloat(3));
    tiling.set_epsilon(*attributes->GetFloat(4));
    tiling.set_decoupled(*attributes->GetInt(5) != 0);
    tiling.set_corrected(*attributes->GetBool(6));
    tiling.set_weightDecay(*attributes->GetFloat(7));
    return Launch(context, tiling, shares.blocks);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    for (size_t output = 0; output < 4; ++output) {
        *context->GetOutputShape(output) = *context->GetInputShape(output + 1);
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    for (size_t output = 0; output < 4; ++output) {
        context->SetOutputDataType(output, context->GetInputDataType(output + 1));
    }
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class ApplyFusedEmaAdam : public OpDef {
  public:
    explicit ApplyFusedEmaAdam(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16};
        const std::vector<ge::DataType> counts(types.size(), ge::DT_INT64);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        for (const char* tensor : {"grad", "var", "m", "v", "s"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        this->Input("step").ParamType(REQUIRED).DataType(counts).Format(formats);
        for (const char* tensor : {"var", "m", "v", "s"}) {  // in the memory of the inputs of these names
            this->Output(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        this->Attr("lr").AttrType(OPTIONAL).Float(1.0e-3);
        this->Attr("ema_decay").AttrType(OPTIONAL).Float(0.9999);
        this->Attr("beta1").AttrType(OPTIONAL).Float(0.9);
        this->Attr("beta2").AttrType(OPTIONAL).Float(0.999);
        this->Attr("eps").AttrType(OPTIONAL).Float(1.0e-8);
        this->Attr("mode").AttrType(OPTIONAL).Int(1);
        this->Attr("bias_correction").AttrType(OPTIONAL).Bool(true);
        this->Attr("weight_decay").AttrType(OPTIONAL).Float(0.0);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ApplyFusedEmaAdam);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
