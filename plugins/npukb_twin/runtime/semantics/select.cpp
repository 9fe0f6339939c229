// Compare writes one bit per element, least significant bit first; Select reads such bits.
#include "semantics/lanes.h"
#include "semantics/numeric.h"
#include "check/operand_check.h"

namespace twin {
namespace {

using npukb::DType;
using npukb::Op;

enum class Relation : uint8_t { Less, Greater, Equal, LessEqual, GreaterEqual, NotEqual };
enum class Choice : uint8_t { Register, TensorScalar, TensorTensor };

template <typename T, typename F>
void CompareRun(const T* a, const T* b, uint8_t* bits, int64_t n, F holds) {
    for (int64_t i = 0; i < n; i += 8) {
        uint8_t byte = 0;
        for (int k = 0; k < 8; ++k) byte = static_cast<uint8_t>(byte | (holds(a[i + k], b[i + k]) ? 1u << k : 0u));
        bits[i / 8] = byte;
    }
}

template <typename T>
void CompareWith(Relation relation, const T* a, const T* b, uint8_t* bits, int64_t n) {
    switch (relation) {
        case Relation::Less: return CompareRun(a, b, bits, n, [](T x, T y) { return x < y; });
        case Relation::Greater: return CompareRun(a, b, bits, n, [](T x, T y) { return x > y; });
        case Relation::Equal: return CompareRun(a, b, bits, n, [](T x, T y) { return x == y; });
        case Relation::LessEqual: return CompareRun(a, b, bits, n, [](T x, T y) { return x <= y; });
        case Relation::GreaterEqual: return CompareRun(a, b, bits, n, [](T x, T y) { return x >= y; });
        // unlike IEEE's: NaN differs from nothing
        case Relation::NotEqual: return CompareRun(a, b, bits, n, [](T x, T y) { return x < y || x > y; });
    }
}

// The lanes of one repeat of an operand, wherever they lie; `copy` has room for them.
template <typename T>
const T* LanesOf(const Operand& o, const Lanes& lanes, uint32_t repeat, T* copy) {
    auto* base = static_cast<const uint8_t*>(o.address);
    constexpr uint32_t kLanes = 256 / sizeof(T);
    if (lanes.contiguous) return reinterpret_cast<const T*>(base) + static_cast<uint64_t>(repeat) * kLanes;
    if (o.block_stride == 1) return reinterpret_cast<const T*>(base + ElementOffset(o, repeat, 0, sizeof(T)));
    for (uint32_t b = 0; b < 8; ++b) {
        __builtin_memcpy(copy + b * (32 / sizeof(T)),
                         base + (static_cast<uint64_t>(repeat) * o.repeat_stride + b * o.block_stride) * 32, 32);
    }
    return copy;
}

// Repeats in mask form write their bits one after the other; the lanes of a repeat lie where the strides say.
template <typename T, typename Computed>
void CompareTyped(Core& core, const VectorInstruction& v, const Lanes& lanes) {
    auto relation = static_cast<Relation>(v.mode);
    auto* bits = static_cast<uint8_t*>(const_cast<void*>(v.dst.address));
    constexpr uint32_t kLanes = 256 / sizeof(T);
    T copies[2][kLanes];
    Computed left[kLanes];
    Computed right[kLanes];
    if (v.op == Op::Compares) {
        T scalar;
        __builtin_memcpy(&scalar, &v.scalar, sizeof scalar);
        for (Computed& x : right) x = static_cast<Computed>(scalar);
    }
    uint32_t repeats = lanes.contiguous ? static_cast<uint32_t>(lanes.total / kLanes) : v.repeat;
    for (uint32_t r = 0; r < repeats; ++r) {
        const T* a = LanesOf<T>(v.src0, lanes, r, copies[0]);
        for (uint32_t i = 0; i < kLanes; ++i) left[i] = static_cast<Computed>(a[i]);
        if (v.op == Op::Compare) {
            const T* b = LanesOf<T>(v.src1, lanes, r, copies[1]);
            for (uint32_t i = 0; i < kLanes; ++i) right[i] = static_cast<Computed>(b[i]);
        }
        if (!(v.flags & npukb::ToRegister)) {
            CompareWith(relation, left, right, bits + static_cast<uint64_t>(r) * kLanes / 8, kLanes);
            continue;
        }
        uint8_t result[16] = {};
        CompareWith(relation, left, right, result, kLanes);
        for (uint32_t i = 0; i < kLanes; ++i) {
            if (!lanes.On(r, i)) result[i / 8] = static_cast<uint8_t>(result[i / 8] & ~(1u << (i & 7)));
        }
        __builtin_memcpy(core.vector.compare_mask, result, sizeof result);
    }
}

// One byte per lane, not 0 where the bit is set.
void Expand(const uint8_t* bits, uint32_t lanes, uint8_t* on) {
    for (uint32_t i = 0; i < lanes; i += 8) {
        uint64_t spread = (bits[i / 8] * 0x0101010101010101ull) & 0x8040201008040201ull;
        uint64_t bytes = (spread + 0x7f7f7f7f7f7f7f7full) & 0x8080808080808080ull;
        __builtin_memcpy(on + i, &bytes, 8);
    }
}

template <typename T>
void SelectTyped(const Core& core, const VectorInstruction& v, const Lanes& lanes) {
    auto* bits = reinterpret_cast<const uint8_t*>(v.mask[0]);
    if (bits == nullptr) bits = reinterpret_cast<const uint8_t*>(core.vector.compare_mask);
    bool same_bits = static_cast<Choice>(v.mode) == Choice::Register;
    constexpr uint32_t kLanes = 256 / sizeof(T);
    T copies[2][kLanes];
    T scalars[kLanes];
    auto scalar = static_cast<T>(v.scalar);
    for (T& x : scalars) x = scalar;
    uint8_t on[kLanes];
    T chosen[kLanes];
    uint32_t repeats = lanes.contiguous ? static_cast<uint32_t>((lanes.total + kLanes - 1) / kLanes) : lanes.repeats;
    for (uint32_t r = 0; r < repeats; ++r) {
        int64_t left = lanes.contiguous ? lanes.total - static_cast<int64_t>(r) * kLanes : kLanes;
        uint32_t n = left < kLanes ? static_cast<uint32_t>(left) : kLanes;
        if (r == 0 || !same_bits)
            Expand(bits + (same_bits ? 0 : static_cast<uint64_t>(r) * kLanes / 8), (n + 7) / 8 * 8, on);
        const T* a = LanesOf<T>(v.src0, lanes, r, copies[0]);
        const T* b = v.src1.address != nullptr ? LanesOf<T>(v.src1, lanes, r, copies[1]) : scalars;
        for (uint32_t i = 0; i < n; ++i) chosen[i] = on[i] != 0 ? a[i] : b[i];
        auto* d = static_cast<uint8_t*>(const_cast<void*>(v.dst.address));
        if (lanes.contiguous) {
            __builtin_memcpy(d + static_cast<uint64_t>(r) * 256, chosen, n * sizeof(T));
            continue;
        }
        for (uint32_t i = 0; i < n; ++i) {
            if (lanes.On(r, i)) __builtin_memcpy(d + ElementOffset(v.dst, r, i, sizeof(T)), &chosen[i], sizeof(T));
        }
    }
}

}  // namespace

void ExecuteCompare(Core& core, const VectorInstruction& v, const Lanes& lanes) {
    switch (v.src0.dtype) {
        case DType::F16: return CompareTyped<half, float>(core, v, lanes);
        case DType::F32: return CompareTyped<float, float>(core, v, lanes);
        case DType::I32: return CompareTyped<int32_t, int32_t>(core, v, lanes);
        default: return;
    }
}

void ExecuteSelect(const Core& core, const VectorInstruction& v, const Lanes& lanes) {
    if (v.dst.dtype == DType::F16) return SelectTyped<uint16_t>(core, v, lanes);
    SelectTyped<uint32_t>(core, v, lanes);
}

}  // namespace twin
