// Less on the host: tiling, shapes and types, definition.
#include "elementwise_tiling.h"
#include "truth_type.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(Less, ElementwiseTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    return Cut(context, ElementsOf(context, 0), 1, BytesOf(context, 0) == 8 ? 2048 : 4096);
}
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
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Less);
}  // namespace ops
