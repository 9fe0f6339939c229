// Isamin on the host: types and definition. Tiling and shape are those of all reductions of a vector with a stride.
#include "strided_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(Isamin, StridedTilingData)
}  // namespace optiling

namespace ge {
static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, DT_INT32);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Isamin : public OpDef {
  public:
    explicit Isamin(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("result").ParamType(REQUIRED).DataType({ge::DT_INT32}).Format(formats);
        this->Attr("n").AttrType(OPTIONAL).Int(0);
        this->Attr("incx").AttrType(OPTIONAL).Int(1);
        this->SetInferShape(ge::ShapeOfNumber).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::CutReduction);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Isamin);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
