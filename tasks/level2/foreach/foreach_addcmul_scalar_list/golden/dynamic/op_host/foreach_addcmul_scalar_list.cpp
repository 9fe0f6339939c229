// ForeachAddcmulScalarList on the host: the definition. Tiling, shapes and types are those of all Foreach operators.
#include "foreach_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(ForeachAddcmulScalarList, ForeachTilingData)
}  // namespace optiling

namespace ops {
class ForeachAddcmulScalarList : public OpDef {
  public:
    explicit ForeachAddcmulScalarList(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT32, ge::DT_BF16};
        const std::vector<ge::DataType> scalars = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT32, ge::DT_BF16};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x1").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->Input("x2").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->Input("x3").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->Input("scalars").ParamType(REQUIRED).DataType(scalars).Format(formats);
        this->Output("y").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->SetInferShape(ge::ForeachInferShape<0>).SetInferDataType(ge::ForeachInferDataType<0>);
        this->AICore().SetTiling(optiling::ForeachTiling<0>);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ForeachAddcmulScalarList);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
