// ForeachNorm on the host: workspace, shapes and the definition. Tiling and types are those of all Foreach operators.
#include "foreach_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(ForeachNorm, ForeachTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    if (ForeachTiling<0>(context) != ge::GRAPH_SUCCESS) {
        return ge::GRAPH_FAILED;
    }
    // All cores: one that has no share of any tensor still finishes some. Every core leaves a float for each tensor, in
    // whole blocks.
    const auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    const uint64_t cores = platform.GetCoreNumAiv();
    context->SetBlockDim(cores);
    constexpr uint32_t ROW = (MOST_TENSORS + 7) / 8 * 8;
    context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize() + cores * ROW * sizeof(float);
    context->SetScheduleMode(1);  // cores that wait for each other start together
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    for (size_t k = 0; k < context->GetComputeNodeOutputNum(); ++k) {
        context->GetOutputShape(k)->SetDimNum(0);
    }
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class ForeachNorm : public OpDef {
  public:
    explicit ForeachNorm(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16,
                                                 ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16};
        const std::vector<ge::DataType> scalars = {ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                                                   ge::DT_INT64, ge::DT_INT64, ge::DT_INT64};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->Input("scalar").ParamType(REQUIRED).DataType(scalars).Format(formats);
        this->Output("y").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::ForeachInferDataType<0>);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ForeachNorm);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
