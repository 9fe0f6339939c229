// CraftAveragePooling2d on the host: tiling, shapes and types, definition. Lowered from a tile program.
// CraftAveragePooling2d: means of windows over the last 2 axes.
#include "craft_average_pooling_2d_tiling.h"
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
    const gert::Shape& xShape = context->GetInputShape(0)->GetStorageShape();
    const int64_t* kernel_sizeGiven = context->GetAttrs()->GetInt(0);
    const int64_t kernel_size = kernel_sizeGiven == nullptr ? 0 : *kernel_sizeGiven;
    const int64_t* strideGiven = context->GetAttrs()->GetInt(1);
    const int64_t stride = strideGiven == nullptr ? 0 : *strideGiven;
    const int64_t* paddingGiven = context->GetAttrs()->GetInt(2);
    const int64_t padding = paddingGiven == nullptr ? 0 : *paddingGiven;
    const int64_t height = Extent(xShape, 2);
    const int64_t height_out = (height + 2 * padding - kernel_size) / stride + 1;
    const int64_t width = Extent(xShape, 3);
    const int64_t width_out = (width + 2 * padding - kernel_size) / stride + 1;
    const int64_t rows_ = Extent(xShape, 0) * Extent(xShape, 1) * height_out;
    const int64_t share = Greatest<int64_t>(1, CeilDiv(rows_, VectorCores(context)));
    const int64_t segment = 4096;
    const int64_t tile = Least<int64_t>(width_out, Greatest<int64_t>(1, (segment - kernel_size) / stride));
    const float share_of_one = 1.0f / static_cast<float>(kernel_size * kernel_size);
    CraftAveragePooling2dTilingData tiling;
    tiling.set_kernel_size(kernel_size);
    tiling.set_stride(stride);
    tiling.set_padding(padding);
    tiling.set_rows(rows_);
    tiling.set_share(share);
    tiling.set_tile(tile);
    tiling.set_segment(segment);
    tiling.set_width(width);
    tiling.set_width_out(width_out);
    tiling.set_height(height);
    tiling.set_height_out(height_out);
    tiling.set_share_of_one(share_of_one);
    gert::TilingData* raw = context->GetRawTilingData();
    tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());
    raw->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(static_cast<uint32_t>(Greatest<int64_t>(1, CeilDiv(rows_, share))));
    context->GetWorkspaceSizes(1)[0] =
        platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& xShape = *context->GetInputShape(0);
    const int64_t* kernel_sizeGiven = context->GetAttrs()->GetInt(0);
    const int64_t kernel_size = kernel_sizeGiven == nullptr ? 0 : *kernel_sizeGiven;
    const int64_t* strideGiven = context->GetAttrs()->GetInt(1);
    const int64_t stride = strideGiven == nullptr ? 0 : *strideGiven;
    const int64_t* paddingGiven = context->GetAttrs()->GetInt(2);
    const int64_t padding = paddingGiven == nullptr ? 0 : *paddingGiven;
    const int64_t height = Extent(xShape, 2);
    const int64_t height_out = (height + 2 * padding - kernel_size) / stride + 1;
    const int64_t width = Extent(xShape, 3);
    const int64_t width_out = (width + 2 * padding - kernel_size) / stride + 1;
    gert::Shape* yShape = context->GetOutputShape(0);
    yShape->SetDimNum(0);
    AppendAxes(yShape, xShape, 0, 2);
    yShape->AppendDim(height_out);
    yShape->AppendDim(width_out);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, ge::DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class CraftAveragePooling2d : public OpDef {
  public:
    explicit CraftAveragePooling2d(const char* name) : OpDef(name) {
        this->Input("x")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Output("y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND});
        this->Attr("kernel_size").AttrType(REQUIRED).Int();
        this->Attr("stride").AttrType(REQUIRED).Int();
        this->Attr("padding").AttrType(OPTIONAL).Int(0);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(CraftAveragePooling2d);
}  // namespace ops
