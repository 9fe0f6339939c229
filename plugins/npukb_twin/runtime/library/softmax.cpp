// The SoftMax family, row by row in float. Padding columns take part in what is done per element, not in sums and
// maxima.
#include "../../include/twin/library/softmax.h"
#include "library/rows.h"
#include "semantics/real.h"

namespace twin {
namespace {

using AscendC::SoftmaxConfig;
using AscendC::SoftMaxShapeInfo;
using npukb::BufferView;
using npukb::DType;
using npukb::SoftMaxKind;

constexpr int64_t kFractal = 16;        // columns of a fractal in the NZ format
constexpr uint64_t kLeastScratch = 64;  // the part of what the host asks for that does not depend on the shape

struct Form {
    int64_t m;
    int64_t k;
    int64_t reduced;  // columns that count
    bool nz;
    bool narrow;  // statistics are one value per row instead of a block
    uint32_t value_bytes;
    uint32_t stat_bytes;
};

const char* const kNames[] = {"SoftMax", "SimpleSoftMax", "SoftmaxFlash", "SoftmaxFlashV2", "LogSoftMax"};

// Shape from the call, from constants of the configuration, or else from the tiling.
Form FormOf(const Library& call, uint32_t code, const SoftMaxShapeInfo* shape, const SoftMaxTiling* tiling,
            const SoftmaxConfig* config) {
    Form f{};
    f.value_bytes = (code >> 16) & 15;
    f.stat_bytes = (code >> 20) & 15;
    f.nz = (code & npukb::kSoftMaxNz) != 0;
    f.narrow = (code & npukb::kSoftMaxNarrow) != 0;
    f.m = shape->srcM;
    f.k = shape->srcK;
    f.reduced = shape->oriSrcK;
    if (config != nullptr && config->oriSrcM != 0 && config->oriSrcK != 0) {
        int64_t per_block = 32 / f.value_bytes;
        f.reduced = config->oriSrcK;
        if (f.m == 0) f.m = config->oriSrcM;
        if (f.k == 0) f.k = (f.reduced + per_block - 1) / per_block * per_block;
    }
    if (f.m == 0 || f.k == 0) {
        f.m = tiling != nullptr ? tiling->srcM : 0;
        f.k = tiling != nullptr ? tiling->srcK : 0;
    }
    if (f.reduced == 0) f.reduced = f.k;
    Core& core = call.core();
    if (f.m == 0 || f.k == 0 || f.reduced > f.k) {
        core.Violate("bad_shape", call.pc(), "Give the shape as SoftMaxShapeInfo{srcM, srcK, oriSrcM, oriSrcK}.",
                     "%s: the shape is %lld rows of %lld elements, %lld of which count", call.name(),
                     static_cast<long long>(f.m), static_cast<long long>(f.k), static_cast<long long>(f.reduced));
    }
    CheckRow(call, f.k, f.value_bytes, "srcK");
    bool basic = (code & npukb::kSoftMaxBasic) != 0 && (config == nullptr || config->oriSrcM == 0);
    if (basic && (f.k >= 2048 || f.k < 256 / f.value_bytes || f.k % 64 != 0 || f.m % 8 != 0)) {
        core.Violate(
            "bad_shape", call.pc(), "Leave isBasicBlock at false.",
            "%s: %lld rows of %lld elements are no basic block (rows a multiple of 8, row length a multiple of 64, "
            "from 256 bytes to 2047 elements)",
            call.name(), static_cast<long long>(f.m), static_cast<long long>(f.k));
    }
    if (f.nz && f.k % kFractal != 0) {
        core.Violate("bad_shape", call.pc(), "Pad rows to whole fractals.",
                     "%s: srcK is %lld; NZ needs a multiple of 16", call.name(), static_cast<long long>(f.k));
    }
    return f;
}

template <typename V>
void Load(const Form& f, float* row, const V* src, int64_t r) {
    if (!f.nz) return LoadRow(row, src + r * f.k, f.k);
    for (int64_t c = 0; c < f.k; c += kFractal) LoadRow(row + c, src + c * f.m + r * kFractal, kFractal);
}

template <typename V>
void Store(const Form& f, V* dst, const float* row, int64_t r) {
    if (!f.nz) return StoreRow(dst + r * f.k, row, f.k);
    for (int64_t c = 0; c < f.k; c += kFractal) StoreRow(dst + c * f.m + r * kFractal, row + c, kFractal);
}

// One statistic per row: a block of equal values, or one value.
template <typename S>
struct Statistic {
    S* data;
    int64_t per_row;
    float At(int64_t row) const { return ToFloat(data[row * per_row]); }
    void Set(int64_t row, float value) const {
        if (data == nullptr) return;
        for (int64_t i = 0; i < per_row; ++i) data[row * per_row + i] = static_cast<S>(value);
    }
};

template <typename S>
Statistic<S> StatisticOf(const Library& call, const Form& f, const BufferView* view, const char* role, bool write) {
    int64_t per_row = f.narrow ? 1 : 32 / static_cast<int64_t>(sizeof(S));
    if (view == nullptr) return {nullptr, per_row};
    if (write) return {call.Write<S>(view, Area(f.m, per_row), role), per_row};
    return {const_cast<S*>(call.Read<S>(view, Area(f.m, per_row), role)), per_row};
}

void ExpMinus(float* row, int64_t n, float max) {
    for (int64_t i = 0; i < n; ++i) row[i] = ExpFloat(row[i] - max);
}

void Divide(float* row, int64_t n, float by) {
    for (int64_t i = 0; i < n; ++i) row[i] = row[i] / by;
}

void LogOf(float* row, int64_t n) {
    for (int64_t i = 0; i < n; ++i) row[i] = static_cast<float>(real::Log10(row[i]));
}

template <typename V, typename S>
void Run(const Library& call, const Form& f, SoftMaxKind kind, bool update, const BufferView* const* t) {
    using namespace npukb;
    const V* src = call.Read<V>(t[kSoftMaxSrc], Area(f.m, f.k), "srcTensor");
    bool given = kind == SoftMaxKind::Simple;
    bool flash = kind == SoftMaxKind::Flash || kind == SoftMaxKind::FlashV2;
    update = update && flash;
    auto in_sum = StatisticOf<S>(call, f,
                                 given    ? t[kSoftMaxSum]
                                 : update ? t[kSoftMaxInSum]
                                          : nullptr,
                                 "inSumTensor", false);
    auto in_max = StatisticOf<S>(call, f,
                                 given    ? t[kSoftMaxMax]
                                 : update ? t[kSoftMaxInMax]
                                          : nullptr,
                                 "inMaxTensor", false);
    auto out_sum = StatisticOf<S>(call, f, given ? nullptr : t[kSoftMaxSum], "sumTensor", true);
    auto out_max = StatisticOf<S>(call, f, given ? nullptr : t[kSoftMaxMax], "maxTensor", true);
    auto exp_max = StatisticOf<V>(call, f, update ? t[kSoftMaxExpMax] : nullptr, "expMaxTensor", true);
    auto own_max = StatisticOf<S>(call, f, update ? t[kSoftMaxReduceMax] : nullptr, "outReduceMax", true);
    V* dst = call.Write<V>(t[kSoftMaxDst], Area(f.m, f.k), "dstTensor");
    Rows rows(f.k);
    float* row = rows[0];
    for (int64_t r = 0; r < f.m; ++r) {
        Load(f, row, src, r);
        if (given) {
            float sum = in_sum.At(r);
            ExpMinus(row, f.k, in_max.At(r));
            Divide(row, f.k, sum);
            Store(f, dst, row, r);
            continue;
        }
        float max = RowMax(row, f.reduced);
        own_max.Set(r, max);
        float old_sum = 0, old_max = 0;
        if (update) {
            old_sum = in_sum.At(r);
            old_max = in_max.At(r);
            max = old_max > max || old_max != old_max ? old_max : max;
        }
        ExpMinus(row, f.k, max);
        float sum = RowSum(row, f.reduced);
        float scale = update ? ExpFloat(old_max - max) : 0;
        if (update) sum = scale * old_sum + sum;
        if (kind == SoftMaxKind::Flash && update) scale = scale * old_sum / sum;
        if (kind != SoftMaxKind::FlashV2) Divide(row, f.k, sum);
        if (kind == SoftMaxKind::Log) LogOf(row, f.k);
        exp_max.Set(r, scale);
        out_max.Set(r, max);
        out_sum.Set(r, sum);
        Store(f, dst, row, r);
    }
}

template <typename T>
void RunGrad(const Library& call, const Form& f, bool front, const BufferView* dst, const BufferView* grad,
             const BufferView* src) {
    const T* g = call.Read<T>(grad, Area(f.m, f.k), "gradTensor");
    const T* x = call.Read<T>(src, Area(f.m, f.k), "srcTensor");
    auto narrow = StatisticOf<T>(call, f, front ? dst : nullptr, "dstTensor", true);
    T* full = front ? nullptr : call.Write<T>(dst, Area(f.m, f.k), "dstTensor");
    Rows rows(f.k, 3);
    float* grad_row = rows[0];
    float* src_row = rows[1];
    float* product = rows[2];
    for (int64_t r = 0; r < f.m; ++r) {
        Load(f, grad_row, g, r);
        Load(f, src_row, x, r);
        for (int64_t i = 0; i < f.k; ++i) product[i] = grad_row[i] * src_row[i];
        float sum = RowSum(product, f.reduced);
        if (front) {
            narrow.Set(r, sum);
            continue;
        }
        for (int64_t i = 0; i < f.k; ++i) product[i] = (grad_row[i] - sum) * src_row[i];
        Store(f, full, product, r);
    }
}

template <typename V, typename S>
bool RunAdjust(const Library& call, const Form& f, bool each, const BufferView* result, const BufferView* max,
               uint32_t from, const void* to) {
    V* values = call.Write<V>(result, Area(f.m, f.k), "softMaxRes");
    int64_t per_row = each ? 1 : 32 / static_cast<int64_t>(sizeof(S));
    const S* maxima = call.Read<S>(max, Area(f.m, per_row), "maxTensor");
    V value;
    memcpy(&value, to, sizeof value);
    bool any = false;
    for (int64_t r = 0; r < f.m; ++r) {
        if (memcmp(maxima + r * per_row, &from, sizeof(S)) != 0) continue;
        any = true;
        for (int64_t c = 0; c < f.k; ++c) {
            values[f.nz ? (c / kFractal * f.m + r) * kFractal + c % kFractal : r * f.k + c] = value;
        }
    }
    return any;
}

}  // namespace
}  // namespace twin

