// Arithmetic of the vector unit on the host: correctly rounded where IEEE defines it, the same bits on every machine.
//
// Exp and Ln are computed in double with polynomials whose error is far below half a unit in the last place of a float,
// so their result is the correctly rounded one in all but a few cases in a million, and does not depend on the host's
// math library.
#pragma once
#include <stdint.h>

#include "../../include/twin/types.h"

namespace twin {

template <typename To, typename From>
inline To Bits(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To result;
    __builtin_memcpy(&result, &value, sizeof result);
    return result;
}

inline double RoundMagic(double x) { return x + 6755399441055744.0; }  // 1.5 · 2^52: the sum's low bits hold round(x)

// `degree` of the polynomial: 11 is right for float in all but a few cases in a million, 8 for every half.
template <int degree>
inline double ExpDouble(double x) {
    constexpr double kTerms[] = {
        1.0,         1.0,          0.5,           1.0 / 6.0,      1.0 / 24.0,      1.0 / 120.0,
        1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362880.0, 1.0 / 3628800.0, 1.0 / 39916800.0};
    x = x > 200.0 ? 200.0 : x;
    x = x < -200.0 ? -200.0 : x;
    double shifted = RoundMagic(x * 1.4426950408889634);
    double n = shifted - 6755399441055744.0;
    double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double p = kTerms[degree];
#pragma GCC unroll 16
    for (int i = degree - 1; i >= 0; --i) p = p * r + kTerms[i];
    double scale = Bits<double>((Bits<uint64_t>(shifted) + 1023u) << 52);
    return p * scale;
}
inline float ExpFloat(float value) { return static_cast<float>(ExpDouble<11>(value)); }

// x = 2^exponent · m with m from √½ to √2, and s = (m - 1) / (m + 1), by whose odd powers ln(m) is a series. For
// positive, finite, normal doubles.
struct Mantissa {
    double exponent, s;
};
__attribute__((always_inline)) inline Mantissa MantissaOf(double x) {
    uint64_t bits = Bits<uint64_t>(x);
    double exponent = Bits<double>(((bits >> 52) & 0x7ffu) | 0x4330000000000000ull) - 4503599627370496.0 - 1023.0;
    double m = Bits<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
    bool upper = m > 1.4142135623730951;
    m = upper ? m * 0.5 : m;
    exponent = upper ? exponent + 1.0 : exponent;
    return {exponent, (m - 1.0) / (m + 1.0)};
}

// `terms` of the series: 8 for float, 6 for half.
template <int terms>
inline double LnDouble(double x) {
    auto [exponent, s] = MantissaOf(x);
    double z = s * s;
    double p = 1.0 / (2 * terms - 1);
#pragma GCC unroll 16
    for (int i = terms - 2; i >= 0; --i) p = p * z + 1.0 / (2 * i + 1);
    double result = exponent * 0.6931471805599453 + 2.0 * s * p;
    const double infinity = __builtin_inf();
    result = x == infinity ? infinity : result;
    result = x == 0.0 ? -infinity : result;
    result = x < 0.0 ? __builtin_nan("") : result;
    return x != x ? x : result;
}
inline float LnFloat(float value) { return static_cast<float>(LnDouble<8>(value)); }

inline double RsqrtDouble(double x) { return 1.0 / __builtin_sqrt(x); }

// A double as a half, rounded once: what a float cannot hold is kept in its last bit.
inline half HalfFromDouble(double x) {
    uint64_t bits = Bits<uint64_t>(x);
    uint64_t rest = bits & 0x1fffffffull;
    bits = (bits - rest) | (rest != 0 ? 0x20000000ull : 0);
    return static_cast<half>(static_cast<float>(Bits<double>(bits)));
}

// Floats as integers of their width, in the order of IEEE's total order of numbers: -0 is less than +0.
template <typename T>
struct Ordered;
template <>
struct Ordered<half> {
    using Word = uint16_t;
    using Key = int16_t;
    static constexpr Key kMost = 0x7fff, kInfinity = 0x7c00, kQuiet = 0x0200;
};
template <>
struct Ordered<float> {
    using Word = uint32_t;
    using Key = int32_t;
    static constexpr Key kMost = 0x7fffffff, kInfinity = 0x7f800000, kQuiet = 0x00400000;
};
template <typename T>
inline typename Ordered<T>::Key BitsOf(T value) {
    return Bits<typename Ordered<T>::Key>(value);
}
template <typename T>
inline bool IsNan(T value) {
    return static_cast<typename Ordered<T>::Key>(BitsOf(value) & Ordered<T>::kMost) > Ordered<T>::kInfinity;
}
template <typename T>
inline typename Ordered<T>::Key OrderOf(T value) {
    using Key = typename Ordered<T>::Key;
    Key bits = BitsOf(value);
    return static_cast<Key>(bits < 0 ? bits ^ Ordered<T>::kMost : bits);
}

// A real number on its way into a narrower type, rounded as RoundMode says.
enum class Rounding : uint8_t { None, Nearest, Floor, Ceil, HalfAway, Truncate, Odd };

inline double RoundToIntegral(double x, Rounding mode) {
    double t = __builtin_trunc(x);
    double rest = x - t;
    switch (mode) {
        case Rounding::Floor: return rest < 0 ? t - 1 : t;
        case Rounding::Ceil: return rest > 0 ? t + 1 : t;
        case Rounding::HalfAway: return rest >= 0.5 ? t + 1 : (rest <= -0.5 ? t - 1 : t);
        case Rounding::Truncate: return t;
        default: return __builtin_rint(x);  // the runtime never leaves round-to-nearest-even
    }
}

// Rounds `x` to a binary format with `precision` significant bits and least normal exponent `min_exponent`; overflow is
// to infinity for values that round beyond `largest`.
inline double RoundToFormat(double x, int precision, int min_exponent, double largest, Rounding mode) {
    if (x == 0 || x != x || __builtin_isinf(x)) return x;
    int exponent;
    (void)__builtin_frexp(x, &exponent);  // |x| in [2^(exponent-1), 2^exponent)
    int lowest = exponent - precision;
    if (exponent - 1 < min_exponent) lowest = min_exponent - precision + 1;
    double unit = __builtin_ldexp(1.0, lowest);
    double scaled = x / unit;
    double rounded;
    if (mode == Rounding::Odd) {
        double t = __builtin_trunc(scaled);
        bool inexact = t != scaled;
        bool even = __builtin_fmod(t, 2.0) == 0.0;
        rounded = inexact && even ? t + (x < 0 ? -1.0 : 1.0) : t;
    } else {
        rounded = RoundToIntegral(scaled, mode);
    }
    double result = rounded * unit;
    if (__builtin_fabs(result) > largest) return x < 0 ? -__builtin_inf() : __builtin_inf();
    return result;
}

inline uint16_t BrainFromFloat(float value) { return bfloat16_t(value).bits; }

}  // namespace twin
