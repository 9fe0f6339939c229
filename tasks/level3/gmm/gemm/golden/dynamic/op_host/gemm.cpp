// Gemm on the host: tiling, shapes and types, definition.
//
// The product is cut into rectangles that cube cores hand over to vector cores, and every rectangle into base blocks.
#include "handover_tiles.h"
#include "gemm_tiling.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    using matmul_tiling::DataType;
    const gert::Shape& a = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& b = context->GetInputShape(1)->GetStorageShape();
    const Product product{a.GetDim(0), b.GetDim(1), a.GetDim(1), DataType::DT_FLOAT, DataType::DT_FLOAT};
    GemmTilingData tiling;
    tiling.set_alpha(*context->GetAttrs()->GetFloat(0));
    tiling.set_beta(*context->GetAttrs()->GetFloat(1));
    const uint64_t blocks = CutTiles(context, {product}, tiling.cube);
    return blocks == 0 ? ge::GRAPH_FAILED : Launch(context, tiling, blocks, HandoverBytes(tiling.cube, blocks));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(2);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Gemm : public OpDef {
  public:
    explicit Gemm(const char* name) : OpDef(name) {
        for (const char* tensor : {"a", "b", "c"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        }
        this->Output("d").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});  // in the memory of c
        this->Attr("alpha").AttrType(REQUIRED).Float();
        this->Attr("beta").AttrType(REQUIRED).Float();
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Gemm);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
