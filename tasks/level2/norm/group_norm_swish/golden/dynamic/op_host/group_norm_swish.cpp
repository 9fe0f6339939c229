// GroupNormSwish on the host: tiling, shapes and types, definition.
#include "group_norm_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(GroupNormSwish, GroupNormTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::RuntimeAttrs* attributes = context->GetAttrs();
    GroupNormTilingData tiling;
    const Footprint footprint{25, 32, 16, true, 0, 64};
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    uint32_t blocks = CutGroups(context, x, *attributes->GetInt(0), footprint, tiling);
    constexpr uint64_t LONG = 512, MOST_CHANNELS = 2048;
    if (tiling.get_spatial() >= LONG && tiling.get_depth() <= MOST_CHANNELS) {
        tiling.set_longChannels(1);
        const uint64_t items = tiling.get_samples() * tiling.get_groups(), cores = VectorCores(context);
        const uint64_t parts = items == 0 ? 1 : std::min(cores / items, tiling.get_depth());
        tiling.set_parts(std::max<uint64_t>(1, parts));
        blocks = std::max<uint64_t>(1, std::min(cores, items * tiling.get_parts()));
    }
    tiling.set_epsilon(*attributes->GetFloat(2));
    tiling.set_activates(*attributes->GetBool(3));
    tiling.set_swishScale(*attributes->GetFloat(4));
    return Launch(context, tiling, blocks);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& x = *context->GetInputShape(0);
    *context->GetOutputShape(0) = x;
    *context->GetOutputShape(1) = gert::Shape({x.GetDim(0), *context->GetAttrs()->GetInt(0)});
    *context->GetOutputShape(2) = *context->GetOutputShape(1);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    context->SetOutputDataType(1, context->GetInputDataType(1));
    context->SetOutputDataType(2, context->GetInputDataType(1));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class GroupNormSwish : public OpDef {
  public:
    explicit GroupNormSwish(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT16,
                                                 ge::DT_BF16};
        const std::vector<ge::DataType> weights = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT,
                                                   ge::DT_FLOAT};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("gamma").ParamType(REQUIRED).DataType(weights).Format(formats);
        this->Input("beta").ParamType(REQUIRED).DataType(weights).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("mean").ParamType(REQUIRED).DataType(weights).Format(formats);
        this->Output("rstd").ParamType(REQUIRED).DataType(weights).Format(formats);
        this->Attr("num_groups").AttrType(REQUIRED).Int();
        this->Attr("data_format").AttrType(OPTIONAL).String("NCHW");
        this->Attr("eps").AttrType(OPTIONAL).Float(1.0e-5);
        this->Attr("activate_swish").AttrType(OPTIONAL).Bool(true);
        this->Attr("swish_scale").AttrType(OPTIONAL).Float(1.0);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(GroupNormSwish);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
