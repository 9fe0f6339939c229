#include "maximum_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    const uint64_t bytes = context->GetInputDesc(0)->GetDataType() == ge::DT_FLOAT ? 4 : 2;
    const uint64_t perBlock = 32 / bytes;
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    const uint64_t blocks = (total + perBlock - 1) / perBlock;
    const uint64_t cores = platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
    const uint64_t share = blocks == 0 ? 1 : (blocks + cores - 1) / cores;

    MaximumTilingData tiling;
    tiling.set_total(total);
    tiling.set_perCore(share * perBlock);
    tiling.set_tile(16384 / bytes);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(blocks == 0 ? 1 : (blocks + share - 1) / share);  // no core without work
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context)
{
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context)
{
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Maximum : public OpDef {
public:
    explicit Maximum(const char* name) : OpDef(name)
    {
        // entry i of every list together is one supported combination
        const std::vector<ge::DataType> types{ge::DT_FLOAT16, ge::DT_FLOAT};
        const std::vector<ge::Format> formats{ge::FORMAT_ND, ge::FORMAT_ND};
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("z").ParamType(REQUIRED).DataType(types).Format(formats);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Maximum);
}  // namespace ops
