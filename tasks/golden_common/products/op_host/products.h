// How the tiling functions of the golden operators that multiply matrices ask the library how to cut the work.
#ifndef PRODUCTS_H
#define PRODUCTS_H
#include "work_split.h"
#include "tiling/tiling_api.h"

namespace optiling {
// [m, k] times [k, n], or [k, m] if a and [n, k] if b is turned; both row-major and of one type.
struct Product {
    int64_t m, n, k;
    matmul_tiling::DataType type;
    matmul_tiling::DataType result;
    bool bias = false;  // of the type of the matrices
    bool turned = false;
    bool leftTurned = false;
    int64_t blocks = 0;  // base blocks, one below the other; 0: what the library thinks best
};

inline uint32_t CubeCores(gert::TilingContext* context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAic();
}

// One rectangle of the result for each of at most `cores` callers, and base blocks inside of it. False if none fit.
inline bool CutProduct(gert::TilingContext* context, const Product& product, uint32_t cores, TCubeTiling& tiling) {
    using namespace matmul_tiling;
    const int32_t m = product.m, n = product.n, k = product.k;
    MultiCoreMatmulTiling search(platform_ascendc::PlatformAscendC(context->GetPlatformInfo()));
    search.SetDim(cores);
    search.SetAType(TPosition::GM, CubeFormat::ND, product.type, product.leftTurned);
    search.SetBType(TPosition::GM, CubeFormat::ND, product.type, product.turned);
    search.SetCType(TPosition::GM, CubeFormat::ND, product.result);
    if (product.bias) {
        search.SetBiasType(TPosition::GM, CubeFormat::ND, product.type);
        search.EnableBias(true);
    }
    search.SetOrgShape(m, n, k);
    search.SetShape(m, n, k);
    if (product.blocks > 0) {
        search.SetFixSplit(CeilDiv(m, 16 * product.blocks) * 16, n, -1);
    }
    search.SetBufferSpace(-1, -1, -1);
    return search.GetTiling(tiling) != -1;
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
