// BasicMatmul on the host: tiling, shapes and types, definition.
//
// The library's search cuts the product into one rectangle for each cube core, and every rectangle into base blocks.
#include "basic_matmul_tiling.h"
#include "products.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    using matmul_tiling::DataType;
    const gert::Shape& a = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& b = context->GetInputShape(1)->GetStorageShape();
    const Product product{a.GetDim(0), b.GetDim(1), a.GetDim(1), DataType::DT_FLOAT16, DataType::DT_FLOAT16};
    BasicMatmulTilingData tiling;
    if (!CutProduct(context, product, CubeCores(context), tiling.cube)) {
        return ge::GRAPH_FAILED;
    }
    return Launch(context, tiling, tiling.cube.get_usedCoreNum());
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape* a = context->GetInputShape(0);
    const gert::Shape* b = context->GetInputShape(1);
    *context->GetOutputShape(0) = gert::Shape({a->GetDim(0), b->GetDim(1)});
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class BasicMatmul : public OpDef {
  public:
    explicit BasicMatmul(const char* name) : OpDef(name) {
        for (const char* tensor : {"a", "b"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        }
        this->Output("c").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(BasicMatmul);
}  // namespace ops
