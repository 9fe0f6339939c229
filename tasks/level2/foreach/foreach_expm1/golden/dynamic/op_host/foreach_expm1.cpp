// ForeachExpm1 on the host: the definition. Tiling, shapes and types are those of all Foreach operators.
#include "foreach_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(ForeachExpm1, ForeachTilingData)
}  // namespace optiling

namespace ops {
class ForeachExpm1 : public OpDef {
  public:
    explicit ForeachExpm1(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->Output("y").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->SetInferShape(ge::ForeachInferShape<0>).SetInferDataType(ge::ForeachInferDataType<0>);
        this->AICore().SetTiling(optiling::ForeachTiling<0>);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ForeachExpm1);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
