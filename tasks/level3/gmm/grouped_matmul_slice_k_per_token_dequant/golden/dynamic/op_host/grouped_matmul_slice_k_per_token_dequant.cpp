// GroupedMatmulSliceKPerTokenDequant on the host: tiling, shapes and types, definition.
//
// Only the kernel knows where groups end. Rectangles, which cube cores hand over to vector cores, are chosen as if all
// groups had as many inner indices.
#include "grouped_matmul_slice_k_per_token_dequant_tiling.h"
#include "handover_tiles.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    using matmul_tiling::DataType;
    const gert::Shape& a = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& b = context->GetInputShape(1)->GetStorageShape();
    const int64_t m = a.GetDim(0), k = a.GetDim(1), n = b.GetDim(1);
    const int64_t groups = context->GetInputShape(4)->GetStorageShape().GetDim(0), depth = CeilDiv(k, groups);
    Product product{m, n, depth, DataType::DT_INT8, DataType::DT_INT32};
    product.leftTurned = true;
    const std::vector<Product> products(groups, product);
    GroupedMatmulSliceKPerTokenDequantTilingData tiling;
    const uint64_t blocks = CutTiles(context, products, tiling.cube);
    if (blocks == 0) {
        return ge::GRAPH_FAILED;
    }
    tiling.cube.set_M(m);
    tiling.cube.set_Ka(k);
    tiling.set_groups(groups);
    return Launch(context, tiling, blocks, HandoverBytes(tiling.cube, blocks));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const int64_t m = context->GetInputShape(0)->GetDim(0), n = context->GetInputShape(1)->GetDim(1);
    *context->GetOutputShape(0) = gert::Shape({context->GetInputShape(4)->GetDim(0) * m * n});
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(2));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class GroupedMatmulSliceKPerTokenDequant : public OpDef {
  public:
    explicit GroupedMatmulSliceKPerTokenDequant(const char* name) : OpDef(name) {
        for (const char* matrix : {"a", "b"}) {
            this->Input(matrix).ParamType(REQUIRED).DataType({ge::DT_INT8}).Format({ge::FORMAT_ND});
        }
        for (const char* factors : {"scale", "per_token_scale"}) {
            this->Input(factors).ParamType(REQUIRED).DataType({ge::DT_BF16}).Format({ge::FORMAT_ND});
        }
        this->Input("groupList").ParamType(REQUIRED).DataType({ge::DT_INT64}).Format({ge::FORMAT_ND});
        this->Output("c").ParamType(REQUIRED).DataType({ge::DT_BF16}).Format({ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(GroupedMatmulSliceKPerTokenDequant);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
