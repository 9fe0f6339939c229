// CraftKlDivLoss on the host: tiling, shapes and types, definition. Lowered from a tile program.
// CraftKlDivLoss: sum of t * (ln t - ln p), divided by the number of rows. A target of zero adds zero.
#include "craft_kl_div_loss_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace {
int64_t CeilDiv(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

int64_t RoundUp(int64_t a, int64_t b) {
    return (a + b - 1) / b * b;
}

// Extent of an axis, counted from the end where it is negative.
int64_t Extent(const gert::Shape& shape, int64_t axis) {
    return shape.GetDim(axis < 0 ? axis + static_cast<int64_t>(shape.GetDimNum()) : axis);
}

int64_t VectorCores(gert::TilingContext* context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
}
}  // namespace

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::Shape& predictionsShape = context->GetInputShape(0)->GetStorageShape();
    const int64_t total = predictionsShape.GetShapeSize();
    const int64_t cores = VectorCores(context);
    const int64_t share = RoundUp(CeilDiv(total, cores), 128);
    const float scale = 1.0f / static_cast<float>(Extent(predictionsShape, 0));
    CraftKlDivLossTilingData tiling;
    tiling.set_total(total);
    tiling.set_share(share);
    tiling.set_tile(4096);
    tiling.set_parts(cores);
    tiling.set_scale(scale);
    gert::TilingData* raw = context->GetRawTilingData();
    tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());
    raw->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(static_cast<uint32_t>(cores));
    context->GetWorkspaceSizes(1)[0] =
        platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetLibApiWorkSpaceSize() + cores * 4;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    gert::Shape* yShape = context->GetOutputShape(0);
    yShape->SetDimNum(0);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, ge::DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class CraftKlDivLoss : public OpDef {
  public:
    explicit CraftKlDivLoss(const char* name) : OpDef(name) {
        this->Input("predictions")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Input("targets")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Output("y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(CraftKlDivLoss);
}  // namespace ops
