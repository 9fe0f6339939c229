// CraftCumsumExclusive on the host: tiling, shapes and types, definition. Lowered from a tile program.
// CraftCumsumExclusive: sums of all elements before each place along an axis.
#include "craft_cumsum_exclusive_tiling.h"
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
    const gert::Shape& xShape = context->GetInputShape(0)->GetStorageShape();
    const int64_t* dimGiven = context->GetAttrs()->GetInt(0);
    const int64_t dim = dimGiven == nullptr ? 1 : *dimGiven;
    const int64_t axis = dim >= 0 ? dim : dim + static_cast<int64_t>(xShape.GetDimNum());
    const int64_t outer = Product(xShape, 0, axis);
    const int64_t n = Extent(xShape, axis);
    const int64_t inner = Product(xShape, axis + 1, static_cast<int64_t>(xShape.GetDimNum()));
    const int64_t width = inner == 1 ? 8 : Least<int64_t>(inner, 2048);
    const int64_t strips = inner == 1 ? 1 : CeilDiv(inner, width);
    const int64_t items = outer * strips;
    const int64_t share = Greatest<int64_t>(1, CeilDiv(items, VectorCores(context)));
    const int64_t run = inner == 1 ? Least<int64_t>(RoundUp(n, 64), 4096) : 8;
    CraftCumsumExclusiveTilingData tiling;
    tiling.set_dim(dim);
    tiling.set_items(items);
    tiling.set_share(share);
    tiling.set_n(n);
    tiling.set_inner(inner);
    tiling.set_strips(strips);
    tiling.set_width(width);
    tiling.set_run(run);
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
class CraftCumsumExclusive : public OpDef {
  public:
    explicit CraftCumsumExclusive(const char* name) : OpDef(name) {
        this->Input("x")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Output("y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Attr("dim").AttrType(OPTIONAL).Int(1);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(CraftCumsumExclusive);
}  // namespace ops
