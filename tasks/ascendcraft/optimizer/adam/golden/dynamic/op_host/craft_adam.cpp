// CraftAdam on the host: tiling, shapes and types, definition. Lowered from a tile program.
// CraftAdam: one step of Adam with bias correction; the corrections are computed once, on the host.
#include <cmath>

#include "craft_adam_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace {
template <typename T>
T Greatest(T a, T b) {
    return a > b ? a : b;
}

int64_t CeilDiv(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

int64_t RoundUp(int64_t a, int64_t b) {
    return (a + b - 1) / b * b;
}

int64_t VectorCores(gert::TilingContext* context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
}
}  // namespace

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::Shape& paramShape = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& mShape = context->GetInputShape(2)->GetStorageShape();
    const float* beta1Given = context->GetAttrs()->GetFloat(0);
    const float beta1 = beta1Given == nullptr ? 0.9f : *beta1Given;
    const float* beta2Given = context->GetAttrs()->GetFloat(1);
    const float beta2 = beta2Given == nullptr ? 0.999f : *beta2Given;
    const float* lrGiven = context->GetAttrs()->GetFloat(2);
    const float lr = lrGiven == nullptr ? 0.001f : *lrGiven;
    const float* epsGiven = context->GetAttrs()->GetFloat(3);
    const float eps = epsGiven == nullptr ? 1e-08f : *epsGiven;
    const int64_t* stepGiven = context->GetAttrs()->GetInt(4);
    const int64_t step = stepGiven == nullptr ? 1 : *stepGiven;
    const int64_t total = paramShape.GetShapeSize();
    const int64_t share = Greatest<int64_t>(128, RoundUp(CeilDiv(total, VectorCores(context)), 128));
    const float correction1 = 1.0f / (1.0f - static_cast<float>(std::pow(static_cast<double>(beta1),
        static_cast<double>(static_cast<float>(step)))));
    const float correction2 = 1.0f / (1.0f - static_cast<float>(std::pow(static_cast<double>(beta2),
        static_cast<double>(static_cast<float>(step)))));
    CraftAdamTilingData tiling;
    tiling.set_beta1(beta1);
    tiling.set_beta2(beta2);
    tiling.set_lr(lr);
    tiling.set_eps(eps);
    tiling.set_step(step);
    tiling.set_total(total);
    tiling.set_share(share);
    tiling.set_tile(3072);
    tiling.set_correction1(correction1);
    tiling.set_correction2(correction2);
    gert::TilingData* raw = context->GetRawTilingData();
    tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());
    raw->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(static_cast<uint32_t>(Greatest<int64_t>(1, CeilDiv(total, share))));
    context->GetWorkspaceSizes(1)[0] =
        platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& paramShape = *context->GetInputShape(0);
    const gert::Shape& mShape = *context->GetInputShape(2);
    *context->GetOutputShape(0) = paramShape;
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, ge::DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class CraftAdam : public OpDef {
  public:
    explicit CraftAdam(const char* name) : OpDef(name) {
        this->Input("param")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Input("grad")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Input("m")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Input("v")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Output("param_out")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Attr("beta1").AttrType(OPTIONAL).Float(0.9);
        this->Attr("beta2").AttrType(OPTIONAL).Float(0.999);
        this->Attr("lr").AttrType(OPTIONAL).Float(0.001);
        this->Attr("eps").AttrType(OPTIONAL).Float(1e-08);
        this->Attr("step").AttrType(OPTIONAL).Int(1);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(CraftAdam);
}  // namespace ops
