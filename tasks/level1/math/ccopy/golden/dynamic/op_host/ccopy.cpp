// Ccopy on the host: tiling, shapes and types, definition.
#include <algorithm>

#include "ccopy_tiling.h"
#include "work_split.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::RuntimeAttrs* attributes = context->GetAttrs();
    const uint64_t total = std::max<int64_t>(0, *attributes->GetInt(0));
    const uint64_t strideX = std::max<int64_t>(1, *attributes->GetInt(1));
    const uint64_t strideY = std::max<int64_t>(1, *attributes->GetInt(2));
    const uint64_t granule = std::max<uint64_t>(1, GranuleOf(context, 0) / strideY);
    const Shares shares = Divide(total, granule, VectorCores(context));

    CcopyTilingData tiling;
    tiling.set_total(total);
    tiling.set_share(shares.share);
    tiling.set_strideX(strideX);
    tiling.set_strideY(strideY);
    context->SetTilingKey(strideX == 1 && strideY == 1 ? 0 : 1);
    return Launch(context, tiling, shares.blocks);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const int64_t n = *context->GetAttrs()->GetInt(0), strideY = *context->GetAttrs()->GetInt(2);
    gert::Shape* y = context->GetOutputShape(0);
    y->SetDimNum(1);
    y->SetDim(0, n > 0 ? (n - 1) * strideY + 1 : 0);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Ccopy : public OpDef {
  public:
    explicit Ccopy(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_COMPLEX64};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("n").AttrType(OPTIONAL).Int(0);
        this->Attr("incx").AttrType(OPTIONAL).Int(1);
        this->Attr("incy").AttrType(OPTIONAL).Int(1);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Ccopy);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
