// The host side that all Foreach operators share: tiling, shapes and types. An operator adds its definition.
//
// LIST is the position of the first list among the operator's inputs. All other lists look like it.
#ifndef FOREACH_TILING_H
#define FOREACH_TILING_H
#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
constexpr uint32_t MOST_TENSORS = 50;  // as many as the interface promises

BEGIN_TILING_DATA_DEF(ForeachTilingData)
TILING_DATA_FIELD_DEF(uint32_t, count);                    // tensors in a list
TILING_DATA_FIELD_DEF_ARR(uint32_t, MOST_TENSORS, sizes);  // elements of each; every core reads all of it first
END_TILING_DATA_DEF;

// The kernel gets the sizes of all tensors and cuts them up itself; a launch has no more cores than there are granules
// of 512 bytes.
template <size_t LIST>
ge::graphStatus ForeachTiling(gert::TilingContext* context) {
    uint32_t sizes[MOST_TENSORS] = {};
    uint32_t count = 0;
    uint64_t granules = 0;
    while (const gert::Tensor* tensor = context->GetDynamicInputTensor(LIST, count)) {
        if (count == MOST_TENSORS || tensor->GetShapeSize() > UINT32_MAX) {
            return ge::GRAPH_FAILED;  // more than the kernel's table has room for
        }
        sizes[count] = tensor->GetShapeSize();
        const uint64_t granule = 512 / ge::GetSizeByDataType(tensor->GetDataType());
        granules += (sizes[count] + granule - 1) / granule;
        ++count;
    }
    const uint64_t cores = platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();

    ForeachTilingData tiling;
    tiling.set_count(count);
    tiling.set_sizes(sizes);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(granules == 0 ? 1 : granules < cores ? granules : cores);
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
template <size_t LIST>
graphStatus ForeachInferShape(gert::InferShapeContext* context) {
    for (size_t k = 0; k < context->GetComputeNodeOutputNum(); ++k) {
        *context->GetOutputShape(k) = *context->GetDynamicInputShape(LIST, k);
    }
    return GRAPH_SUCCESS;
}

template <size_t LIST>
graphStatus ForeachInferDataType(gert::InferDataTypeContext* context) {
    for (size_t k = 0; k < context->GetComputeNodeOutputNum(); ++k) {
        context->SetOutputDataType(k, context->GetDynamicInputDataType(LIST, k));
    }
    return GRAPH_SUCCESS;
}
}  // namespace ge
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
