// QuantMatmul on the host: tiling, shapes and types, definition.
//
// Rectangles, which cube cores hand over to vector cores, pass through the workspace.
#include "handover_tiles.h"
#include "quant_matmul_tiling.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    using matmul_tiling::DataType;
    const gert::Shape& a = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& b = context->GetInputShape(1)->GetStorageShape();
    const Product product{a.GetDim(0), b.GetDim(1), a.GetDim(1), DataType::DT_INT8, DataType::DT_INT32};
    QuantMatmulTilingData tiling;
    const uint64_t blocks = CutTiles(context, {product}, tiling.cube);
    if (blocks == 0) {
        return ge::GRAPH_FAILED;
    }
    return Launch(context, tiling, blocks, HandoverBytes(tiling.cube, blocks));
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
    context->SetOutputDataType(0, context->GetInputDataType(2));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class QuantMatmul : public OpDef {
  public:
    explicit QuantMatmul(const char* name) : OpDef(name) {
        for (const char* matrix : {"a", "b"}) {
            this->Input(matrix).ParamType(REQUIRED).DataType({ge::DT_INT8}).Format({ge::FORMAT_ND});
        }
        for (const char* factors : {"scale", "per_token_scale"}) {
            this->Input(factors).ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        }
        this->Output("d").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(QuantMatmul);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
