// Sscal on the host: tiling, shapes and types, definition.
#include "strided_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(Sscal, StridedTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint32_t TILE = 4096;
    const gert::RuntimeAttrs* attributes = context->GetAttrs();
    const int64_t n = *attributes->GetInt(1), stride = *attributes->GetInt(2);
    StridedTilingData tiling = CutStrided(n, stride, sizeof(float), TILE, 0, VectorCores(context));
    tiling.set_factor(*attributes->GetFloat(0));
    const uint64_t blocks = tiling.get_share() == 0 ? 1 : CeilDiv(tiling.get_total(), tiling.get_share());
    return Launch(context, tiling, std::max<uint64_t>(1, blocks));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Sscal : public OpDef {
  public:
    explicit Sscal(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("x_ref").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("alpha").AttrType(OPTIONAL).Float(1.0);
        this->Attr("n").AttrType(OPTIONAL).Int(0);
        this->Attr("incx").AttrType(OPTIONAL).Int(1);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Sscal);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
