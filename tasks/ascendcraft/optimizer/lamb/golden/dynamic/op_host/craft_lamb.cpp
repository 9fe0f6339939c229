// CraftLamb on the host: tiling, shapes and types, definition. Lowered from a tile program.
// CraftLamb: param - lr * |param| / (|r| + eps) * r with r = m / (sqrt(v) + eps).
#include "craft_lamb_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace {
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
    const gert::Shape& mShape = context->GetInputShape(1)->GetStorageShape();
    const float* lrGiven = context->GetAttrs()->GetFloat(0);
    const float lr = lrGiven == nullptr ? 0.001f : *lrGiven;
    const float* epsGiven = context->GetAttrs()->GetFloat(1);
    const float eps = epsGiven == nullptr ? 1e-06f : *epsGiven;
    const int64_t total = paramShape.GetShapeSize();
    const int64_t cores = VectorCores(context);
    const int64_t share = RoundUp(CeilDiv(total, cores), 128);
    CraftLambTilingData tiling;
    tiling.set_lr(lr);
    tiling.set_eps(eps);
    tiling.set_total(total);
    tiling.set_share(share);
    tiling.set_tile(2048);
    tiling.set_parts(cores);
    gert::TilingData* raw = context->GetRawTilingData();
    tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());
    raw->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(static_cast<uint32_t>(cores));
    context->GetWorkspaceSizes(1)[0] =
        platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetLibApiWorkSpaceSize() + 2 * cores * 4;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& paramShape = *context->GetInputShape(0);
    const gert::Shape& mShape = *context->GetInputShape(1);
    *context->GetOutputShape(0) = paramShape;
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, ge::DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class CraftLamb : public OpDef {
  public:
    explicit CraftLamb(const char* name) : OpDef(name) {
        this->Input("param")
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
        this->Attr("lr").AttrType(OPTIONAL).Float(0.001);
        this->Attr("eps").AttrType(OPTIONAL).Float(1e-06);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(CraftLamb);
}  // namespace ops
