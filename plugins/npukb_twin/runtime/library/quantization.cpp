// Quantisation, with the roundings the documentation shows: half arithmetic towards int8_t, float arithmetic from
// int32_t.
#include "../../include/twin/library/quantization.h"
#include "library/rows.h"

namespace twin {
namespace {

using npukb::BufferView;
using npukb::DType;

// Nearest integer, ties to even, saturated; NaN is 0.
int8_t ToInt8(half x) {
    float value = __builtin_rintf(static_cast<float>(x));
    if (value != value) return 0;
    return static_cast<int8_t>(value > 127 ? 127 : value < -128 ? -128 : value);
}

template <typename T>
void RunQuant(const Library& call, const BufferView* dst, const BufferView* src, const BufferView* scales,
              const BufferView* offsets, float scale, float offset, int64_t channels, int64_t count) {
    const T* x = call.Read<T>(src, count, "srcTensor");
    const T* each_scale = scales ? call.Read<T>(scales, channels, "scaleTensor") : nullptr;
    const T* each_offset = offsets ? call.Read<T>(offsets, channels, "offsetTensor") : nullptr;
    int8_t* out = call.Write<int8_t>(dst, count, "dstTensor");
    for (int64_t i = 0; i < count; ++i) {
        half s = static_cast<half>(each_scale ? ToFloat(each_scale[i % channels]) : scale);
        half o = static_cast<half>(each_offset ? ToFloat(each_offset[i % channels]) : offset);
        half product = static_cast<half>(static_cast<half>(x[i]) * s);
        out[i] = ToInt8(static_cast<half>(product + o));
    }
}

float ScaleOf(const void* scales, DType type, int64_t i) {
    switch (type) {
        case DType::U64: return Bits<float>(static_cast<uint32_t>(static_cast<const uint64_t*>(scales)[i]));
        case DType::BF16: return ToFloat(static_cast<const bfloat16_t*>(scales)[i]);
        default: return static_cast<const float*>(scales)[i];
    }
}

const void* ReadScales(const Library& call, const BufferView* view, DType type, int64_t n) {
    switch (type) {
        case DType::U64: return call.Read<uint64_t>(view, n, "deqScale");
        case DType::BF16: return call.Read<bfloat16_t>(view, n, "deqScale");
        default: return call.Read<float>(view, n, "deqScale");
    }
}

struct DequantShape {
    int64_t rows, length, used;
};

template <typename D>
void RunDequant(const Library& call, const DequantShape& s, const BufferView* dst, const BufferView* src,
                const BufferView* scales, const void* scale, DType scale_type) {
    constexpr int64_t kPerBlock = 32 / sizeof(D);
    int64_t stride = (s.length + kPerBlock - 1) / kPerBlock * kPerBlock;
    const int32_t* x = call.Read<int32_t>(src, Area(s.rows, s.length), "srcTensor");
    const void* factors = scales ? ReadScales(call, scales, scale_type, s.used) : scale;
    D* out = call.Write<D>(dst, Area(s.rows, stride), "dstTensor");
    for (int64_t r = 0; r < s.rows; ++r) {
        for (int64_t i = 0; i < s.used; ++i) {
            float factor = ScaleOf(factors, scale_type, scales ? i : 0);
            out[r * stride + i] = static_cast<D>(static_cast<float>(x[r * s.length + i]) * factor);
        }
    }
}

// Scales or offsets of a group: one value, or a matrix of groups.
template <typename O>
struct Factors {
    const O* data;
    int64_t groups;
    bool single;
};

template <typename O>
Factors<O> FactorsOf(const Library& call, const BufferView* view, const void* scalar, int64_t n, int64_t k,
                     uint32_t given, const char* role) {
    if (view == nullptr) return {static_cast<const O*>(scalar), 1, true};
    int64_t groups = given != 0 ? given : view->bytes / static_cast<int64_t>(sizeof(O)) / n;
    if (groups == 0 || k % groups != 0) {
        call.core().Violate("bad_shape", call.pc(), "Give the shapes of offset and scale as AntiQuantShapeInfo.",
                            "AscendAntiQuant: %s has %lld groups for %lld elements", role,
                            static_cast<long long>(groups), static_cast<long long>(k));
    }
    return {call.Read<O>(view, Area(groups, n), role), groups, false};
}

half Scaled(float q, half offset, half scale) {
    return static_cast<half>(static_cast<half>(static_cast<half>(q) + offset) * scale);
}
bfloat16_t Scaled(float q, bfloat16_t offset, bfloat16_t scale) {
    return bfloat16_t((q + ToFloat(offset)) * ToFloat(scale));
}

template <typename O>
void RunAntiQuant(const Library& call, uint32_t flags, const BufferView* dst, const BufferView* src,
                  const BufferView* offsets, const BufferView* scales, const void* offset, const void* scale, int64_t k,
                  const AscendC::AntiQuantShapeInfo& shape) {
    bool packed = (flags & 1) != 0, transposed = (flags & 4) != 0;
    int64_t total = static_cast<int64_t>(src->bytes) * (packed ? 2 : 1);
    if (k == 0 || total % k != 0 || (transposed && k % (packed ? 64 : 32) != 0)) {
        call.core().Violate("bad_shape", call.pc(), "Let K divide the elements; transposed, pad it to whole blocks.",
                            "AscendAntiQuant: K is %lld for %lld elements", static_cast<long long>(k),
                            static_cast<long long>(total));
    }
    int64_t n = total / k;
    const O none = static_cast<O>(0.0f);
    bool has_offset = offsets != nullptr || offset != nullptr;
    auto s = FactorsOf<O>(call, scales, scale, n, k, transposed ? shape.scaleWidth : shape.scaleHeight, "scale");
    auto o = has_offset ? FactorsOf<O>(call, offsets, offset, n, k, transposed ? shape.offsetWidth : shape.offsetHeight,
                                       "offset")
                        : Factors<O>{&none, 1, true};
    const int8_t* x = call.Read<int8_t>(src, src->bytes, "src");
    O* out = call.Write<O>(dst, total, "dst");
    auto at = [&](const Factors<O>& f, int64_t row, int64_t column) {
        if (f.single) return f.data[0];
        if (transposed) return f.data[row * f.groups + column / (k / f.groups)];
        return f.data[row / (k / f.groups) * n + column];
    };
    int64_t columns = transposed ? k : n;
    for (int64_t i = 0; i < total; ++i) {
        int value = x[packed ? i / 2 : i];
        if (packed) value = static_cast<int8_t>(static_cast<uint8_t>(i % 2 ? value & 0xf0 : value << 4)) >> 4;
        out[i] = Scaled(static_cast<float>(value), at(o, i / columns, i % columns), at(s, i / columns, i % columns));
    }
}

}  // namespace
}  // namespace twin

