// LayerNormV4 on the host: tiling, shapes and types, definition.
#include "layer_norm_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(LayerNormV4, LayerNormTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const int64_t axes = context->GetInputShape(1)->GetStorageShape().GetShapeSize();
    const int64_t rank = x.GetDimNum();
    uint64_t columns = 1;
    for (int64_t axis = rank - axes; axis < rank; ++axis) {
        columns *= x.GetDim(axis);
    }
    return LaunchLayerNorm(context, columns, 2, *context->GetAttrs()->GetFloat(0), false, false);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& x = *context->GetInputShape(0);
    const size_t axes = context->GetInputShape(1)->GetShapeSize();
    *context->GetOutputShape(0) = x;
    ShapeOfStatistics(context->GetOutputShape(1), x, axes);
    ShapeOfStatistics(context->GetOutputShape(2), x, axes);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    context->SetOutputDataType(1, DT_FLOAT);
    context->SetOutputDataType(2, DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class LayerNormV4 : public OpDef {
  public:
    explicit LayerNormV4(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16};
        const std::vector<ge::DataType> extents(types.size(), ge::DT_INT32);
        const std::vector<ge::DataType> floats(types.size(), ge::DT_FLOAT);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("normalized_shape").ParamType(REQUIRED).DataType(extents).Format(formats);
        this->Input("gamma").ParamType(OPTIONAL).DataType(types).Format(formats);
        this->Input("beta").ParamType(OPTIONAL).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("mean").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Output("rstd").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Attr("epsilon").AttrType(OPTIONAL).Float(1.0e-5);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(LayerNormV4);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
