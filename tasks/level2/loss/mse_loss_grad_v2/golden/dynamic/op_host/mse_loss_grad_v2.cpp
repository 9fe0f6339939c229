// MseLossGradV2 on the host: tiling, shapes and types, definition.
#include <cstring>

#include "mse_loss_grad_v2_tiling.h"
#include "work_split.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    const Shares shares = Divide(total, GranuleOf(context, 0), VectorCores(context));
    const bool mean = std::strcmp(context->GetAttrs()->GetStr(0), "mean") == 0;
    MseLossGradV2TilingData tiling;
    tiling.set_total(total);
    tiling.set_share(shares.share);
    tiling.set_tile(5120);
    tiling.set_factor(mean && total != 0 ? 2.0 / total : 2.0);
    return Launch(context, tiling, shares.blocks);
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
class MseLossGradV2 : public OpDef {
  public:
    explicit MseLossGradV2(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        for (const char* tensor : {"predict", "label", "dout"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("reduction").AttrType(OPTIONAL).String("mean");
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(MseLossGradV2);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
