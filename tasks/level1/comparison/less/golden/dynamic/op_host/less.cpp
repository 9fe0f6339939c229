// Less on the host: definition; tiling, shapes and types are those of all comparisons.
#include "comparison_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(Less, ElementwiseTilingData)
}  // namespace optiling

namespace ops {
class Less : public OpDef {
  public:
    explicit Less(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT, ge::DT_INT8, ge::DT_UINT8,
                                                 ge::DT_INT32, ge::DT_INT64};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        const std::vector<ge::DataType> booleans(types.size(), ge::DT_BOOL);
        this->Input("x1").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("x2").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(booleans).Format(formats);
        this->SetInferShape(ge::ShapeOfFirstInput).SetInferDataType(ge::TypeBool);
        this->AICore().SetTiling(optiling::TileComparison);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Less);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
