// ComplexMatDot on the host: tiling, shapes and types, definition.
#include "elementwise_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(ComplexMatDot, ElementwiseTilingData)

// The kernel sees pairs of floats.
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    return Cut(context, 2 * ElementsOf(context, 0), sizeof(float), 4096);
}
}  // namespace optiling

namespace ops {
class ComplexMatDot : public OpDef {
  public:
    explicit ComplexMatDot(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_COMPLEX64};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("matx").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("maty").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("result").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("m").AttrType(OPTIONAL).Int(1);
        this->Attr("n").AttrType(OPTIONAL).Int(1);
        this->SetInferShape(ge::ShapeOfFirstInput).SetInferDataType(ge::TypeOfFirstInput);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ComplexMatDot);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
