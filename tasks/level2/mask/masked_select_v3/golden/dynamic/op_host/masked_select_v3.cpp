// MaskedSelectV3 on the host: tiling, shapes and types, definition.
#include "masked_select_v3_tiling.h"
#include "work_split.h"

namespace optiling {
// Where a core writes to depends on what those before it have found: all cores meet. A few tiles are left to one core,
// which is done before they have met.
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint64_t GRANULE = 512;  // elements, which are granules of the mask
    const uint32_t tile = GranuleOf(context, 0) == 64 ? 2048 : 4096;
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize(), cores = VectorCores(context);
    const bool alone = total <= 4 * tile;
    const Shares shares = Divide(total, GRANULE, alone ? 1 : cores);

    MaskedSelectV3TilingData tiling;
    tiling.set_total(total);
    tiling.set_share(shares.share);
    tiling.set_tile(tile);
    return Launch(context, tiling, alone ? 1 : cores, cores * 32);
}
}  // namespace optiling

namespace ge {
// Only the kernel knows how many elements are chosen.
static graphStatus InferShape(gert::InferShapeContext* context) {
    gert::Shape* y = context->GetOutputShape(0);
    y->SetDimNum(1);
    y->SetDim(0, -1);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class MaskedSelectV3 : public OpDef {
  public:
    explicit MaskedSelectV3(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {
            ge::DT_BOOL,   ge::DT_INT8,  ge::DT_UINT8, ge::DT_FLOAT16, ge::DT_BF16,   ge::DT_INT16, ge::DT_UINT16,
            ge::DT_FLOAT,  ge::DT_INT32, ge::DT_UINT32, ge::DT_UINT64, ge::DT_INT64, ge::DT_DOUBLE};
        const std::vector<ge::DataType> booleans(types.size(), ge::DT_BOOL);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("mask").ParamType(REQUIRED).DataType(booleans).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats).OutputShapeDependOnCompute();
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(MaskedSelectV3);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
