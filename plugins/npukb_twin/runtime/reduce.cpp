// Reductions in the hardware's order: a binary tree inside a block or repeat, then repeats one after the other.
#include "lanes.h"
#include "numeric.h"

namespace twin {
namespace {

using npukb::DType;
using npukb::Op;

enum class Order : uint8_t { ValueIndex, IndexValue, OnlyValue, OnlyIndex };

template <typename T>
T Tree(T* values, uint32_t n) {
    for (uint32_t width = n; width > 1; width /= 2) {
        for (uint32_t i = 0; i < width / 2; ++i) values[i] = static_cast<T>(values[2 * i] + values[2 * i + 1]);
    }
    return values[0];
}

template <typename T>
const T& Element(const VectorInstruction& v, const Lanes& lanes, uint32_t repeat, uint32_t lane) {
    auto* base = static_cast<const uint8_t*>(v.src0.address);
    uint64_t offset = lanes.contiguous ? (static_cast<uint64_t>(repeat) * (256 / sizeof(T)) + lane) * sizeof(T)
                                       : ElementOffset(v.src0, repeat, lane, sizeof(T));
    return *reinterpret_cast<const T*>(base + offset);
}

template <typename T>
bool On(const Lanes& lanes, uint32_t repeat, uint32_t lane) {
    if (lanes.contiguous) return static_cast<int64_t>(repeat * (256 / sizeof(T)) + lane) < lanes.total;
    return lanes.On(repeat, lane);
}

template <typename T>
T SumOfRepeat(const VectorInstruction& v, const Lanes& lanes, uint32_t repeat, uint32_t first, uint32_t n) {
    T values[256 / sizeof(T)];
    for (uint32_t i = 0; i < n; ++i) {
        values[i] = On<T>(lanes, repeat, first + i) ? Element<T>(v, lanes, repeat, first + i) : T(0);
    }
    return Tree(values, n);
}

struct Extreme {
    double value;
    uint32_t index;
    bool any;
};

// Largest or smallest element; the lowest index wins a tie.
template <typename T>
Extreme ExtremeOf(const VectorInstruction& v, const Lanes& lanes, uint32_t repeat, uint32_t first, uint32_t n, bool largest) {
    Extreme e{0, 0, false};
    for (uint32_t i = first; i < first + n; ++i) {
        if (!On<T>(lanes, repeat, i)) continue;
        auto x = static_cast<double>(Element<T>(v, lanes, repeat, i));
        if (!e.any || (largest ? x > e.value : x < e.value)) e = {x, i, true};
    }
    return e;
}

template <typename T>
T IndexBits(uint32_t index) {
    if (sizeof(T) == 2) {
        auto narrow = static_cast<uint16_t>(index);
        T bits;
        __builtin_memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }
    T bits{};
    __builtin_memcpy(&bits, &index, sizeof bits);
    return bits;
}

bool Largest(Op op) { return op == Op::BlockReduceMax || op == Op::WholeReduceMax || op == Op::ReduceMax; }

template <typename T>
void Blocks(const VectorInstruction& v, const Lanes& lanes) {
    auto* d = static_cast<T*>(const_cast<void*>(v.dst.address));
    constexpr uint32_t kPerBlock = 32 / sizeof(T);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        for (uint32_t b = 0; b < 8; ++b) {
            bool any = false;
            for (uint32_t i = 0; i < kPerBlock; ++i) any = any || lanes.On(r, b * kPerBlock + i);
            if (!any) continue;  // a fully masked block leaves its result as it was
            T& out = d[static_cast<uint64_t>(r) * v.dst.repeat_stride * 8 + b];
            if (v.op == Op::BlockReduceSum) {
                out = SumOfRepeat<T>(v, lanes, r, b * kPerBlock, kPerBlock);
            } else {
                out = static_cast<T>(ExtremeOf<T>(v, lanes, r, b * kPerBlock, kPerBlock, Largest(v.op)).value);
            }
        }
    }
}

template <typename T>
void Pairs(const VectorInstruction& v, const Lanes& lanes) {
    auto* d = static_cast<T*>(const_cast<void*>(v.dst.address));
    constexpr uint32_t kPairs = 128 / sizeof(T);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        for (uint32_t p = 0; p < kPairs; ++p) {
            if (!lanes.On(r, 2 * p) && !lanes.On(r, 2 * p + 1)) continue;
            d[static_cast<uint64_t>(r) * v.dst.repeat_stride * kPairs + p] = SumOfRepeat<T>(v, lanes, r, 2 * p, 2);
        }
    }
}

template <typename T>
void Wholes(const VectorInstruction& v, const Lanes& lanes) {
    auto* d = static_cast<T*>(const_cast<void*>(v.dst.address));
    constexpr uint32_t kLanes = 256 / sizeof(T);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        uint64_t at = static_cast<uint64_t>(r) * v.dst.repeat_stride;
        if (v.op == Op::WholeReduceSum) {
            d[at] = SumOfRepeat<T>(v, lanes, r, 0, kLanes);
            continue;
        }
        Extreme e = ExtremeOf<T>(v, lanes, r, 0, kLanes, Largest(v.op));
        T value = static_cast<T>(e.value);
        T index = IndexBits<T>(e.index);
        switch (static_cast<Order>(v.mode)) {
            case Order::ValueIndex: d[2 * at] = value; d[2 * at + 1] = index; break;
            case Order::IndexValue: d[2 * at] = index; d[2 * at + 1] = value; break;
            case Order::OnlyValue: d[at] = value; break;
            case Order::OnlyIndex: d[at] = index; break;
        }
    }
}

template <typename T>
void Tensor(const VectorInstruction& v, const Lanes& lanes) {
    auto* d = static_cast<T*>(const_cast<void*>(v.dst.address));
    constexpr uint32_t kLanes = 256 / sizeof(T);
    uint32_t repeats = lanes.contiguous ? static_cast<uint32_t>((lanes.total + kLanes - 1) / kLanes) : lanes.repeats;
    if (v.op == Op::ReduceSum) {
        T sum = T(0);
        for (uint32_t r = 0; r < repeats; ++r) sum = static_cast<T>(sum + SumOfRepeat<T>(v, lanes, r, 0, kLanes));
        d[0] = sum;
        return;
    }
    Extreme best{0, 0, false};
    for (uint32_t r = 0; r < repeats; ++r) {
        Extreme e = ExtremeOf<T>(v, lanes, r, 0, kLanes, Largest(v.op));
        bool better = Largest(v.op) ? e.value > best.value : e.value < best.value;
        if (e.any && (!best.any || better)) best = {e.value, r * kLanes + e.index, true};
    }
    d[0] = static_cast<T>(best.value);
    if (v.mode != 0) d[1] = IndexBits<T>(best.index);
}

template <typename T>
void Typed(const VectorInstruction& v, const Lanes& lanes) {
    switch (v.op) {
        case Op::BlockReduceSum:
        case Op::BlockReduceMax:
        case Op::BlockReduceMin: return Blocks<T>(v, lanes);
        case Op::PairReduceSum: return Pairs<T>(v, lanes);
        case Op::WholeReduceSum:
        case Op::WholeReduceMax:
        case Op::WholeReduceMin: return Wholes<T>(v, lanes);
        default: return Tensor<T>(v, lanes);
    }
}

}  // namespace

void ExecuteReduce(const VectorInstruction& v, const Lanes& lanes) {
    if (v.src0.dtype == DType::F16) return Typed<half>(v, lanes);
    Typed<float>(v, lanes);
}

}  // namespace twin
