// GroupNormSwishGrad on the host: tiling, shapes and types, definition.
#include "group_norm_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(GroupNormSwishGrad, GroupNormTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::RuntimeAttrs* attributes = context->GetAttrs();
    GroupNormTilingData tiling;
    const Footprint footprint{49, 44, 16, false, 8 * 1024, 64};
    const gert::Shape& x = context->GetInputShape(3)->GetStorageShape();
    CutGroups(context, x, *attributes->GetInt(0), footprint, tiling);
    tiling.set_swishScale(*attributes->GetFloat(2));
    tiling.set_wantsGamma(*attributes->GetBool(3));
    tiling.set_wantsBeta(*attributes->GetBool(4));
    const uint64_t sums = tiling.get_groups() * tiling.get_columns() * tiling.get_parts();
    return Launch(context, tiling, VectorCores(context), 2 * sums * sizeof(float));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape none({0});
    *context->GetOutputShape(0) = *context->GetInputShape(3);
    *context->GetOutputShape(1) = *context->GetAttrs()->GetBool(3) ? *context->GetInputShape(4) : none;
    *context->GetOutputShape(2) = *context->GetAttrs()->GetBool(4) ? *context->GetInputShape(4) : none;
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(3));
    context->SetOutputDataType(1, context->GetInputDataType(4));
    context->SetOutputDataType(2, context->GetInputDataType(4));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class GroupNormSwishGrad : public OpDef {
  public:
    explicit GroupNormSwishGrad(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        for (const char* tensor : {"dy", "mean", "rstd", "x", "gamma", "beta"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        for (const char* tensor : {"dx", "dgamma", "dbeta"}) {
            this->Output(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        this->Attr("num_groups").AttrType(REQUIRED).Int();
        this->Attr("data_format").AttrType(OPTIONAL).String("NCHW");
        this->Attr("swish_scale").AttrType(OPTIONAL).Float(1.0);
        this->Attr("dgamma_is_require").AttrType(OPTIONAL).Bool(true);
        this->Attr("dbeta_is_require").AttrType(OPTIONAL).Bool(true);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(GroupNormSwishGrad);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
