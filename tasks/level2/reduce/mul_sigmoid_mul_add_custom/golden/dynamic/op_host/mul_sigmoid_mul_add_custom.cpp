// MulSigmoidMulAddCustom on the host: tiling, shapes and types, definition.
#include "mul_sigmoid_mul_add_custom_tiling.h"
#include "work_split.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    const Shares shares = Divide(total, GranuleOf(context, 0), VectorCores(context));

    MulSigmoidMulAddCustomTilingData tiling;
    tiling.set_total(total);
    tiling.set_share(shares.share);
    tiling.set_tile(4096);
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
class MulSigmoidMulAddCustom : public OpDef {
  public:
    explicit MulSigmoidMulAddCustom(const char* name) : OpDef(name) {
        for (const char* tensor : {"input", "mulscalar1", "mulscalar2", "addscalar3"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        }
        this->Output("outputs").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(MulSigmoidMulAddCustom);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
