// ForeachAddScalar on the host: tiling, shapes and types, definition.
//
// The kernel is given the number of elements of every tensor; how many cores it is worth follows from their sum.
#include "foreach_add_scalar_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static uint64_t BytesOf(ge::DataType type) {
    return type == ge::DT_FLOAT || type == ge::DT_INT32 ? 4 : 2;
}

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t bytes = BytesOf(context->GetInputDesc(0)->GetDataType());
    const uint64_t granule = 512 / bytes;
    uint64_t sizes[MOST_TENSORS] = {};
    uint32_t count = 0;
    uint64_t granules = 0;
    while (const gert::Tensor* tensor = context->GetDynamicInputTensor(0, count)) {
        if (count == MOST_TENSORS) {
            return ge::GRAPH_FAILED;  // the list is longer than the kernel's table
        }
        sizes[count] = tensor->GetShapeSize();
        granules += (sizes[count] + granule - 1) / granule;
        ++count;
    }
    const uint64_t cores = platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();

    ForeachAddScalarTilingData tiling;
    tiling.set_count(count);
    tiling.set_tile(16384 / bytes);
    tiling.set_sizes(sizes);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(granules == 0 ? 1 : granules < cores ? granules : cores);
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const size_t count = context->GetComputeNodeOutputNum();
    for (size_t index = 0; index < count; ++index) {
        *context->GetOutputShape(index) = *context->GetDynamicInputShape(0, index);
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    const size_t count = context->GetComputeNodeOutputNum();
    for (size_t index = 0; index < count; ++index) {
        context->SetOutputDataType(index, context->GetDynamicInputDataType(0, index));
    }
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class ForeachAddScalar : public OpDef {
  public:
    explicit ForeachAddScalar(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT32, ge::DT_BF16};
        const std::vector<ge::DataType> scalars = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT32, ge::DT_FLOAT};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->Input("scalar").ParamType(REQUIRED).DataType(scalars).Format(formats);
        this->Output("y").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ForeachAddScalar);
}  // namespace ops