using namespace twin;

extern "C" {

void npukb_softmax(uint32_t code, const npukb::BufferView* const* tensors, const AscendC::SoftMaxShapeInfo* shape,
                   const SoftMaxTiling* tiling, const AscendC::SoftmaxConfig* config) {
    auto kind = static_cast<npukb::SoftMaxKind>(code & 0xff);
    Library call(kNames[(code & 0xff) % (sizeof kNames / sizeof *kNames)], NPUKB_PC);
    Form f = FormOf(call, code, shape, tiling, config);
    bool update = (code & npukb::kSoftMaxUpdate) != 0;
    call.Scratch(tensors[npukb::kSoftMaxTmp], kLeastScratch);
    if (f.value_bytes == 4)
        Run<float, float>(call, f, kind, update, tensors);
    else if (f.stat_bytes == 4)
        Run<half, float>(call, f, kind, update, tensors);
    else
        Run<half, half>(call, f, kind, update, tensors);
    double passes = kind == npukb::SoftMaxKind::Simple ? 5 : 9;
    call.Charge(npukb::DType::F32, f.m * f.k, passes + (f.value_bytes == 2 ? 2 : 0));
}

void npukb_softmax_grad(uint32_t code, uint32_t front, const npukb::BufferView* dst, const npukb::BufferView* grad,
                        const npukb::BufferView* src, const npukb::BufferView* tmp,
                        const AscendC::SoftMaxShapeInfo* shape, const SoftMaxTiling* tiling) {
    Library call(front == 2 ? "SoftmaxGradFront" : "SoftmaxGrad", NPUKB_PC);
    Form f = FormOf(call, code, shape, tiling, nullptr);
    call.Scratch(tmp, kLeastScratch);
    if (f.value_bytes == 4)
        RunGrad<float>(call, f, front != 0, dst, grad, src);
    else
        RunGrad<half>(call, f, front != 0, dst, grad, src);
    call.Charge(npukb::DType::F32, f.m * f.k, (front ? 3 : 6) + (f.value_bytes == 2 ? 3 : 0));
}

uint32_t npukb_softmax_adjust(uint32_t code, uint32_t each, const npukb::BufferView* result,
                              const npukb::BufferView* max, uint32_t from, const void* to,
                              const AscendC::SoftMaxShapeInfo* shape) {
    Library call("AdjustSoftMaxRes", NPUKB_PC);
    Form f = FormOf(call, code, shape, nullptr, nullptr);
    call.core().time.Scalar(call.core().launch->machine.scalar_access_cycles * static_cast<double>(f.m));
    if (f.value_bytes == 4) {
        return f.stat_bytes == 4 ? RunAdjust<float, float>(call, f, each, result, max, from, to)
                                 : RunAdjust<float, half>(call, f, each, result, max, from, to);
    }
    return f.stat_bytes == 4 ? RunAdjust<half, float>(call, f, each, result, max, from, to)
                             : RunAdjust<half, half>(call, f, each, result, max, from, to);
}

}  // extern "C"
