// What the tiling classes of matrix multiplication were told, and what they answer; the search is in matmul_search.cpp.
#include "call.h"

namespace matmul_tiling {
namespace {

constexpr int32_t kFailed = -1;

int32_t Told(npukb_host::Extent& extent, int32_t m, int32_t n, int32_t k) {
    if (m < -1 || n < -1 || k < -1) return kFailed;
    extent = {m, n, k};
    return 0;
}

int32_t Layout(int32_t (&layout)[5], int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    if (b < 1 || s < 1 || n < 1 || g < 1 || d < 1) return kFailed;
    int32_t values[5] = {b, s, n, g, d};
    std::copy(values, values + 5, layout);
    return 0;
}

}  // namespace

MatmulApiTilingBase::MatmulApiTilingBase() {
    const auto& chip = npukb_host::ThePlatform();
    problem_.l1 = static_cast<int64_t>(chip.l1_bytes);
    problem_.l0a = static_cast<int64_t>(chip.l0a_bytes);
    problem_.l0b = static_cast<int64_t>(chip.l0b_bytes);
    problem_.l0c = static_cast<int64_t>(chip.l0c_bytes);
    problem_.bias_table = static_cast<int64_t>(chip.bt_bytes);
}

MatmulApiTilingBase::MatmulApiTilingBase(const platform_ascendc::PlatformAscendC&) : MatmulApiTilingBase() {}

MatmulApiTilingBase::MatmulApiTilingBase(const PlatformInfo& platform) : MatmulApiTilingBase() {
    problem_.l1 = static_cast<int64_t>(platform.l1Size);
    problem_.l0a = static_cast<int64_t>(platform.l0ASize);
    problem_.l0b = static_cast<int64_t>(platform.l0BSize);
    problem_.l0c = static_cast<int64_t>(platform.l0CSize);
}

int32_t MatmulApiTilingBase::Put(npukb_host::Matrix& matrix, TPosition position, CubeFormat format, DataType type,
                                 bool transposed) {
    matrix = {position, format, type, transposed};
    return 0;
}

int32_t MatmulApiTilingBase::SetShape(int32_t m, int32_t n, int32_t k) { return Told(problem_.shape, m, n, k); }

int32_t MatmulApiTilingBase::SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }

int32_t MatmulApiTilingBase::SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) {
    problem_.org_kb = kb;
    return Told(problem_.org, m, n, ka);
}

int32_t MatmulApiTilingBase::SetSingleShape(int32_t m, int32_t n, int32_t k) { return Told(problem_.single, m, n, k); }
int32_t MatmulApiTilingBase::SetFixSplit(int32_t m, int32_t n, int32_t k) { return Told(problem_.fixed_base, m, n, k); }

int32_t MatmulApiTilingBase::SetBias(bool has_bias) {
    problem_.has_bias = has_bias;
    return 0;
}

int32_t MatmulApiTilingBase::SetBufferSpace(int32_t l1, int32_t l0c, int32_t, int32_t bias_table) {
    const MatmulApiTilingBase whole;
    auto choose = [](int32_t told, int64_t most) { return told < 0 ? most : std::min<int64_t>(told, most); };
    problem_.l1 = choose(l1, whole.problem_.l1);
    problem_.l0c = choose(l0c, whole.problem_.l0c);
    problem_.bias_table = choose(bias_table, whole.problem_.bias_table);
    return 0;
}

int32_t MatmulApiTilingBase::SetTraverse(MatrixTraverse traverse) {
    problem_.order = traverse;
    return 0;
}

int32_t MatmulApiTilingBase::SetMadType(MatrixMadType type) {
    if (type == MatrixMadType::HF32 && (problem_.a.type != DataType::DT_FLOAT || problem_.b.type != DataType::DT_FLOAT))
        return kFailed;
    problem_.hf32 = type == MatrixMadType::HF32;
    return 0;
}

int32_t MatmulApiTilingBase::SetSplitRange(int32_t most_m, int32_t most_n, int32_t most_k, int32_t least_m,
                                           int32_t least_n, int32_t least_k) {
    return Told(problem_.most_base, most_m, most_n, most_k) == 0 ? Told(problem_.least_base, least_m, least_n, least_k)
                                                                 : kFailed;
}

int32_t MatmulApiTilingBase::SetDoubleBuffer(bool a, bool b, bool, bool, bool, bool) {
    problem_.double_a = a;
    problem_.double_b = b;
    return 0;
}

