// Muls on the host: tiling, shapes and types, definition.
#include "elementwise_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(Muls, ElementwiseTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    return Cut(context, ElementsOf(context, 0), BytesOf(context, 0), 4096);
}
}  // namespace optiling

namespace ops {
class Muls : public OpDef {
  public:
    explicit Muls(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_BF16, ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT32, ge::DT_INT16,
                                                 ge::DT_INT64, ge::DT_COMPLEX64};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        const std::vector<ge::DataType> floats(types.size(), ge::DT_FLOAT);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("value").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->SetInferShape(ge::ShapeOfFirstInput).SetInferDataType(ge::TypeOfFirstInput);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Muls);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
