// InplaceFusedMatmulSoftmaxGrad on the host: tiling, shapes and types, definition.
//
// The library's search cuts the product into one rectangle for each vector core. All cores are started, as they meet.
#include "inplace_fused_matmul_softmax_grad_tiling.h"
#include "products.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    using matmul_tiling::DataType;
    const gert::Shape& gradient = context->GetInputShape(1)->GetStorageShape();
    const gert::Shape& values = context->GetInputShape(2)->GetStorageShape();
    const auto type = static_cast<DataType>(context->GetInputDesc(0)->GetDataType());
    const int64_t m = gradient.GetDim(0), n = values.GetDim(0), k = gradient.GetDim(1);
    const Product product{m, n, k, type, DataType::DT_FLOAT, false, true};
    InplaceFusedMatmulSoftmaxGradTilingData tiling;
    if (!CutProduct(context, product, VectorCores(context), tiling.cube)) {
        return ge::GRAPH_FAILED;
    }
    const uint64_t across = CeilDiv(product.n, tiling.cube.get_singleCoreN());
    const uint64_t sums = across * CeilDiv(product.m, 8) * 8;
    return Launch(context, tiling, CubeCores(context), (product.m * product.n + sums) * sizeof(float));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class InplaceFusedMatmulSoftmaxGrad : public OpDef {
  public:
    explicit InplaceFusedMatmulSoftmaxGrad(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        for (const char* tensor : {"softmaxOutput", "gradOutput", "values"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        this->Output("output").ParamType(REQUIRED).DataType(types).Format(formats);  // in the memory of softmaxOutput
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(InplaceFusedMatmulSoftmaxGrad);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
