// AddSigmoidMulReduceSumD on the host: tiling, shapes and types, definition. Lowered from a tile program.
// AddSigmoidMulReduceSumD: sum over r of sigmoid((a + bias) * factor) * weight of the row * weight of the element.
#include "add_sigmoid_mul_reduce_sum_d_tiling.h"
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
    const gert::Shape& add_0_input0Shape = context->GetInputShape(0)->GetStorageShape();
    const int64_t n = Extent(add_0_input0Shape, 0);
    const int64_t r = Extent(add_0_input0Shape, 1);
    const int64_t c = Extent(add_0_input0Shape, 2);
    const int64_t width = Greatest<int64_t>(1, Least<int64_t>(Least<int64_t>(c, 512), RoundUp(CeilDiv(n * c,
        VectorCores(context)), 16)));
    const int64_t strips = CeilDiv(c, width);
    const int64_t items = n * strips;
    const int64_t share = Greatest<int64_t>(1, CeilDiv(items, VectorCores(context)));
    AddSigmoidMulReduceSumDTilingData tiling;
    tiling.set_r(r);
    tiling.set_c(c);
    tiling.set_items(items);
    tiling.set_share(share);
    tiling.set_strips(strips);
    tiling.set_width(width);
    tiling.set_tall(Greatest<int64_t>(1, Least<int64_t>(r, 4096 / RoundUp(width, 16))));
    gert::TilingData* raw = context->GetRawTilingData();
    tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());
    raw->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(static_cast<uint32_t>(Greatest<int64_t>(1, CeilDiv(items, share))));
    context->GetWorkspaceSizes(1)[0] =
        platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& add_0_input0Shape = *context->GetInputShape(0);
    const int64_t n = Extent(add_0_input0Shape, 0);
    const int64_t c = Extent(add_0_input0Shape, 2);
    gert::Shape* outShape = context->GetOutputShape(0);
    outShape->SetDimNum(0);
    outShape->AppendDim(n);
    outShape->AppendDim(c);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, ge::DT_FLOAT16);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class AddSigmoidMulReduceSumD : public OpDef {
  public:
    explicit AddSigmoidMulReduceSumD(const char* name) : OpDef(name) {
        this->Input("add_0_input0")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Input("add_0_input1")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Input("mul_0_input1")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Input("mult_1_input1")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Input("mult_2_input1")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Output("out")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(AddSigmoidMulReduceSumD);
}  // namespace ops
