// Eye on the host: tiling, shapes and types, definition.
//
// The batch is cut as one flat tensor into shares of whole granules of 512 bytes, the unit in which global memory is
// served.
#include "eye_tiling.h"
#include "work_split.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t bytes = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    const Shares shares = Divide(total, 512 / bytes, VectorCores(context));
    const int64_t rows = *context->GetAttrs()->GetInt(0);
    const int64_t* columns = context->GetAttrs()->GetInt(1);

    EyeTilingData tiling;
    tiling.set_total(total);
    tiling.set_share(shares.share);
    tiling.set_rows(rows);
    tiling.set_columns(columns == nullptr || *columns == 0 ? rows : *columns);
    tiling.set_tile(32768 / bytes);
    return Launch(context, tiling, shares.blocks);
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
class Eye : public OpDef {
  public:
    explicit Eye(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_INT32};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);  // the same memory
        this->Attr("num_rows").AttrType(REQUIRED).Int();
        this->Attr("num_columns").AttrType(OPTIONAL).Int(0);
        this->Attr("batch_shape").AttrType(OPTIONAL).ListInt({});
        this->Attr("dtype").AttrType(OPTIONAL).Int(0);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Eye);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
