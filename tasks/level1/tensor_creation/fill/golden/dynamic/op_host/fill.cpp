// Fill on the host: tiling, shapes and types, definition.
//
// What matters of the element type is its width, so that everything is cut in bytes.
#include "elementwise_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(Fill, ElementwiseTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t elements = context->GetOutputShape(0)->GetStorageShape().GetShapeSize();
    return Cut(context, elements * BytesOf(context, 1), 1, 32768);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Tensor* dims = context->GetInputTensor(0);
    gert::Shape* y = context->GetOutputShape(0);
    y->SetDimNum(dims->GetShapeSize());
    for (size_t axis = 0; axis < y->GetDimNum(); ++axis) {
        y->SetDim(axis, dims->GetData<int64_t>()[axis]);
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(1));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Fill : public OpDef {
  public:
    explicit Fill(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT32, ge::DT_INT8,
                                                 ge::DT_INT64,   ge::DT_BF16,  ge::DT_BOOL};
        const std::vector<ge::DataType> longs(types.size(), ge::DT_INT64);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("dims").ParamType(REQUIRED).ValueDepend(OPTIONAL).DataType(longs).Format(formats);
        this->Input("value").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Fill);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
