// Arange on the host: tiling, shapes and types, definition.
//
// How many elements there are is known with the output's shape; the values themselves are read by the kernel.
#include "elementwise_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(Arange, ElementwiseTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t total = context->GetOutputShape(0)->GetStorageShape().GetShapeSize();
    return Cut(context, total, BytesOf(context, 0), 4096);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    context->GetOutputShape(0)->SetDimNum(1);
    context->GetOutputShape(0)->SetDim(0, -1);  // depends on values
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Arange : public OpDef {
  public:
    explicit Arange(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_INT32, ge::DT_INT64, ge::DT_BF16};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("start").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("end").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("step").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("out").ParamType(REQUIRED).DataType(types).Format(formats);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::TypeOfFirstInput);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Arange);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
