// MulMulReduceMeanDTwice on the host: tiling, shapes and types, definition. Lowered from a tile program.
// MulMulReduceMeanDTwice: gamma * (p - mean) / sqrt(variance + add_y) + beta, p = mul0_input0 * mul0_input1 *
// mul1_input0.
#include "mul_mul_reduce_mean_d_twice_tiling.h"
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

int64_t VectorCores(gert::TilingContext* context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
}
}  // namespace

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::Shape& mul0_input0Shape = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& gammaShape = context->GetInputShape(4)->GetStorageShape();
    const int64_t d = gammaShape.GetShapeSize();
    const int64_t n = mul0_input0Shape.GetShapeSize() / Greatest<int64_t>(1, d);
    const int64_t width = Least<int64_t>(d, 3072);
    const int64_t most = d > 2048 ? 1 : Greatest<int64_t>(1, Least<int64_t>(128, 4096 / RoundUp(d, 16)));
    const int64_t share = Greatest<int64_t>(1, CeilDiv(n, VectorCores(context)));
    MulMulReduceMeanDTwiceTilingData tiling;
    tiling.set_n(n);
    tiling.set_d(d);
    tiling.set_share(share);
    tiling.set_width(width);
    tiling.set_most(Least<int64_t>(most, share));
    tiling.set_again(d > width);
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
    const gert::Shape& mul0_input0Shape = *context->GetInputShape(0);
    *context->GetOutputShape(0) = mul0_input0Shape;
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, ge::DT_FLOAT16);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class MulMulReduceMeanDTwice : public OpDef {
  public:
    explicit MulMulReduceMeanDTwice(const char* name) : OpDef(name) {
        this->Input("mul0_input0")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Input("mul0_input1")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Input("mul1_input0")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Input("add_y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Input("gamma")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Input("beta")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Output("output")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(MulMulReduceMeanDTwice);
}  // namespace ops
