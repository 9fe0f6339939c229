// Compare writes one bit per element, least significant bit first; Select reads such bits.
#include "lanes.h"
#include "numeric.h"

namespace twin {
namespace {

using npukb::DType;
using npukb::Op;

enum class Relation : uint8_t { Less, Greater, Equal, LessEqual, GreaterEqual, NotEqual };

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
        case Relation::NotEqual: return CompareRun(a, b, bits, n, [](T x, T y) { return x != y; });
    }
}

// Repeats in mask form write their bits one after the other; the lanes of a repeat lie where the strides say.
template <typename T>
void CompareTyped(const VectorInstruction& v, const Lanes& lanes) {
    auto relation = static_cast<Relation>(v.mode);
    auto* bits = static_cast<uint8_t*>(const_cast<void*>(v.dst.address));
    auto* a = static_cast<const uint8_t*>(v.src0.address);
    auto* b = static_cast<const uint8_t*>(v.src1.address);
    constexpr uint32_t kLanes = 256 / sizeof(T);
    T left[kLanes];
    T right[kLanes];
    if (v.op == Op::Compares) {
        T scalar;
        __builtin_memcpy(&scalar, &v.scalar, sizeof scalar);
        for (T& x : right) x = scalar;
    }
    uint32_t repeats = lanes.contiguous ? static_cast<uint32_t>(lanes.total / kLanes) : lanes.repeats;
    for (uint32_t r = 0; r < repeats; ++r) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            uint64_t run = (static_cast<uint64_t>(r) * kLanes + lane) * sizeof(T);
            __builtin_memcpy(&left[lane], a + (lanes.contiguous ? run : ElementOffset(v.src0, r, lane, sizeof(T))), sizeof(T));
            if (v.op == Op::Compare) {
                __builtin_memcpy(&right[lane], b + (lanes.contiguous ? run : ElementOffset(v.src1, r, lane, sizeof(T))), sizeof(T));
            }
        }
        CompareWith(relation, left, right, bits + static_cast<uint64_t>(r) * kLanes / 8, kLanes);
    }
}

template <typename T>
void SelectTyped(const VectorInstruction& v, const Lanes& lanes) {
    auto* bits = reinterpret_cast<const uint8_t*>(v.mask[0]);
    auto* d = static_cast<T*>(const_cast<void*>(v.dst.address));
    auto* a = static_cast<const T*>(v.src0.address);
    auto* b = static_cast<const T*>(v.src1.address);
    T scalar;
    __builtin_memcpy(&scalar, &v.scalar, sizeof scalar);
    constexpr int64_t kLanes = 256 / sizeof(T);
    bool register_mode = v.mode == 0;  // the same lanes' worth of bits serve every repeat
    for (int64_t i = 0; i < lanes.total; ++i) {
        int64_t bit = register_mode ? i % kLanes : i;
        bool first = (bits[bit >> 3] >> (bit & 7)) & 1;
        d[i] = first ? a[i] : (b != nullptr ? b[i] : scalar);
    }
}

}  // namespace

void ExecuteCompare(const VectorInstruction& v, const Lanes& lanes) {
    switch (v.src0.dtype) {
        case DType::F16: return CompareTyped<half>(v, lanes);
        case DType::F32: return CompareTyped<float>(v, lanes);
        case DType::I32: return CompareTyped<int32_t>(v, lanes);
        default: return;
    }
}

void ExecuteSelect(const VectorInstruction& v, const Lanes& lanes) {
    if (v.dst.dtype == DType::F16) return SelectTyped<half>(v, lanes);
    SelectTyped<float>(v, lanes);
}

}  // namespace twin
