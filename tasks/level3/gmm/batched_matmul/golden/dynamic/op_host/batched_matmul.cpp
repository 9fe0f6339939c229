// BatchedMatmul on the host: tiling, shapes and types, definition.
//
// The library's search cuts each product into rectangles, and every rectangle into base blocks: few products are cut so
// that all cores have a share, many are left whole.
#include "batched_matmul_tiling.h"
#include "products.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    using matmul_tiling::DataType;
    const gert::Shape& a = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& b = context->GetInputShape(1)->GetStorageShape();
    const Product product{a.GetDim(1), b.GetDim(2), a.GetDim(2), DataType::DT_FLOAT16, DataType::DT_FLOAT16};
    const uint64_t batches = a.GetDim(0), cores = CubeCores(context);
    const uint64_t coresPerProduct = CeilDiv(cores, batches);
    BatchedMatmulTilingData tiling;
    if (!CutProduct(context, product, coresPerProduct, tiling.cube)) {
        return ge::GRAPH_FAILED;
    }
    tiling.set_batches(batches);
    const uint64_t rectangles = batches * tiling.cube.get_usedCoreNum();
    return Launch(context, tiling, rectangles < cores ? rectangles : cores);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape* a = context->GetInputShape(0);
    const gert::Shape* b = context->GetInputShape(1);
    *context->GetOutputShape(0) = gert::Shape({a->GetDim(0), a->GetDim(1), b->GetDim(2)});
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class BatchedMatmul : public OpDef {
  public:
    explicit BatchedMatmul(const char* name) : OpDef(name) {
        for (const char* tensor : {"a", "b"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        }
        this->Output("c").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(BatchedMatmul);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
