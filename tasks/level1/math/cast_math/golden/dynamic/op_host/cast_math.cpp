// CastMath on the host: tiling, shapes and types, definition.
#include <algorithm>

#include "elementwise_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(CastMath, ElementwiseTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint32_t from = BytesOf(context, 0), to = ge::GetSizeByDataType(context->GetOutputDesc(0)->GetDataType());
    return Cut(context, ElementsOf(context, 0), std::min(from, to), std::max(from, to) == 8 ? 2048 : 4096);
}
}  // namespace optiling

namespace ge {
// The attribute numbers element types as the enumeration does.
static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, static_cast<DataType>(*context->GetAttrs()->GetInt(0)));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class CastMath : public OpDef {
  public:
    explicit CastMath(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT32, ge::DT_INT8, ge::DT_UINT8,
                                                 ge::DT_BOOL,    ge::DT_INT64, ge::DT_BF16,  ge::DT_INT16};
        std::vector<ge::DataType> from, to;
        for (ge::DataType x : types) {
            for (ge::DataType y : types) {
                from.push_back(x);
                to.push_back(y);
            }
        }
        const std::vector<ge::Format> formats(from.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(from).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(to).Format(formats);
        this->Attr("dst_type").AttrType(REQUIRED).Int();
        this->SetInferShape(ge::ShapeOfFirstInput).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(CastMath);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
