// GroupedMatmulSliceM on the host: tiling, shapes and types, definition.
//
// Only the kernel knows where groups end. Rectangles of the result therefore have the size of a large base block,
// whatever the groups are, and the library's search cuts one such rectangle.
#include "grouped_matmul_slice_m_tiling.h"
#include "products.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    using matmul_tiling::DataType;
    constexpr uint64_t TALL = 128, WIDE = 256;
    const gert::Shape& a = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& b = context->GetInputShape(1)->GetStorageShape();
    const uint64_t m = a.GetDim(0), k = a.GetDim(1), groups = b.GetDim(0), n = b.GetDim(2);
    const int64_t height = m < TALL ? m : TALL, width = n < WIDE ? n : WIDE;
    const Product product{height, width, static_cast<int64_t>(k), DataType::DT_FLOAT16, DataType::DT_FLOAT16};
    GroupedMatmulSliceMTilingData tiling;
    if (!CutProduct(context, product, 1, tiling.cube)) {
        return ge::GRAPH_FAILED;
    }
    tiling.cube.set_M(m);
    tiling.cube.set_N(n);
    tiling.set_groups(groups);
    const uint64_t rectangles = (CeilDiv(m, height) + groups) * CeilDiv(n, width), cores = CubeCores(context);
    return Launch(context, tiling, rectangles < cores ? rectangles : cores);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape* a = context->GetInputShape(0);
    const gert::Shape* b = context->GetInputShape(1);
    *context->GetOutputShape(0) = gert::Shape({a->GetDim(0) * b->GetDim(2)});
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class GroupedMatmulSliceM : public OpDef {
  public:
    explicit GroupedMatmulSliceM(const char* name) : OpDef(name) {
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
OP_ADD(GroupedMatmulSliceM);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
