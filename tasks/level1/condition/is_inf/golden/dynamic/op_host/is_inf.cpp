// IsInf on the host: tiling, shapes and types, definition.
#include "elementwise_tiling.h"
#include "truth_type.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(IsInf, ElementwiseTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    return Cut(context, ElementsOf(context, 0), 1, 4096);
}
}  // namespace optiling

namespace ops {
class IsInf : public OpDef {
  public:
    explicit IsInf(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        const std::vector<ge::DataType> booleans(types.size(), ge::DT_BOOL);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(booleans).Format(formats);
        this->SetInferShape(ge::ShapeOfFirstInput).SetInferDataType(ge::TypeBool);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(IsInf);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
