// SwiGluGrad on the host: tiling, shapes and types, definition. Lowered from a tile program.
// SwiGluGrad: da = y_grad * b * p * (1 + a * (1 - p)), db = y_grad * a * p with p = sigmoid(a).
#include "swi_glu_grad_tiling.h"
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

// Product of the extents of the axes from first to last, counted from the end where they are negative.
int64_t Product(const gert::Shape& shape, int64_t first, int64_t last) {
    const int64_t rank = static_cast<int64_t>(shape.GetDimNum());
    first = first < 0 ? first + rank : first;
    last = last < 0 ? last + rank : last;
    int64_t product = 1;
    for (int64_t axis = first; axis < last && axis < rank; ++axis) {
        product *= shape.GetDim(axis);
    }
    return product;
}

int64_t VectorCores(gert::TilingContext* context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
}
}  // namespace

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::Shape& y_gradShape = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& xShape = context->GetInputShape(1)->GetStorageShape();
    const int64_t* dimGiven = context->GetAttrs()->GetInt(0);
    const int64_t dim = dimGiven == nullptr ? -1 : *dimGiven;
    const int64_t axis = dim >= 0 ? dim : dim + static_cast<int64_t>(xShape.GetDimNum());
    const int64_t n = Product(xShape, 0, axis);
    const int64_t m = Product(y_gradShape, axis, static_cast<int64_t>(y_gradShape.GetDimNum()));
    const int64_t width = Least<int64_t>(m, 2048);
    const int64_t most = m > 2048 ? 1 : Greatest<int64_t>(1, Least<int64_t>(64, 2048 / RoundUp(m, 16)));
    const int64_t chunks = CeilDiv(m, width);
    const int64_t items = CeilDiv(n, most) * chunks;
    const int64_t share = Greatest<int64_t>(1, CeilDiv(items, VectorCores(context)));
    SwiGluGradTilingData tiling;
    tiling.set_dim(dim);
    tiling.set_n(n);
    tiling.set_m(m);
    tiling.set_items(items);
    tiling.set_chunks(chunks);
    tiling.set_share(share);
    tiling.set_width(width);
    tiling.set_most(most);
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
    const gert::Shape& xShape = *context->GetInputShape(1);
    *context->GetOutputShape(0) = xShape;
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class SwiGluGrad : public OpDef {
  public:
    explicit SwiGluGrad(const char* name) : OpDef(name) {
        this->Input("y_grad")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Input("x")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("x_grad")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("dim").AttrType(OPTIONAL).Int(-1);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(SwiGluGrad);
}  // namespace ops
