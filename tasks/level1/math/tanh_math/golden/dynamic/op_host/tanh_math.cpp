// TanhMath on the host: tiling, shapes and types, definition.
#include "elementwise_tiling.h"
#include "tiling/tiling_api.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(TanhMath, ElementwiseTilingData)

constexpr uint32_t TILE = 4096;  // elements

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    uint32_t most = 0, scratch = 0;  // the library works with less than it could use
    AscendC::GetTanhMaxMinTmpSize(ge::Shape({TILE}), sizeof(float), false, most, scratch);
    return Cut(context, ElementsOf(context, 0), BytesOf(context, 0), TILE, scratch);
}
}  // namespace optiling

namespace ops {
class TanhMath : public OpDef {
  public:
    explicit TanhMath(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->SetInferShape(ge::ShapeOfFirstInput).SetInferDataType(ge::TypeOfFirstInput);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(TanhMath);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
