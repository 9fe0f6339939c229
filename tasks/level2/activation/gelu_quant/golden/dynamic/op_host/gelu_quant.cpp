// GeluQuant on the host: tiling, shapes and types, definition.
#include <cstring>

#include "gelu_quant_tiling.h"

namespace optiling {
static bool IsNumber(const gert::StorageShape* shape) {
    return shape != nullptr && shape->GetStorageShape().GetShapeSize() == 1;
}

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const uint64_t total = x.GetShapeSize();
    const uint64_t columns = x.GetDimNum() == 0 ? 1 : x.GetDim(x.GetDimNum() - 1);
    const gert::RuntimeAttrs* attributes = context->GetAttrs();
    GeluQuantTilingData tiling;
    const Footprint footprint{33, 12, 32, true, 16 * 1024};
    const uint32_t blocks = PlanRows(context, columns == 0 ? 0 : total / columns, columns, footprint, tiling.plan);
    tiling.set_tanhForm(std::strcmp(attributes->GetStr(0), "tanh") == 0);
    tiling.set_dynamic(std::strcmp(attributes->GetStr(1), "dynamic") == 0);
    tiling.set_scaleIsNumber(IsNumber(context->GetOptionalInputShape(1)));
    tiling.set_offsetIsNumber(IsNumber(context->GetOptionalInputShape(2)));
    return Launch(context, tiling, blocks);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& x = *context->GetInputShape(0);
    *context->GetOutputShape(0) = x;
    if (std::strcmp(context->GetAttrs()->GetStr(1), "dynamic") == 0) {
        *context->GetOutputShape(1) = x;
        context->GetOutputShape(1)->SetDim(x.GetDimNum() - 1, 1);
    } else {
        *context->GetOutputShape(1) = gert::Shape({0});
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, DT_INT8);
    context->SetOutputDataType(1, DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class GeluQuant : public OpDef {
  public:
    explicit GeluQuant(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16};
        const std::vector<ge::DataType> bytes(types.size(), ge::DT_INT8);
        const std::vector<ge::DataType> floats(types.size(), ge::DT_FLOAT);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("input_scale").ParamType(OPTIONAL).DataType(types).Format(formats);
        this->Input("input_offset").ParamType(OPTIONAL).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(bytes).Format(formats);
        this->Output("out_scale").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Attr("approximate").AttrType(OPTIONAL).String("none");
        this->Attr("quant_mode").AttrType(OPTIONAL).String("dynamic");
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(GeluQuant);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
