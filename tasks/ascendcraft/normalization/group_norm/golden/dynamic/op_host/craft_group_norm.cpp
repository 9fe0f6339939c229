// CraftGroupNorm on the host: tiling, shapes and types, definition. Lowered from a tile program.
// CraftGroupNorm: (x - mean) / sqrt(variance + eps) * gamma + beta, mean and variance per sample and group of channels.
#include "craft_group_norm_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace {
template <typename T>
T Least(T a, T b) {
    return a < b ? a : b;
}

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
    const gert::Shape& xShape = context->GetInputShape(0)->GetStorageShape();
    const int64_t* num_groupsGiven = context->GetAttrs()->GetInt(0);
    const int64_t num_groups = num_groupsGiven == nullptr ? 0 : *num_groupsGiven;
    const float* epsGiven = context->GetAttrs()->GetFloat(1);
    const float eps = epsGiven == nullptr ? 1e-05f : *epsGiven;
    const int64_t groups = Extent(xShape, 0) * num_groups;
    const int64_t channels = Extent(xShape, 1) / num_groups;
    const int64_t area = Extent(xShape, 2) * Extent(xShape, 3);
    const int64_t share = Greatest<int64_t>(1, CeilDiv(groups, VectorCores(context)));
    const int64_t tile = Least<int64_t>(RoundUp(channels * area, 64), 4096);
    CraftGroupNormTilingData tiling;
    tiling.set_num_groups(num_groups);
    tiling.set_eps(eps);
    tiling.set_groups(groups);
    tiling.set_channels(channels);
    tiling.set_area(area);
    tiling.set_share(share);
    tiling.set_tile(tile);
    gert::TilingData* raw = context->GetRawTilingData();
    tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());
    raw->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(static_cast<uint32_t>(Greatest<int64_t>(1, CeilDiv(groups, share))));
    context->GetWorkspaceSizes(1)[0] =
        platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& xShape = *context->GetInputShape(0);
    *context->GetOutputShape(0) = xShape;
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, ge::DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class CraftGroupNorm : public OpDef {
  public:
    explicit CraftGroupNorm(const char* name) : OpDef(name) {
        this->Input("x")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Input("gamma")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Input("beta")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Output("y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Attr("num_groups").AttrType(REQUIRED).Int();
        this->Attr("eps").AttrType(OPTIONAL).Float(1e-05);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(CraftGroupNorm);
}  // namespace ops
