// Narrowing conversions under every rounding mode, written so that loops over them vectorise.
#pragma once
#include "semantics/numeric.h"

namespace twin {

// Calls f with the mode as a constant, so that its loop is compiled once per mode.
template <Rounding mode>
struct Mode {
    static constexpr Rounding value = mode;
};
template <typename F>
void WithMode(Rounding mode, F f) {
    switch (mode) {
        case Rounding::Floor: return f(Mode<Rounding::Floor>{});
        case Rounding::Ceil: return f(Mode<Rounding::Ceil>{});
        case Rounding::HalfAway: return f(Mode<Rounding::HalfAway>{});
        case Rounding::Truncate: return f(Mode<Rounding::Truncate>{});
        case Rounding::Odd: return f(Mode<Rounding::Odd>{});
        default: return f(Mode<Rounding::Nearest>{});
    }
}

template <Rounding mode>
inline float Integral(float x) {
    if constexpr (mode == Rounding::Floor) return __builtin_floorf(x);
    if constexpr (mode == Rounding::Ceil) return __builtin_ceilf(x);
    if constexpr (mode == Rounding::Truncate) return __builtin_truncf(x);
    if constexpr (mode == Rounding::HalfAway) {
        float t = __builtin_truncf(x);
        float away = __builtin_copysignf(1.0f, x);
        return __builtin_fabsf(x - t) >= 0.5f ? t + away : t;
    }
    return __builtin_rintf(x);  // the runtime never leaves round-to-nearest-even
}

// An integral float as an integer that stops at the limits of its type; NaN becomes 0.
template <typename T>
inline T Saturated(float x) {
    constexpr bool kSigned = static_cast<T>(-1) < T(0);
    if constexpr (sizeof(T) < 4) {
        constexpr float kHigh =
            kSigned ? static_cast<float>((1 << (8 * sizeof(T) - 1)) - 1) : static_cast<float>((1 << 8 * sizeof(T)) - 1);
        constexpr float kLow = kSigned ? -kHigh - 1.0f : 0.0f;
        float y = x > kHigh ? kHigh : (x < kLow ? kLow : x);
        y = x != x ? 0.0f : y;
        return static_cast<T>(static_cast<int32_t>(y));
    } else {
        constexpr float kEnd = sizeof(T) == 4 ? 2147483648.0f : 9223372036854775808.0f;
        constexpr T kMost = sizeof(T) == 4 ? static_cast<T>(INT32_MAX) : static_cast<T>(INT64_MAX);
        bool inside = x < kEnd && x > -kEnd;
        T y = static_cast<T>(inside ? x : 0.0f);
        y = x >= kEnd ? kMost : y;
        return x <= -kEnd ? static_cast<T>(-kMost - 1) : y;
    }
}

// A float as a half: the nearest one, moved by one place where the mode wants the other neighbour. Beyond 2^16 it is
// infinite.
template <Rounding mode>
inline half HalfFrom(float x) {
    half near = static_cast<half>(x);
    if constexpr (mode == Rounding::Nearest) return near;
    auto bits = static_cast<int32_t>(Bits<uint16_t>(near));
    float back = __builtin_fabsf(static_cast<float>(near));
    float magnitude = __builtin_fabsf(x);
    bool negative = Bits<uint32_t>(x) >> 31;
    bool larger = back > magnitude && magnitude < 65536.0f;
    bool smaller = back < magnitude;
    int32_t step = 0;
    if constexpr (mode == Rounding::Truncate) step = larger ? -1 : 0;
    if constexpr (mode == Rounding::Floor) step = negative ? (smaller ? 1 : 0) : (larger ? -1 : 0);
    if constexpr (mode == Rounding::Ceil) step = negative ? (larger ? -1 : 0) : (smaller ? 1 : 0);
    if constexpr (mode == Rounding::Odd) step = (bits & 1) != 0 ? 0 : (larger ? -1 : (smaller ? 1 : 0));
    if constexpr (mode == Rounding::HalfAway) {
        float next = __builtin_fabsf(static_cast<float>(Bits<half>(static_cast<uint16_t>(bits + 1))));
        step = smaller && magnitude - back == next - magnitude ? 1 : 0;
    }
    return Bits<half>(static_cast<uint16_t>(bits + step));
}

// A float as a bfloat16, which is its upper half.
template <Rounding mode>
inline uint16_t BrainFrom(float x) {
    if constexpr (mode == Rounding::Nearest) return bfloat16_t(x).bits;
    uint32_t bits = Bits<uint32_t>(x);
    uint32_t rest = bits & 0xffff;
    bool negative = bits >> 31;
    uint32_t up = 0;
    if constexpr (mode == Rounding::Floor) up = negative && rest != 0 ? 1 : 0;
    if constexpr (mode == Rounding::Ceil) up = !negative && rest != 0 ? 1 : 0;
    if constexpr (mode == Rounding::HalfAway) up = rest >= 0x8000 ? 1 : 0;
    if constexpr (mode == Rounding::Odd) up = rest != 0 && (bits >> 16 & 1) == 0 ? 1 : 0;
    bool nan = (bits & 0x7fffffff) > 0x7f800000;
    bool infinite = (bits & 0x7fffffff) == 0x7f800000;
    uint32_t kept = bits >> 16;
    return static_cast<uint16_t>(nan ? (kept | 0x40) : (infinite ? kept : kept + up));
}

}  // namespace twin
