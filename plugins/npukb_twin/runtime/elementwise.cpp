// Element-wise arithmetic, and the instructions that fill or move elements. One functor per instruction.
#include "lanes.h"
#include "numeric.h"

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

template <typename T>
inline T Larger(T a, T b) {
    return a > b || a != a ? a : b;
}
template <typename T>
inline T Smaller(T a, T b) {
    return a < b || a != a ? a : b;
}
template <typename T>
inline T Rectified(T a) {
    return a > T(0) || a != a ? a : T(0);
}

template <typename T>
void Unary(const VectorInstruction& v, const Lanes& lanes) {
    auto each = [&](auto f) { ForEachLane<T, T, T>(v, lanes, [f](T& d, const T& a, const T&) { d = f(a); }); };
    switch (v.op) {
        case Op::Relu: return each([](T a) { return Rectified(a); });
        case Op::Not:
            if constexpr (!kReal<T>) each([](T a) { return static_cast<T>(~a); });
            return;
        default: break;
    }
    if constexpr (kReal<T>) {
        switch (v.op) {
            case Op::Abs: return each([](T a) { return static_cast<T>(__builtin_fabsf(Wide(a))); });
            case Op::Exp: return each([](T a) { return static_cast<T>(ExpFloat(Wide(a))); });
            case Op::Ln: return each([](T a) { return static_cast<T>(LnFloat(Wide(a))); });
            case Op::Reciprocal: return each([](T a) { return static_cast<T>(1.0f / Wide(a)); });
            case Op::Rsqrt: return each([](T a) { return static_cast<T>(static_cast<float>(1.0 / __builtin_sqrt(Wide(a)))); });
            case Op::Sqrt: return each([](T a) { return static_cast<T>(__builtin_sqrtf(Wide(a))); });
            default: return;
        }
    }
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

template <typename T>
void Accumulate(const VectorInstruction& v, const Lanes& lanes) {
    auto each = [&](auto f) { ForEachLane<T, T, T>(v, lanes, [f](T& d, const T& a, const T& b) { d = static_cast<T>(f(Wide(d), Wide(a), Wide(b))); }); };
    if constexpr (kReal<T>) {
        switch (v.op) {
            case Op::MulAddDst: return each([](float d, float a, float b) { return a * b + d; });
            case Op::FusedMulAdd: return each([](float d, float a, float b) { return a * d + b; });
            case Op::MulAddRelu: return each([](float d, float a, float b) { return Rectified(a * d + b); });
            default: return;
        }
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
        if (v.op == Op::LeakyRelu) each([](T a, T b) { return a > T(0) ? a : static_cast<T>(a * b); });
        if (v.op == Op::Axpy) {
            ForEachLane<T, T, T>(v, lanes, [s](T& d, const T& a, const T&) { d = static_cast<T>(Wide(a) * Wide(s) + Wide(d)); });
        }
    } else {
        constexpr int kBits = 8 * sizeof(T);
        if (v.op == Op::ShiftLeft) each([](T a, T b) { return b >= kBits ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << b); });
        if (v.op == Op::ShiftRight) each([](T a, T b) { return static_cast<T>(a >> (b >= kBits ? kBits - 1 : b)); });
    }
}

template <typename T>
void Family(const VectorInstruction& v, const Lanes& lanes) {
    switch (v.op) {
#define NPUKB_UNARY(name, t, c16, c32) case Op::name:
#include "../include/twin/instructions.def"
        return Unary<T>(v, lanes);
#define NPUKB_BINARY(name, t, c16, c32) case Op::name:
#include "../include/twin/instructions.def"
        return Binary<T>(v, lanes);
#define NPUKB_ACCUMULATE(name, t, c16, c32) case Op::name:
#include "../include/twin/instructions.def"
        return Accumulate<T>(v, lanes);
#define NPUKB_SCALAR(name, t, c16, c32) case Op::name:
#include "../include/twin/instructions.def"
        return WithScalar<T>(v, lanes);
        default: return;
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
        case Op::Duplicate:
            return ForEachLane<T, T, T>(v, lanes, [value](T& d, const T&, const T&) { d = value; });
        case Op::Copy:
            return ForEachLane<T, T, T>(v, lanes, [](T& d, const T& a, const T&) { d = a; });
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

void ExecuteElementwise(const VectorInstruction& v, const Lanes& lanes) {
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
