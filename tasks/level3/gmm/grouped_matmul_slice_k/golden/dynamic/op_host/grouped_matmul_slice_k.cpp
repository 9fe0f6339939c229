// GroupedMatmulSliceK on the host: tiling, shapes and types, definition.
//
// Only the kernel knows where groups end. Rectangles of the results are cut as if all groups had as many inner indices;
// the library's search cuts one such rectangle.
#include "grouped_matmul_slice_k_tiling.h"
#include "products.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    using matmul_tiling::DataType;
    constexpr uint64_t TALL = 128, WIDE = 256, NARROW = 64;
    const gert::Shape& a = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& b = context->GetInputShape(1)->GetStorageShape();
    const uint64_t m = a.GetDim(0), k = a.GetDim(1), n = b.GetDim(1), cores = CubeCores(context);
    const uint64_t groups = context->GetInputShape(2)->GetStorageShape().GetDim(0);
    const uint64_t height = m < TALL ? m : TALL;
    uint64_t width = WIDE;
    while (width > NARROW && CeilDiv(m, height) * CeilDiv(n, width) * groups < 2 * cores) {
        width /= 2;
    }
    width = n < width ? n : width;
    Product product{int64_t(height), int64_t(width), int64_t(k), DataType::DT_FLOAT16, DataType::DT_FLOAT16};
    product.leftTurned = true;
    GroupedMatmulSliceKTilingData tiling;
    if (!CutProduct(context, product, 1, tiling.cube)) {
        return ge::GRAPH_FAILED;
    }
    tiling.cube.set_M(m);
    tiling.cube.set_N(n);
    tiling.set_groups(groups);
    const uint64_t rectangles = CeilDiv(m, height) * CeilDiv(n, width) * groups;
    return Launch(context, tiling, rectangles < cores ? rectangles : cores);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const int64_t m = context->GetInputShape(0)->GetDim(0), n = context->GetInputShape(1)->GetDim(1);
    *context->GetOutputShape(0) = gert::Shape({context->GetInputShape(2)->GetDim(0) * m * n});
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class GroupedMatmulSliceK : public OpDef {
  public:
    explicit GroupedMatmulSliceK(const char* name) : OpDef(name) {
        for (const char* tensor : {"a", "b"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        }
        this->Input("groupList").ParamType(REQUIRED).DataType({ge::DT_INT64}).Format({ge::FORMAT_ND});
        this->Output("c").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(GroupedMatmulSliceK);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
