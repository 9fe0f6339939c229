// Addcdiv on the host: tiling, shapes and types, definition.
#include "elementwise_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(Addcdiv, ElementwiseTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    return Cut(context, ElementsOf(context, 0), BytesOf(context, 0), 4096);
}
}  // namespace optiling

namespace ops {
class Addcdiv : public OpDef {
  public:
    explicit Addcdiv(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("input_data").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("x1").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("x2").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("value").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->SetInferShape(ge::ShapeOfFirstInput).SetInferDataType(ge::TypeOfFirstInput);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Addcdiv);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
