// Reductions in the hardware's order: a binary tree over neighbours inside a block or repeat. ReduceSum by count adds
// the sums of its repeats one after the other; in mask form it adds them as a tree, too.
#include "semantics/reduce.h"

#include "semantics/instruction.h"
#include "semantics/numeric.h"

namespace twin {
namespace {

using npukb::DType;
using npukb::Op;

enum class Order : uint8_t { ValueIndex, IndexValue, OnlyValue, OnlyIndex };

template <typename T>
inline constexpr uint32_t kLanesOf = 256 / sizeof(T);

// Adds nothing, not even a sign of zero.
template <typename T>
T Neutral() {
    return static_cast<T>(-0.0f);
}

half Limited(half x) {
    uint16_t bits = Bits<uint16_t>(x);
    if ((bits & 0x7fff) > 0x7c00) return Bits<half>(uint16_t(0));
    return (bits & 0x7fff) == 0x7c00 ? Bits<half>(static_cast<uint16_t>(bits - 1)) : x;
}
float Limited(float x) { return x; }

// The sum of `n` values, a power of two, which are overwritten.
template <typename T>
T Tree(T* values, uint32_t n, bool saturate) {
    for (uint32_t width = n / 2; width > 0; width /= 2) {
        for (uint32_t i = 0; i < width; ++i) values[i] = static_cast<T>(values[2 * i] + values[2 * i + 1]);
        if (saturate) {
            for (uint32_t i = 0; i < width; ++i) values[i] = Limited(values[i]);
        }
    }
    return values[0];
}

// Neighbours added up `levels` times, over many trees that lie one after the other.
template <typename T, uint32_t n, uint32_t levels>
void Halve(const T* from, T* to) {
    for (uint32_t i = 0; i < n / 2; ++i) to[i] = static_cast<T>(from[2 * i] + from[2 * i + 1]);
    if constexpr (levels > 1) Halve<T, n / 2, levels - 1>(to, to);
}

template <typename T>
struct Reader {
    const VectorInstruction& v;
    const Lanes& lanes;
    bool saturate;

