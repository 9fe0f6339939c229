// CraftRmsprop on the host: tiling, shapes and types, definition. Lowered from a tile program.
// CraftRmsprop: param - lr * grad / (sqrt(alpha * v + (1 - alpha) * grad^2) + eps).
#include "craft_rmsprop_tiling.h"
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
    const float* lrGiven = context->GetAttrs()->GetFloat(0);
    const float lr = lrGiven == nullptr ? 0.001f : *lrGiven;
    const float* alphaGiven = context->GetAttrs()->GetFloat(1);
    const float alpha = alphaGiven == nullptr ? 0.99f : *alphaGiven;
    const float* epsGiven = context->GetAttrs()->GetFloat(2);
    const float eps = epsGiven == nullptr ? 1e-08f : *epsGiven;
    const int64_t total = paramShape.GetShapeSize();
    const int64_t share = Greatest<int64_t>(128, RoundUp(CeilDiv(total, VectorCores(context)), 128));
    CraftRmspropTilingData tiling;
    tiling.set_lr(lr);
    tiling.set_alpha(alpha);
    tiling.set_eps(eps);
    tiling.set_total(total);
    tiling.set_share(share);
    tiling.set_tile(3072);
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
    *context->GetOutputShape(0) = paramShape;
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, ge::DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class CraftRmsprop : public OpDef {
  public:
    explicit CraftRmsprop(const char* name) : OpDef(name) {
        this->Input("param")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Input("grad")
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
        this->Attr("lr").AttrType(OPTIONAL).Float(0.001);
        this->Attr("alpha").AttrType(OPTIONAL).Float(0.99);
        this->Attr("eps").AttrType(OPTIONAL).Float(1e-08);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(CraftRmsprop);
}  // namespace ops
