// NonFiniteCheckOp on the host: shapes, types and the definition. Tiling is that of the Foreach operators.
#include "foreach_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(NonFiniteCheckOp, ForeachTilingData)
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    context->GetOutputShape(0)->SetDimNum(0);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class NonFiniteCheckOp : public OpDef {
  public:
    explicit NonFiniteCheckOp(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_BF16, ge::DT_FLOAT16, ge::DT_FLOAT};
        const std::vector<ge::DataType> flags(types.size(), ge::DT_FLOAT);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("tensor_list").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->Output("found_flag").ParamType(REQUIRED).DataType(flags).Format(formats);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::ForeachTiling<0>);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(NonFiniteCheckOp);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
