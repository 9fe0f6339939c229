// Element-wise arithmetic, and the instructions that fill or move elements. One functor per instruction.
#include "semantics/half_table.h"
#include "semantics/instruction.h"
#include "semantics/lanes.h"
#include "semantics/numeric.h"

namespace twin {
namespace {

using npukb::DType;
using npukb::Op;

template <typename T>
inline float Wide(T value) {
    return static_cast<float>(value);
}

template <typename T>
inline constexpr bool kReal = npukb::kSame<T, half> || npukb::kSame<T, float>;

// Larger and Smaller as IEEE's maximum and minimum: NaN wins, and +0 is larger than -0.
template <typename T, bool largest>
inline T Winner(T a, T b) {
    if constexpr (kReal<T>) {
        using Key = typename Ordered<T>::Key;
        Key x = BitsOf(a), y = BitsOf(b);
        bool first = largest ? OrderOf(a) >= OrderOf(b) : OrderOf(a) <= OrderOf(b);
        Key won = first ? x : y;
        won = IsNan(b) ? static_cast<Key>(y | Ordered<T>::kQuiet) : won;
        won = IsNan(a) ? static_cast<Key>(x | Ordered<T>::kQuiet) : won;
        return Bits<T>(won);
    } else {
        return (largest ? a > b : a < b) ? a : b;
    }
}
template <typename T>
inline T Larger(T a, T b) {
    return Winner<T, true>(a, b);
}
template <typename T>
inline T Smaller(T a, T b) {
    return Winner<T, false>(a, b);
}
// The larger of a value and +0.
template <typename T>
inline T Rectified(T a) {
    if constexpr (kReal<T>) {
        using Key = typename Ordered<T>::Key;
        Key x = BitsOf(a);
        return Bits<T>(x < 0 && !IsNan(a) ? Key(0) : x);
    } else {
        return a > 0 ? a : T(0);
    }
}
template <typename T>
inline T Magnitude(T a) {
    using Key = typename Ordered<T>::Key;
    return Bits<T>(static_cast<Key>(BitsOf(a) & Ordered<T>::kMost));
}
template <typename T>
inline bool Positive(T a) {
    return BitsOf(a) >= 0;
}

template <typename T>
inline T FromDouble(double x) {
    if constexpr (npukb::kSame<T, half>)
        return HalfFromDouble(x);
    else
        return static_cast<T>(x);
}

// A function of a float, whose result is rounded to T.
template <typename T, typename F>
void EachWide(const VectorInstruction& v, const Lanes& lanes, F f) {
    if constexpr (npukb::kSame<T, half>) {
        ForEachWidened<T, T>(v, lanes, [f](T& d, float a) { d = f(a); });
    } else {
        ForEachLane<T, T, T>(v, lanes, [f](T& d, const T& a, const T&) { d = f(a); });
    }
}

// The same for a function that costs more than looking its result up.
template <typename T, typename F>
void EachCostly(const VectorInstruction& v, const Lanes& lanes, F f) {
    if constexpr (npukb::kSame<T, half>) {
        static HalfTable table;
        auto each = [f](half& d, float a) { d = f(a); };
        auto span = [each](void* d, const void* a, const void*, int64_t n) {
            auto compute = [each](void* to, const void* from, int64_t count) {
                SpanWidened<half, half>(&each, to, from, count);
            };
            const uint16_t* results = table.For(n, compute);
            if (results != nullptr)
                return LookUp(results, static_cast<uint16_t*>(d), static_cast<const uint16_t*>(a), n);
            compute(d, a, n);
        };
        ForEachSpan<half, half, half>(v, lanes, span);
    } else {
        EachWide<T>(v, lanes, f);
    }
}

template <typename T>
void Unary(const VectorInstruction& v, const Lanes& lanes) {
    auto costly = [&](auto f) { EachCostly<T>(v, lanes, f); };
    auto wide = [&](auto f) { EachWide<T>(v, lanes, f); };
    auto each = [&](auto f) { ForEachLane<T, T, T>(v, lanes, [f](T& d, const T& a, const T&) { d = f(a); }); };
    constexpr bool kHalf = npukb::kSame<T, half>;
    if constexpr (kReal<T>) {
        switch (v.op) {
            case Op::Abs: return each([](T a) { return Magnitude(a); });
            case Op::Exp:
                return costly([](float a) { return FromDouble<T>(ExpDouble<kHalf ? 8 : 11>(static_cast<double>(a))); });
            case Op::Ln:
                return costly([](float a) { return FromDouble<T>(LnDouble<kHalf ? 6 : 8>(static_cast<double>(a))); });
            case Op::Reciprocal: return wide([](float a) { return static_cast<T>(1.0f / a); });
            case Op::Rsqrt: return costly([](float a) { return FromDouble<T>(RsqrtDouble(static_cast<double>(a))); });
            case Op::Sqrt: return wide([](float a) { return static_cast<T>(__builtin_sqrtf(a)); });
            default: break;
        }
    } else if (v.op == Op::Not) {
        return each([](T a) { return static_cast<T>(~a); });
    }
    if (v.op == Op::Relu) each([](T a) { return Rectified(a); });
}

template <typename T>
void Binary(const VectorInstruction& v, const Lanes& lanes) {
    auto each = [&](auto f) { ForEachLane<T, T, T>(v, lanes, [f](T& d, const T& a, const T& b) { d = f(a, b); }); };
    switch (v.op) {
        case Op::Add: return each([](T a, T b) { return static_cast<T>(a + b); });
        case Op::Sub: return each([](T a, T b) { return static_cast<T>(a - b); });
        case Op::Mul: return each([](T a, T b) { return static_cast<T>(a * b); });
        case Op::Max: return each([](T a, T b) { return Larger(a, b); });
        case Op::Min: return each([](T a, T b) { return Smaller(a, b); });
        case Op::AddRelu: return each([](T a, T b) { return Rectified(static_cast<T>(a + b)); });
        case Op::SubRelu: return each([](T a, T b) { return Rectified(static_cast<T>(a - b)); });
        default: break;
    }
    if constexpr (kReal<T>) {
        if (v.op == Op::Div) each([](T a, T b) { return static_cast<T>(Wide(a) / Wide(b)); });
    } else {
        if (v.op == Op::And) each([](T a, T b) { return static_cast<T>(a & b); });
        if (v.op == Op::Or) each([](T a, T b) { return static_cast<T>(a | b); });
    }
}

// The product is rounded to the type of the result before the sum is: the documented intermediate stage.
template <typename D, typename S>
void Accumulate(const VectorInstruction& v, const Lanes& lanes) {
    auto each = [&](auto f) {
        ForEachLane<D, S, S>(v, lanes,
                             [f](D& d, const S& a, const S& b) { d = f(d, static_cast<D>(a), static_cast<D>(b)); });
    };
    switch (v.op) {
        case Op::Axpy: {
            S s;
            __builtin_memcpy(&s, &v.scalar, sizeof s);
            auto factor = static_cast<D>(s);
            return each([factor](D d, D a, D) { return static_cast<D>(static_cast<D>(a * factor) + d); });
        }
        case Op::MulAddDst: return each([](D d, D a, D b) { return static_cast<D>(static_cast<D>(a * b) + d); });
        case Op::FusedMulAdd: return each([](D d, D a, D b) { return static_cast<D>(static_cast<D>(a * d) + b); });
        case Op::MulAddRelu:
            return each([](D d, D a, D b) { return Rectified(static_cast<D>(static_cast<D>(a * d) + b)); });
        default: return;
    }
}

template <typename T>
void WithScalar(const VectorInstruction& v, const Lanes& lanes) {
    T s;
    __builtin_memcpy(&s, &v.scalar, sizeof s);
    auto each = [&](auto f) { ForEachLane<T, T, T>(v, lanes, [f, s](T& d, const T& a, const T&) { d = f(a, s); }); };
    switch (v.op) {
        case Op::Adds: return each([](T a, T b) { return static_cast<T>(a + b); });
        case Op::Muls: return each([](T a, T b) { return static_cast<T>(a * b); });
        case Op::Maxs: return each([](T a, T b) { return Larger(a, b); });
        case Op::Mins: return each([](T a, T b) { return Smaller(a, b); });
        default: break;
    }
    if constexpr (kReal<T>) {
        if (v.op == Op::LeakyRelu) each([](T a, T b) { return Positive(a) ? a : static_cast<T>(a * b); });
    }
}

template <typename T>
void Shift(const VectorInstruction& v, const Lanes& lanes) {
    constexpr int kBits = 8 * sizeof(T);
    constexpr bool kSigned = static_cast<T>(-1) < T(0);
    auto s = static_cast<uint32_t>(static_cast<T>(v.scalar));
    int by = s > kBits ? kBits : static_cast<int>(s);
    auto each = [&](auto f) {
        ForEachLane<T, T, T>(v, lanes, [f, by](T& d, const T& a, const T&) { d = f(static_cast<int64_t>(a), by); });
    };
    if (v.op == Op::ShiftLeft)
        return each([](int64_t a, int n) { return static_cast<T>(static_cast<uint64_t>(a) << n); });
    if (kSigned && (v.flags & npukb::Round) && by > 0) {
        return each([](int64_t a, int n) { return static_cast<T>((a >> n) + ((a >> (n - 1)) & 1)); });
    }
    each([](int64_t a, int n) { return static_cast<T>(a >> n); });
}

// Integer sums, differences and products that stop at the limits of their type.
template <typename T>
bool Saturating(const VectorInstruction& v, const Lanes& lanes) {
    constexpr int64_t kHigh = sizeof(T) == 2 ? INT16_MAX : INT32_MAX;
    T s;
    __builtin_memcpy(&s, &v.scalar, sizeof s);
    int64_t scalar = s;
    auto each = [&](auto f) {
        ForEachLane<T, T, T>(v, lanes, [f](T& d, const T& a, const T& b) {
            int64_t x = f(static_cast<int64_t>(a), static_cast<int64_t>(b));
            d = static_cast<T>(x > kHigh ? kHigh : (x < -kHigh - 1 ? -kHigh - 1 : x));
        });
        return true;
    };
    auto relu = [](int64_t x) { return x > 0 ? x : 0; };
    switch (v.op) {
        case Op::Add: return each([](int64_t a, int64_t b) { return a + b; });
        case Op::Sub: return each([](int64_t a, int64_t b) { return a - b; });
        case Op::Mul: return each([](int64_t a, int64_t b) { return a * b; });
        case Op::AddRelu: return each([relu](int64_t a, int64_t b) { return relu(a + b); });
        case Op::SubRelu: return each([relu](int64_t a, int64_t b) { return relu(a - b); });
        case Op::Adds: return each([scalar](int64_t a, int64_t) { return a + scalar; });
        case Op::Muls: return each([scalar](int64_t a, int64_t) { return a * scalar; });
        default: return false;
    }
}

template <typename T>
void Family(const VectorInstruction& v, const Lanes& lanes) {
    switch (Row(v.op).call) {
        case Call::UNARY: return Unary<T>(v, lanes);
        case Call::BINARY: return Binary<T>(v, lanes);
        case Call::SCALAR: return WithScalar<T>(v, lanes);
        case Call::SHIFT:
            if constexpr (!kReal<T>) Shift<T>(v, lanes);
            return;
        default:
            if constexpr (kReal<T>) {
                if (v.src0.dtype == v.dst.dtype) return Accumulate<T, T>(v, lanes);
                if constexpr (npukb::kSame<T, float>) Accumulate<float, half>(v, lanes);
            }
    }
}

template <typename T>
void Index(const VectorInstruction& v, const Lanes& lanes) {
    T first;
    __builtin_memcpy(&first, &v.scalar, sizeof first);
    auto* d = static_cast<T*>(const_cast<void*>(v.dst.address));
    if (lanes.contiguous) {
        for (int64_t i = 0; i < lanes.total; ++i) d[i] = static_cast<T>(first + static_cast<T>(i));
        return;
    }
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        for (uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
            if (!lanes.On(r, lane)) continue;
            auto* element = reinterpret_cast<uint8_t*>(d) + ElementOffset(v.dst, r, lane, sizeof(T));
            *reinterpret_cast<T*>(element) = static_cast<T>(first + static_cast<T>(r * lanes.per_repeat + lane));
        }
    }
}

template <typename T>
void Fill(const VectorInstruction& v, const Lanes& lanes) {
    T value = static_cast<T>(v.scalar);
    switch (v.op) {
        case Op::Duplicate: return ForEachLane<T, T, T>(v, lanes, [value](T& d, const T&, const T&) { d = value; });
        case Op::Copy: return ForEachLane<T, T, T>(v, lanes, [](T& d, const T& a, const T&) { d = a; });
        case Op::Brcb: {
            auto* d = static_cast<uint8_t*>(const_cast<void*>(v.dst.address));
            auto* a = static_cast<const T*>(v.src0.address);
            for (uint32_t r = 0; r < v.repeat; ++r) {
                for (uint32_t i = 0; i < 8; ++i) {
                    auto* block = reinterpret_cast<T*>(
                        d + (static_cast<uint64_t>(r) * v.dst.repeat_stride + i * v.dst.block_stride) * 32);
                    for (uint32_t e = 0; e < 32 / sizeof(T); ++e) block[e] = a[r * 8 + i];
                }
            }
            return;
        }
        default: return;
    }
}

}  // namespace

