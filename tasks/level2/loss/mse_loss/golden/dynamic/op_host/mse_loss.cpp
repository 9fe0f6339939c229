// MseLoss on the host: tiling, shapes and types, definition.
#include <cstring>

#include "mse_loss_tiling.h"
#include "work_split.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint32_t TILE = 4096;
    const char* reduction = context->GetAttrs()->GetStr(0);
    const bool none = std::strcmp(reduction, "none") == 0;
    const bool mean = std::strcmp(reduction, "mean") == 0;
    if (!none && !mean && std::strcmp(reduction, "sum") != 0) {
        return ge::GRAPH_FAILED;
    }
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    // To wait for each other costs the cores more than a tensor of few tiles costs one of them.
    const uint64_t cores = VectorCores(context);
    const bool alone = !none && total <= 4 * TILE;
    const Shares shares = Divide(total, GranuleOf(context, 0), alone ? 1 : cores);
    const uint32_t blocks = none ? shares.blocks : cores;  // those that have nothing to add are waited for, too

    MseLossTilingData tiling;
    tiling.set_total(total);
    tiling.set_share(shares.share);
    tiling.set_tile(TILE);
    tiling.set_factor(mean ? 1.0 / total : 1.0);
    context->SetTilingKey(none ? 0 : 1);
    return Launch(context, tiling, blocks, blocks * 32);  // a block of 32 bytes for the sum of each core
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const char* reduction = context->GetAttrs()->GetStr(0);
    if (std::strcmp(reduction, "none") == 0) {
        *context->GetOutputShape(0) = *context->GetInputShape(0);
    } else {
        context->GetOutputShape(0)->SetDimNum(0);
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class MseLoss : public OpDef {
  public:
    explicit MseLoss(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("predict").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("label").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("reduction").AttrType(OPTIONAL).String("mean");
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(MseLoss);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
