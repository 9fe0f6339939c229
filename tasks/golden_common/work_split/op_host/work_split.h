// How the tiling functions of the golden operators divide work among the vector cores.
#ifndef WORK_SPLIT_H
#define WORK_SPLIT_H
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
inline uint64_t CeilDiv(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

inline uint64_t VectorCores(gert::TilingContext* context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
}

struct Shares {
    uint64_t share;   // items of each core; the last one may have fewer
    uint32_t blocks;  // cores that have any, at least one
};

// Equal shares of whole granules. Items that make less than a granule for every core are left to fewer cores.
inline Shares Divide(uint64_t items, uint64_t granule, uint64_t cores) {
    const uint64_t granules = items == 0 ? 1 : CeilDiv(items, granule);
    const uint64_t share = CeilDiv(granules, cores);
    return {share * granule, static_cast<uint32_t>(CeilDiv(granules, share))};
}

// Elements in the 512 bytes in which global memory is served best.
inline uint64_t GranuleOf(gert::TilingContext* context, size_t input) {
    return 512 / ge::GetSizeByDataType(context->GetInputDesc(input)->GetDataType());
}

template <typename TilingData>
ge::graphStatus Launch(gert::TilingContext* context, TilingData& tiling, uint32_t blocks, uint64_t workspaceBytes = 0) {
    gert::TilingData* raw = context->GetRawTilingData();
    tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());
    raw->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(blocks);
    const uint64_t system = platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetLibApiWorkSpaceSize();
    context->GetWorkspaceSizes(1)[0] = system + workspaceBytes;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
