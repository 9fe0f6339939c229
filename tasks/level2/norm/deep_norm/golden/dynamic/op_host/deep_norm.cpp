// DeepNorm on the host: tiling, shapes and types, definition. Lowered from a tile program.
// DeepNorm: s = alpha * x + gx, y = (s - mean) * rstd * gamma + beta.
#include "deep_norm_tiling.h"
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

// Adds the axes from first to last of one shape to another.
void AppendAxes(gert::Shape* to, const gert::Shape& from, int64_t first, int64_t last) {
    const int64_t rank = static_cast<int64_t>(from.GetDimNum());
    first = first < 0 ? first + rank : first;
    last = last < 0 ? last + rank : last;
    for (int64_t axis = first; axis < last && axis < rank; ++axis) {
        to->AppendDim(from.GetDim(axis));
    }
}

int64_t VectorCores(gert::TilingContext* context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
}
}  // namespace

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::Shape& xShape = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& gammaShape = context->GetInputShape(3)->GetStorageShape();
    const float* alphaGiven = context->GetAttrs()->GetFloat(0);
    const float alpha = alphaGiven == nullptr ? 0.3f : *alphaGiven;
    const float* epsilonGiven = context->GetAttrs()->GetFloat(1);
    const float epsilon = epsilonGiven == nullptr ? 1e-06f : *epsilonGiven;
    const int64_t d = gammaShape.GetShapeSize();
    const int64_t n = xShape.GetShapeSize() / d;
    const int64_t width = Least<int64_t>(d, 1024);
    const int64_t most = d > 1024 ? 1 : Greatest<int64_t>(1, Least<int64_t>(64, 1024 / RoundUp(d, 16)));
    const int64_t share = RoundUp(Greatest<int64_t>(1, CeilDiv(n, VectorCores(context))), most);
    DeepNormTilingData tiling;
    tiling.set_alpha(alpha);
    tiling.set_epsilon(epsilon);
    tiling.set_n(n);
    tiling.set_d(d);
    tiling.set_share(share);
    tiling.set_width(width);
    tiling.set_most(most);
    gert::TilingData* raw = context->GetRawTilingData();
    tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());
    raw->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(static_cast<uint32_t>(Greatest<int64_t>(1, CeilDiv(n, share))));
    context->GetWorkspaceSizes(1)[0] =
        platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& xShape = *context->GetInputShape(0);
    gert::Shape* meanShape = context->GetOutputShape(0);
    meanShape->SetDimNum(0);
    AppendAxes(meanShape, xShape, 0, static_cast<int64_t>(xShape.GetDimNum()) - 1);
    meanShape->AppendDim(1);
    gert::Shape* rstdShape = context->GetOutputShape(1);
    rstdShape->SetDimNum(0);
    AppendAxes(rstdShape, xShape, 0, static_cast<int64_t>(xShape.GetDimNum()) - 1);
    rstdShape->AppendDim(1);
    *context->GetOutputShape(2) = xShape;
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, ge::DT_FLOAT);
    context->SetOutputDataType(1, ge::DT_FLOAT);
    context->SetOutputDataType(2, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class DeepNorm : public OpDef {
  public:
    explicit DeepNorm(const char* name) : OpDef(name) {
        this->Input("x")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Input("gx")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Input("beta")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Input("gamma")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("mean")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("rstd")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("alpha").AttrType(OPTIONAL).Float(0.3);
        this->Attr("epsilon").AttrType(OPTIONAL).Float(1e-06);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(DeepNorm);
}  // namespace ops