using namespace twin;

extern "C" {

void npukb_quant(uint32_t element_bytes, const BufferView* dst, const BufferView* src, const BufferView* scales,
                 const BufferView* offsets, const BufferView* tmp, float scale, float offset, int64_t channels,
                 int64_t count) {
    Library call("AscendQuant", NPUKB_PC);
    if (scales != nullptr && (channels == 0 || channels % 32 != 0 || count % channels != 0)) {
        call.core().Violate("bad_shape", call.pc(), "Pad the channels to a multiple of 32 and quantise whole rows.",
                            "AscendQuant: %lld elements with %lld scales", static_cast<long long>(count),
                            static_cast<long long>(channels));
    }
    if (count % 32 != 0) {
        call.core().Warn("bad_shape", call.pc(), "Quantise a multiple of 32 elements.",
                         "AscendQuant: %lld results are not a whole number of 32-byte blocks",
                         static_cast<long long>(count));
    }
    call.ScratchFor(tmp, 0);
    WithFloat(element_bytes, [&](auto zero) {
        RunQuant<decltype(zero)>(call, dst, src, scales, offsets, scale, offset, channels, count);
    });
    call.Charge(DType::F16, count, element_bytes == 2 ? 4 : 5);
}

void npukb_dequant(uint32_t types, uint32_t single_row, const BufferView* dst, const BufferView* src,
                   const BufferView* scales, const void* scale, const BufferView* tmp,
                   const AscendC::DequantParams* p) {
    Library call("AscendDequant", NPUKB_PC);
    auto type = static_cast<DType>(types & 0xff), scale_type = static_cast<DType>(types >> 8);
    CheckRow(call, p->n, 4, "n");
    if (p->m == 0 || p->calCount == 0 || p->calCount > p->n) {
        call.core().Violate("bad_shape", call.pc(), "Let calCount be between 1 and n.",
                            "AscendDequant: m is %u, n is %u and calCount is %u", p->m, p->n, p->calCount);
    }
    DequantShape s{p->m, p->n, p->calCount};
    uint32_t per_block = type == DType::F32 ? 8 : 16;
    if (single_row && p->m == 1 && p->calCount % per_block == 0 && p->n % p->calCount == 0) {
        s = {p->n / p->calCount, p->calCount, p->calCount};
    }
    call.ScratchFor(tmp, 0);
    if (type == DType::F16)
        RunDequant<half>(call, s, dst, src, scales, scale, scale_type);
    else if (type == DType::BF16)
        RunDequant<bfloat16_t>(call, s, dst, src, scales, scale, scale_type);
    else
        RunDequant<float>(call, s, dst, src, scales, scale, scale_type);
    call.Charge(DType::F32, s.rows * s.length, type == DType::F32 ? 2 : 3);
}

void npukb_anti_quant(uint32_t flags, const BufferView* dst, const BufferView* src, const BufferView* offsets,
                      const BufferView* scales, const void* offset, const void* scale, const BufferView* tmp,
                      uint32_t k, const AscendC::AntiQuantShapeInfo* shape) {
    Library call("AscendAntiQuant", NPUKB_PC);
    call.ScratchFor(tmp, 0);
    if (flags & 2)
        RunAntiQuant<bfloat16_t>(call, flags, dst, src, offsets, scales, offset, scale, k, *shape);
    else
        RunAntiQuant<half>(call, flags, dst, src, offsets, scales, offset, scale, k, *shape);
    call.Charge((flags & 2) ? DType::F32 : DType::F16, static_cast<int64_t>(src->bytes) * (flags & 1 ? 2 : 1),
                flags & 2 ? 5 : 3);
}

}  // extern "C"