int32_t MatmulApiTilingBase::SetDequantType(DequantType) { return 0; }

int32_t MatmulApiTilingBase::SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    return Layout(problem_.layout_a, b, s, n, g, d);
}
int32_t MatmulApiTilingBase::SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    return Layout(problem_.layout_b, b, s, n, g, d);
}
int32_t MatmulApiTilingBase::SetCLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    return Layout(problem_.layout_c, b, s, n, g, d);
}

int32_t MatmulApiTilingBase::SetBatchNum(int32_t batch) {
    if (batch < 1) return kFailed;
    problem_.batches = batch;
    return 0;
}

int32_t MatmulApiTilingBase::SetBatchInfoForNormal(int32_t batch_a, int32_t batch_b, int32_t m, int32_t n, int32_t k) {
    if (batch_a < 1 || batch_b < 1) return kFailed;
    problem_.batches = std::max(batch_a, batch_b);
    bool fine = Layout(problem_.layout_a, batch_a, m, 1, 1, k) == 0 &&
                Layout(problem_.layout_b, batch_b, n, 1, 1, k) == 0 &&
                Layout(problem_.layout_c, problem_.batches, m, 1, 1, n) == 0;
    return fine ? 0 : kFailed;
}

void MatmulApiTilingBase::SetMatmulConfigParams(int32_t, bool, ScheduleType, MatrixTraverse traverse, bool) {
    if (traverse != MatrixTraverse::NOSET) problem_.order = traverse;
}
void MatmulApiTilingBase::SetMatmulConfigParams(const MatmulConfigParams& params) {
    SetMatmulConfigParams(params.mmConfigType, params.enableL1CacheUB, params.scheduleType, params.traverse,
                          params.enVecND2NZ);
}

int64_t MatmulApiTilingBase::GetTiling(optiling::TCubeTiling& tiling) {
    if (!npukb_host::SolveMatmul(problem_, cut_)) return kFailed;
    npukb_host::Put(tiling, cut_.tiling);
    return 0;
}

int64_t MatmulApiTilingBase::GetTiling(AscendC::tiling::TCubeTiling& tiling) {
    if (!npukb_host::SolveMatmul(problem_, cut_)) return kFailed;
    tiling = cut_.tiling;
    return 0;
}

int32_t MultiCoreMatmulTiling::SetDim(int32_t dim) {
    if (dim < 1) return kFailed;
    problem_.cores = dim;
    return 0;
}

int32_t MultiCoreMatmulTiling::SetSingleRange(int32_t most_m, int32_t most_n, int32_t most_k, int32_t least_m,
                                              int32_t least_n, int32_t least_k) {
    return Told(problem_.most_single, most_m, most_n, most_k) == 0
               ? Told(problem_.least_single, least_m, least_n, least_k)
               : kFailed;
}

int32_t MultiCoreMatmulTiling::SetAlignSplit(int32_t m, int32_t n, int32_t k) { return Told(problem_.align, m, n, k); }

int32_t MultiCoreMatmulTiling::GetSingleShape(int32_t& m, int32_t& n, int32_t& k) {
    m = cut_.tiling.singleCoreM, n = cut_.tiling.singleCoreN, k = cut_.tiling.singleCoreK;
    return m > 0 ? 0 : kFailed;
}

int32_t MultiCoreMatmulTiling::GetCoreNum(int32_t& dim, int32_t& m, int32_t& n) {
    dim = cut_.tiling.usedCoreNum, m = cut_.m_cores, n = cut_.n_cores;
    return dim > 0 ? 0 : kFailed;
}

int32_t BatchMatmulTiling::GetCoreNum(int32_t& dim, int32_t& m, int32_t& n, int32_t& batch_m, int32_t& batch_n) {
    dim = cut_.tiling.usedCoreNum, m = cut_.m_cores, n = cut_.n_cores, batch_m = batch_n = 1;
    return dim > 0 ? 0 : kFailed;
}

}  // namespace matmul_tiling

namespace npukb_host {

AscendC::tiling::TCubeTiling PlainCube(const optiling::TCubeTiling& tiling) {
    AscendC::tiling::TCubeTiling plain;
    optiling::TCubeTiling copy(tiling);
    copy.SaveToBuffer(&plain, sizeof plain);
    return plain;
}

}  // namespace npukb_host
