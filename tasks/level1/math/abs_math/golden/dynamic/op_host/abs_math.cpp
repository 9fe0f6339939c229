// AbsMath on the host: tiling, shapes and types, definition.
#include "elementwise_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(AbsMath, ElementwiseTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    return Cut(context, ElementsOf(context, 0), BytesOf(context, 0) < 4 ? 2 : 4, 2048);
}
}  // namespace optiling

namespace ge {
static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    const DataType type = context->GetInputDataType(0);
    context->SetOutputDataType(0, type == DT_COMPLEX64 ? DT_FLOAT : type);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class AbsMath : public OpDef {
  public:
    explicit AbsMath(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_BF16, ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT32, ge::DT_INT64,
                                                 ge::DT_COMPLEX64};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        const std::vector<ge::DataType> outputs = {ge::DT_BF16, ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT32,
                                                   ge::DT_INT64, ge::DT_FLOAT};
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(outputs).Format(formats);
        this->SetInferShape(ge::ShapeOfFirstInput).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(AbsMath);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
