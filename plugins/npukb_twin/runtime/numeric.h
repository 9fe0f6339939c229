// Arithmetic of the vector unit on the host: correctly rounded where IEEE defines it, the same bits on every machine.
//
// Exp and Ln are computed in double with polynomials whose error is far below half a unit in the last place of a float, so their
// result is the correctly rounded one in all but a few cases in a million, and does not depend on the host's math library.
#pragma once
#include <stdint.h>

#include "../include/twin/types.h"

namespace twin {

template <typename To, typename From>
inline To Bits(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To result;
    __builtin_memcpy(&result, &value, sizeof result);
    return result;
}

inline double RoundMagic(double x) { return x + 6755399441055744.0; }  // 1.5 · 2^52: the sum's low bits hold round(x)

inline double ExpDouble(double x) {
    x = x > 200.0 ? 200.0 : x;
    x = x < -200.0 ? -200.0 : x;
    double shifted = RoundMagic(x * 1.4426950408889634);
    double n = shifted - 6755399441055744.0;
    double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double p = 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    double scale = Bits<double>((Bits<uint64_t>(shifted) + 1023u) << 52);
    return p * scale;
}
inline float ExpFloat(float value) { return static_cast<float>(ExpDouble(value)); }

inline double LnDouble(double x) {
    uint64_t bits = Bits<uint64_t>(x);
    double exponent = Bits<double>(((bits >> 52) & 0x7ffu) | 0x4330000000000000ull) - 4503599627370496.0 - 1023.0;
    double m = Bits<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
    bool upper = m > 1.4142135623730951;
    m = upper ? m * 0.5 : m;
    exponent = upper ? exponent + 1.0 : exponent;
    double s = (m - 1.0) / (m + 1.0);
    double z = s * s;
    double p = 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    p = p * z + 1.0;
    double result = exponent * 0.6931471805599453 + 2.0 * s * p;
    const double infinity = __builtin_inf();
    result = x == infinity ? infinity : result;
    result = x == 0.0 ? -infinity : result;
    result = x < 0.0 ? __builtin_nan("") : result;
    return x != x ? x : result;
}
inline float LnFloat(float value) { return static_cast<float>(LnDouble(value)); }

inline double RsqrtDouble(double x) { return 1.0 / __builtin_sqrt(x); }

// A double as a half, rounded once: the float in between keeps in its last bit that something was cut off.
inline half HalfFromDouble(double x) {
    auto near = static_cast<float>(x);
    auto back = static_cast<double>(near);
    uint32_t bits = Bits<uint32_t>(near);
    bool even = (bits & 1) == 0;
    bool larger = __builtin_fabs(back) > __builtin_fabs(x);
    bool smaller = __builtin_fabs(back) < __builtin_fabs(x);
    bits = even && larger ? bits - 1 : (even && smaller ? bits + 1 : bits);
    return static_cast<half>(Bits<float>(bits));
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

// Rounds `x` to a binary format with `precision` significant bits and least normal exponent `min_exponent`; overflow is to
// infinity for values that round beyond `largest`.
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
