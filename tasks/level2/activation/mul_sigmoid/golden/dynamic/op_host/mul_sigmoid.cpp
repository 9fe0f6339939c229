// MulSigmoid on the host: tiling, shapes and types, definition. Lowered from a tile program.
// MulSigmoid: s * x2 * t3 with s = p where p < t2, else 2 * p, and p = sigmoid(t1 * x1). x2 is the same for every row.
#include "mul_sigmoid_tiling.h"
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
    const gert::Shape& x1Shape = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& x2Shape = context->GetInputShape(1)->GetStorageShape();
    const float* t1Given = context->GetAttrs()->GetFloat(0);
    const float t1 = t1Given == nullptr ? 0.0f : *t1Given;
    const float* t2Given = context->GetAttrs()->GetFloat(1);
    const float t2 = t2Given == nullptr ? 0.0f : *t2Given;
    const float* t3Given = context->GetAttrs()->GetFloat(2);
    const float t3 = t3Given == nullptr ? 0.0f : *t3Given;
    const int64_t rows_ = Extent(x1Shape, 0);
    const int64_t n = x2Shape.GetShapeSize();
    const int64_t tile = Least<int64_t>(RoundUp(n, 16), 2048);
    const int64_t chunks = CeilDiv(n, tile);
    const int64_t share = Greatest<int64_t>(1, CeilDiv(rows_ * chunks, VectorCores(context)));
    MulSigmoidTilingData tiling;
    tiling.set_t1(t1);
    tiling.set_t2(t2);
    tiling.set_t3(t3);
    tiling.set_items(rows_ * chunks);
    tiling.set_chunks(chunks);
    tiling.set_n(n);
    tiling.set_share(share);
    tiling.set_tile(tile);
    gert::TilingData* raw = context->GetRawTilingData();
    tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());
    raw->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(static_cast<uint32_t>(Greatest<int64_t>(1, CeilDiv(rows_ * chunks, share))));
    context->GetWorkspaceSizes(1)[0] =
        platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& x1Shape = *context->GetInputShape(0);
    const gert::Shape& x2Shape = *context->GetInputShape(1);
    gert::Shape* outShape = context->GetOutputShape(0);
    outShape->SetDimNum(0);
    AppendAxes(outShape, x1Shape, 0, 1);
    AppendAxes(outShape, x2Shape, 1, x2Shape.GetDimNum());
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, ge::DT_FLOAT16);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class MulSigmoid : public OpDef {
  public:
    explicit MulSigmoid(const char* name) : OpDef(name) {
        this->Input("x1")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Input("x2")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Output("out")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16})
            .Format({ge::FORMAT_ND});
        this->Attr("t1").AttrType(REQUIRED).Float();
        this->Attr("t2").AttrType(REQUIRED).Float();
        this->Attr("t3").AttrType(REQUIRED).Float();
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(MulSigmoid);
}  // namespace ops