void ExecuteElementwise(const Core& core, const VectorInstruction& v, const Lanes& lanes) {
    if (core.vector.saturate && v.dst.dtype == DType::I16 && Saturating<int16_t>(v, lanes)) return;
    if (core.vector.saturate && v.dst.dtype == DType::I32 && Saturating<int32_t>(v, lanes)) return;
    switch (v.dst.dtype) {
        case DType::F16: return Family<half>(v, lanes);
        case DType::F32: return Family<float>(v, lanes);
        case DType::I16: return Family<int16_t>(v, lanes);
        case DType::U16: return Family<uint16_t>(v, lanes);
        case DType::I32: return Family<int32_t>(v, lanes);
        case DType::U32: return Family<uint32_t>(v, lanes);
        default: return;
    }
}

void SaturateResults(const VectorInstruction& v, const Lanes& lanes) {
    VectorInstruction results = v;
    results.src0 = results.src1 = v.dst;
    bool brain = v.dst.dtype == DType::BF16;
    if (!brain && v.dst.dtype != DType::F16) return;
    uint16_t infinity = brain ? 0x7f80 : 0x7c00;
    ForEachLane<uint16_t, uint16_t, uint16_t>(
        results, lanes, [infinity](uint16_t& d, const uint16_t& a, const uint16_t&) {
            int magnitude = a & 0x7fff;
            auto largest = static_cast<uint16_t>((a & 0x8000) | (infinity - 1));
            d = magnitude > infinity ? uint16_t(0) : (magnitude == infinity ? largest : a);
        });
}

void ExecuteFill(const VectorInstruction& v, const Lanes& lanes) {
    if (v.op == Op::CreateVecIndex) {
        switch (v.dst.dtype) {
            case DType::F16: return Index<half>(v, lanes);
            case DType::F32: return Index<float>(v, lanes);
            case DType::I16: return Index<int16_t>(v, lanes);
            case DType::I32: return Index<int32_t>(v, lanes);
            default: return;
        }
    }
    if (Bytes(v.dst.dtype) == 2) return Fill<uint16_t>(v, lanes);
    if (Bytes(v.dst.dtype) == 4) return Fill<uint32_t>(v, lanes);
}

}  // namespace twin