    const T* At(uint32_t repeat, uint32_t lane) const {
        auto* base = static_cast<const uint8_t*>(v.src0.address);
        uint64_t offset = lanes.contiguous ? (static_cast<uint64_t>(repeat) * kLanesOf<T> + lane) * sizeof(T)
                                           : ElementOffset(v.src0, repeat, lane, sizeof(T));
        return reinterpret_cast<const T*>(base + offset);
    }
    bool On(uint32_t repeat, uint32_t lane) const {
        if (lanes.contiguous) return static_cast<int64_t>(repeat) * kLanesOf<T> + lane < lanes.total;
        return lanes.On(repeat, lane);
    }
    // All lanes of a repeat are on and lie one after the other.
    bool Whole(uint32_t repeat) const {
        if (lanes.contiguous) return (static_cast<int64_t>(repeat) + 1) * kLanesOf<T> <= lanes.total;
        return v.src0.block_stride == 1 && lanes.Leading(repeat) == kLanesOf<T>;
    }
    uint32_t Repeats() const {
        return lanes.contiguous ? static_cast<uint32_t>((lanes.total + kLanesOf<T> - 1) / kLanesOf<T>) : lanes.repeats;
    }
    // Lanes first … first + n - 1 of a repeat; returns how many are on, `values` of those that are not are neutral.
    uint32_t Load(uint32_t repeat, uint32_t first, uint32_t n, T* values) const {
        if (Whole(repeat)) {
            __builtin_memcpy(values, At(repeat, first), n * sizeof(T));
            return n;
        }
        uint32_t on = 0;
        for (uint32_t i = 0; i < n; ++i) {
            bool taken = On(repeat, first + i);
            values[i] = taken ? *At(repeat, first + i) : Neutral<T>();
            on += taken ? 1 : 0;
        }
        return on;
    }
    T Sum(uint32_t repeat) const {
        T values[kLanesOf<T>];
        Load(repeat, 0, kLanesOf<T>, values);
        return Tree(values, kLanesOf<T>, saturate);
    }
    // Calls f(repeat, sum) for every repeat in order. Whole repeats in a row are added up together.
    template <typename F>
    void Sums(F f) const {
        constexpr uint32_t kTogether = 16;
        constexpr uint32_t kLevels = sizeof(T) == 2 ? 7 : 6;
        uint32_t repeats = Repeats();
        bool row = lanes.contiguous || v.src0.repeat_stride == 8;
        for (uint32_t r = 0; r < repeats;) {
            if (row && !saturate && r + kTogether <= repeats && Whole(r) && Whole(r + kTogether - 1)) {
                T values[kTogether * kLanesOf<T> / 2];
                Halve<T, kTogether * kLanesOf<T>, kLevels>(At(r, 0), values);
                for (uint32_t i = 0; i < kTogether; ++i) f(r + i, values[i]);
                r += kTogether;
                continue;
            }
            f(r, Sum(r));
            ++r;
        }
    }
};

// Integers in the order of the floats they stand for; NaN is beyond all others on the side that wins.
template <typename T, bool largest>
inline typename Ordered<T>::Key KeyOf(T value) {
    using Key = typename Ordered<T>::Key;
    return IsNan(value) ? static_cast<Key>(largest ? Ordered<T>::kMost : -Ordered<T>::kMost - 1) : OrderOf(value);
}

template <typename T>
struct Extreme {
    T value;
    uint32_t index;
    typename Ordered<T>::Key key;
    bool any;
};

// Where the key is found first; it is there. Whole pieces are looked at together, which takes vector instructions.
template <typename T, bool largest>
uint32_t FirstWithKey(const T* values, uint32_t n, typename Ordered<T>::Key wanted) {
    constexpr uint32_t kTogether = 128;
    uint32_t i = 0;
    for (; i + kTogether <= n; i += kTogether) {
        bool any = false;
        for (uint32_t k = 0; k < kTogether; ++k) any |= KeyOf<T, largest>(values[i + k]) == wanted;
        if (any) break;
    }
    while (KeyOf<T, largest>(values[i]) != wanted) ++i;
    return i;
}

template <typename T, bool largest>
Extreme<T> ExtremeOfRun(const T* values, uint32_t n, bool with_index = true) {
    using Key = typename Ordered<T>::Key;
    Key best = KeyOf<T, largest>(values[0]);
    for (uint32_t i = 0; i < n; ++i) {
        Key key = KeyOf<T, largest>(values[i]);
        best = largest ? (key > best ? key : best) : (key < best ? key : best);
    }
    uint32_t index = with_index ? FirstWithKey<T, largest>(values, n, best) : 0;
    bool is_nan = best == static_cast<Key>(largest ? Ordered<T>::kMost : -Ordered<T>::kMost - 1);
    auto bits = static_cast<Key>(best < 0 ? best ^ Ordered<T>::kMost : best);
    return {Bits<T>(is_nan ? static_cast<Key>(Ordered<T>::kInfinity | Ordered<T>::kQuiet) : bits), index, best, true};
}

// Largest or smallest element; the lowest index wins a tie, NaN wins over all others.
template <typename T, bool largest>
Extreme<T> ExtremeOfLanes(const Reader<T>& reader, uint32_t repeat, uint32_t first, uint32_t n) {
    if (reader.Whole(repeat)) {
        Extreme<T> e = ExtremeOfRun<T, largest>(reader.At(repeat, first), n);
        e.index += first;
        return e;
    }
    T values[kLanesOf<T>];
    uint32_t index[kLanesOf<T>];
    uint32_t on = 0;
    for (uint32_t i = first; i < first + n; ++i) {
        if (!reader.On(repeat, i)) continue;
        values[on] = *reader.At(repeat, i);
        index[on++] = i;
    }
    if (on == 0) return {T(0), 0, 0, false};
    Extreme<T> e = ExtremeOfRun<T, largest>(values, on);
    e.index = index[e.index];
    return e;
}

bool Largest(Op op) { return op == Op::BlockReduceMax || op == Op::WholeReduceMax || op == Op::ReduceMax; }

template <typename T>
Extreme<T> ExtremeOf(const Reader<T>& reader, uint32_t repeat, uint32_t first, uint32_t n) {
    return Largest(reader.v.op) ? ExtremeOfLanes<T, true>(reader, repeat, first, n)
                                : ExtremeOfLanes<T, false>(reader, repeat, first, n);
}

template <typename T>
void Improve(Op op, Extreme<T>& best, const Extreme<T>& e) {
    if (e.any && (!best.any || (Largest(op) ? e.key > best.key : e.key < best.key))) best = e;
}

template <typename T>
T IndexBits(uint32_t index) {
    return Bits<T>(static_cast<typename Ordered<T>::Word>(index));
}

template <typename T>
uint64_t Raw(T value) {
    return Bits<typename Ordered<T>::Word>(value);
}

template <typename T>
void Blocks(const Reader<T>& reader) {
    const VectorInstruction& v = reader.v;
    auto* d = static_cast<T*>(const_cast<void*>(v.dst.address));
    constexpr uint32_t kPerBlock = 32 / sizeof(T);
    for (uint32_t r = 0; r < reader.lanes.repeats; ++r) {
        T results[8] = {};
        bool written[8];
        for (uint32_t b = 0; b < 8; ++b) {
            T values[kPerBlock];
            written[b] = reader.Load(r, b * kPerBlock, kPerBlock, values) > 0;
            if (!written[b]) continue;  // a fully masked block leaves its result as it was
            if (v.op == Op::BlockReduceSum)
                results[b] = Tree(values, kPerBlock, reader.saturate);
            else
                results[b] = ExtremeOf(reader, r, b * kPerBlock, kPerBlock).value;
        }
        for (uint32_t b = 0; b < 8; ++b) {
            if (written[b]) d[static_cast<uint64_t>(r) * v.dst.repeat_stride * 8 + b] = results[b];
        }
    }
}

template <typename T>
void Pairs(const Reader<T>& reader) {
    const VectorInstruction& v = reader.v;
    auto* d = static_cast<T*>(const_cast<void*>(v.dst.address));
    constexpr uint32_t kPairs = kLanesOf<T> / 2;
    for (uint32_t r = 0; r < reader.lanes.repeats; ++r) {
        T values[kLanesOf<T>];
        reader.Load(r, 0, kLanesOf<T>, values);
        for (uint32_t p = 0; p < kPairs; ++p) {
            if (!reader.On(r, 2 * p) && !reader.On(r, 2 * p + 1)) continue;
            d[static_cast<uint64_t>(r) * v.dst.repeat_stride * kPairs + p] = Tree(values + 2 * p, 2, reader.saturate);
        }
    }
}

template <typename T>
void Wholes(Core& core, const Reader<T>& reader) {
    const VectorInstruction& v = reader.v;
    auto* d = static_cast<T*>(const_cast<void*>(v.dst.address));
    if (Row(v.op).span == Span::PerRepeat) {
        return reader.Sums([&](uint32_t r, T sum) { d[static_cast<uint64_t>(r) * v.dst.repeat_stride] = sum; });
    }
    Extreme<T> best{T(0), 0, 0, false};
    for (uint32_t r = 0; r < reader.lanes.repeats; ++r) {
        uint64_t at = static_cast<uint64_t>(r) * v.dst.repeat_stride;
        Extreme<T> e = ExtremeOf(reader, r, 0, kLanesOf<T>);
        if (!e.any) continue;
        T index = IndexBits<T>(e.index);
        switch (static_cast<Order>(v.mode & 3)) {
            case Order::ValueIndex:
                d[2 * at] = e.value;
                d[2 * at + 1] = index;
                break;
            case Order::IndexValue:
                d[2 * at] = index;
                d[2 * at + 1] = e.value;
                break;
            case Order::OnlyValue: d[at] = e.value; break;
            case Order::OnlyIndex: __builtin_memcpy(reinterpret_cast<uint32_t*>(d) + at, &e.index, 4); break;
        }
        e.index += r * kLanesOf<T>;
        Improve(v.op, best, e);
    }
    if (best.any) {
        core.vector.extreme = Raw(best.value);
        core.vector.extreme_index = best.index;
    }
}

// The sum over repeats that vcadd leaves in the accumulator.
template <typename T>
void Accumulated(Core& core, const Reader<T>& reader) {
    T sum = Neutral<T>();
    reader.Sums([&](uint32_t r, T part) {
        sum = r == 0 ? part : static_cast<T>(sum + part);
        if (reader.saturate) sum = Limited(sum);
    });
    core.vector.sum = Raw(sum);
    if (Row(reader.v.op).span == Span::PerTensor) *static_cast<T*>(const_cast<void*>(reader.v.dst.address)) = sum;
}

// The sums of the repeats go to the scratch buffer, their sums to its start, until one is left.
template <typename T>
void Levels(const Reader<T>& reader) {
    auto* d = static_cast<T*>(const_cast<void*>(reader.v.dst.address));
    auto* work = static_cast<T*>(const_cast<void*>(reader.v.src1.address));
    uint32_t n = reader.Repeats();
    reader.Sums([&](uint32_t r, T sum) { (n == 1 ? d : work)[r] = sum; });
    while (n > 1) {
        uint32_t groups = (n + kLanesOf<T> - 1) / kLanesOf<T>;
        for (uint32_t g = 0; g < groups; ++g) {
            T values[kLanesOf<T>];
            for (uint32_t i = 0; i < kLanesOf<T>; ++i)
                values[i] = g * kLanesOf<T> + i < n ? work[g * kLanesOf<T> + i] : Neutral<T>();
            T sum = Tree(values, kLanesOf<T>, reader.saturate);
            (groups == 1 ? d : work)[g] = sum;
        }
        n = groups;
    }
}

// Repeat after repeat, then among their results. Elements in a row need not be cut into repeats to find the extreme.
template <typename T>
void TensorExtreme(Core& core, const Reader<T>& reader) {
    const VectorInstruction& v = reader.v;
    auto* d = static_cast<T*>(const_cast<void*>(v.dst.address));
    bool with_index = v.mode & 1;
    Extreme<T> best{T(0), 0, 0, false};
    uint32_t n = reader.Repeats();
    if (reader.lanes.contiguous) {
        auto count = static_cast<uint32_t>(reader.lanes.total);
        best = Largest(v.op) ? ExtremeOfRun<T, true>(reader.At(0, 0), count, with_index || n == 1)
                             : ExtremeOfRun<T, false>(reader.At(0, 0), count, with_index || n == 1);
    }
    for (uint32_t r = 0; r < n && !reader.lanes.contiguous; ++r) {
        Extreme<T> e = ExtremeOf(reader, r, 0, kLanesOf<T>);
        e.index += r * kLanesOf<T>;
        Improve(v.op, best, e);
    }
    if (!best.any) return;
    // The contents that rounds leave in the scratch buffer are undefined: NaN, and invalid indices.
    uint64_t scratch = ReduceScratchBytes(v, reader.lanes);
    if (scratch > 0) __builtin_memset(const_cast<void*>(v.src1.address), 0x7f, scratch);
    core.vector.extreme = Raw(best.value);
    core.vector.extreme_index = n > 1 ? 0 : best.index;  // of a tensor's extreme the register knows the value only
    d[0] = best.value;
    if (with_index) d[1] = IndexBits<T>(best.index);
}

template <typename T>
void Typed(Core& core, const VectorInstruction& v, const Lanes& lanes) {
    Reader<T> reader{v, lanes, core.vector.saturate && sizeof(T) == 2};
    switch (Row(v.op).span) {
        case Span::PerBlock: return Blocks(reader);
        case Span::PerPair: return Pairs(reader);
        case Span::PerRepeat: return v.flags & npukb::ToAccumulator ? Accumulated(core, reader) : Wholes(core, reader);
        case Span::RepeatExtreme: return Wholes(core, reader);
        case Span::PerTensor: return lanes.contiguous || lanes.counted ? Accumulated(core, reader) : Levels(reader);
        default: return TensorExtreme(core, reader);
    }
}

}  // namespace

// What an extreme is stored as: value and index in either order, or one of them alone.
static uint32_t ExtremeBytes(const VectorInstruction& v, uint32_t bytes) {
    auto order = static_cast<Order>(v.mode & 3);
    if (order == Order::ValueIndex || order == Order::IndexValue) return 2 * bytes;
    return order == Order::OnlyIndex ? 4 : bytes;
}

uint64_t ReducedBytes(const VectorInstruction& v, const Lanes& lanes) {
    uint32_t bytes = Bytes(v.dst.dtype);
    uint64_t last = lanes.repeats > 0 ? (lanes.repeats - 1) * static_cast<uint64_t>(v.dst.repeat_stride) : 0;
    if (lanes.repeats == 0 || (!lanes.contiguous && lanes.Top() == 0) || (lanes.contiguous && lanes.total == 0))
        return 0;
    // A part of a repeat in counter mode; of the repeats before it, at least the first is whole.
    uint32_t top = lanes.contiguous ? 0 : lanes.TopOf(lanes.repeats - 1);
    switch (Row(v.op).span) {
        case Span::PerBlock: {
            uint64_t blocks = (top + 32 / bytes - 1) / (32 / bytes);
            uint64_t end = (last * 8 + blocks) * bytes, least = lanes.repeats > 1 ? 8 * bytes : 0;
            return end > least ? end : least;
        }
        case Span::PerPair: {
            uint64_t end = last * 128 + (top + 1) / 2 * bytes,
                     least = lanes.repeats > 1 ? lanes.per_repeat / 2 * bytes : 0;
            return end > least ? end : least;
        }
        case Span::PerRepeat: return v.flags & npukb::ToAccumulator ? 0 : (last + 1) * bytes;
        case Span::RepeatExtreme: return (last + 1) * ExtremeBytes(v, bytes);
        case Span::TensorExtreme: return (v.mode & 1 ? 2 : 1) * bytes;
        default: return bytes;
    }
}

uint32_t ReducedAlignment(const VectorInstruction& v) {
    uint32_t bytes = Bytes(v.dst.dtype);
    switch (Row(v.op).span) {
        case Span::PerBlock: return 8 * bytes;
        case Span::PerPair: return 32;
        case Span::RepeatExtreme: return ExtremeBytes(v, bytes);
        case Span::TensorExtreme: return v.mode & 1 ? 2 * bytes : bytes;
        default: return bytes;
    }
}

uint64_t ReduceScratchBytes(const VectorInstruction& v, const Lanes& lanes) {
    uint32_t bytes = Bytes(v.dst.dtype);
    uint64_t per_repeat = 256 / bytes;
    uint64_t n = lanes.contiguous ? (static_cast<uint64_t>(lanes.total) + per_repeat - 1) / per_repeat : lanes.repeats;
    if (n <= 1) return 0;
    if (Row(v.op).span == Span::PerTensor) return lanes.contiguous ? 0 : (n * bytes + 31) / 32 * 32;
    uint64_t total = 0;
    for (uint64_t pairs = n;; pairs = (2 * pairs + per_repeat - 1) / per_repeat) {
        total += (2 * pairs * bytes + 31) / 32 * 32;
        // Rounds reuse the space when nobody asks for the index; else the last one's result lies there, too.
        if ((v.mode & 1) == 0 || pairs == 1) return total;
    }
}

void ExecuteReduce(Core& core, const VectorInstruction& v, const Lanes& lanes) {
    if ((lanes.contiguous && lanes.total == 0) || (!lanes.contiguous && (lanes.repeats == 0 || lanes.Top() == 0)))
        return;
    if (v.src0.dtype == DType::F16) return Typed<half>(core, v, lanes);
    Typed<float>(core, v, lanes);
}

}  // namespace twin
