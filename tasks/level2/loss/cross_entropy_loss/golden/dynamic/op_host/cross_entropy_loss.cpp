// CrossEntropyLoss on the host: tiling, shapes and types, definition.
#include "cross_entropy_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(CrossEntropyLoss, CrossEntropyTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    return LaunchCrossEntropy(context, 0, {29, 12, 16, true}, *context->GetAttrs()->GetBool(4));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& logits = *context->GetInputShape(0);
    const bool keepsRows = std::strcmp(context->GetAttrs()->GetStr(0), "none") == 0;
    const bool squares = *context->GetAttrs()->GetBool(4);
    const gert::Shape rows({logits.GetDim(0)});
    *context->GetOutputShape(0) = keepsRows ? rows : gert::Shape();
    *context->GetOutputShape(1) = logits;
    *context->GetOutputShape(2) = gert::Shape({squares ? 1 : 0});
    *context->GetOutputShape(3) = squares ? rows : gert::Shape({0});
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    for (size_t output = 0; output < 4; ++output) {
        context->SetOutputDataType(output, context->GetInputDataType(0));
    }
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class CrossEntropyLoss : public OpDef {
  public:
    explicit CrossEntropyLoss(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16};
        const std::vector<ge::DataType> classes(types.size(), ge::DT_INT64);
        const std::vector<ge::DataType> floats(types.size(), ge::DT_FLOAT);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("input").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("target").ParamType(REQUIRED).DataType(classes).Format(formats);
        this->Input("weight").ParamType(OPTIONAL).DataType(floats).Format(formats);
        this->Output("loss").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("log_prob").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("zloss").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("lse_for_zloss").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("reduction").AttrType(OPTIONAL).String("mean");
        this->Attr("ignore_index").AttrType(OPTIONAL).Int(-100);
        this->Attr("label_smoothing").AttrType(OPTIONAL).Float(0.0);
        this->Attr("lse_square_scale_for_zloss").AttrType(OPTIONAL).Float(0.0);
        this->Attr("return_zloss").AttrType(OPTIONAL).Bool(false);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(CrossEntropyLoss);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
