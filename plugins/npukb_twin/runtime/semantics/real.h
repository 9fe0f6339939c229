// Elementary functions of a real number on the host: the same bits on every machine, and close enough to the truth that
// a result rounded to float is the correctly rounded one in all but a few cases in a million.
//
// Everything is double arithmetic of add, multiply, fused multiply-add, divide, square root and rounding, which IEEE
// defines to the last bit; no library function, no branch, so that loops over these functions become vector code.
// Arguments come from half or float; results are meant to be rounded to one of them, so overflow is wherever a float
// overflows. The relative error is below 1e-13 unless said otherwise. Polynomials interpolate at Chebyshev nodes; the
// error given is that of the polynomial.
#pragma once
#include "semantics/numeric.h"

// Inlined without asking: a call in a loop keeps the loop from becoming vector code.
#define NPUKB_REAL __attribute__((always_inline)) inline

namespace twin {
namespace real {

inline constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453, kLog10Of2 = 0.3010299956639812;
inline constexpr double kLog10E = 0.4342944819032518, kHalfPi = 1.5707963267948966, kPi = 3.141592653589793;
inline constexpr double kLn2High = 0.6931471803691238, kLn2Low = 1.9082149292705877e-10;
inline constexpr double kMagic = 6755399441055744.0;  // 1.5 · 2^52: adding it leaves an integer in the sum's low bits
inline constexpr double kInfinity = __builtin_inf(), kNan = __builtin_nan("");

// (exp(r) - 1 - r) / r², on [-0.346608, 0.346608], error 1.2e-16
inline constexpr double kExp[] = {0.5000000000000001,     0.16666666666666669,    0.04166666666662413,
                                  0.008333333333330062,   0.0013888888917213717,  0.00019841269863053618,
                                  2.4801521295954376e-05, 2.7557268459997064e-06, 2.7620088445409746e-07,
                                  2.510038549551032e-08};
// (atanh(s)/s - 1) / z with z = s², on [0.0, 0.0294402], error 2.4e-14
inline constexpr double kLog[] = {0.3333333333333104,  0.200000000056061,   0.14285712068258175,
                                  0.11111431238424771, 0.09070092601246624, 0.083109735450887};
// (sin(t)/t - 1) / z with z = t², on [0.0, 0.616974], error 3.2e-17
inline constexpr double kSin[] = {-0.16666666666666666,  0.008333333333330946,    -0.0001984126983675497,
                                  2.755731610068303e-06, -2.5051131455427946e-08, 1.591810123027412e-10};
// (cos(t) - 1 + z/2) / z² with z = t², on [0.0, 0.616974], error 2.3e-18
inline constexpr double kCos[] = {0.041666666666666664,    -0.0013888888888887395, 2.4801587298763433e-05,
                                  -2.7557317270560326e-07, 2.0876146024689747e-09, -1.1382614868556325e-11};
// (atan(s)/s - 1) / z with z = s², on [0.0, 0.171744], error 9.1e-16
inline constexpr double kAtan[] = {
    -0.3333333333333324, 0.1999999999989756,   -0.1428571426595293,  0.11111109627206857,  -0.09090852255728335,
    0.0769104971487617,  -0.06649556219483789, 0.057359799104905136, -0.04482174587127949, 0.022734660289432315};
// (asin(s)/s - 1) / z with z = s², on [0.0, 0.25], error 3.7e-15
inline constexpr double kAsin[] = {0.1666666666666695,    0.07499999999726302,  0.044642857578717755,
                                   0.030381917485400308,  0.022373010066676288, 0.017337192543712077,
                                   0.014140941807431192,  0.0102896411236249,   0.015445133336819308,
                                   -0.006822043980671263, 0.027871289137110143};

// a · b + c, rounded once. Fused where it is written so, and nowhere else: the compiler may not choose.
NPUKB_REAL double MulAdd(double a, double b, double c) { return __builtin_fma(a, b, c); }

template <int n>
NPUKB_REAL double Polynomial(const double (&c)[n], double x) {
    double p = c[n - 1];
    for (int i = n - 2; i >= 0; --i) p = MulAdd(p, x, c[i]);
    return p;
}

NPUKB_REAL double Abs(double x) { return __builtin_fabs(x); }
NPUKB_REAL double WithSignOf(double magnitude, double sign) { return __builtin_copysign(magnitude, sign); }

// exp(x) = scale · (1 + rest), from 0 (almost: float has nothing there) to infinity.
struct ExpParts {
    double scale, rest;
};
NPUKB_REAL ExpParts SplitExp(double x) {
    x = x > 710.0 ? 710.0 : x;
    x = x < -700.0 ? -700.0 : x;
    double shifted = MulAdd(x, kLog2E, kMagic);
    double n = shifted - kMagic;
    double r = MulAdd(-n, kLn2Low, MulAdd(-n, kLn2High, x));
    return {Bits<double>((Bits<uint64_t>(shifted) + 1023u) << 52), MulAdd(r * r, Polynomial(kExp, r), r)};
}
NPUKB_REAL double Exp(double x) {
    ExpParts e = SplitExp(x);
    return e.scale * (1.0 + e.rest);  // not fused: the scale may be infinite
}
NPUKB_REAL double Expm1(double x) {
    ExpParts e = SplitExp(x > 700.0 ? 700.0 : x);
    return MulAdd(e.scale, e.rest, e.scale - 1.0);
}

// x = 2^exponent · m with m near 1; log is ln(m). For positive, finite, normal doubles.
struct LogParts {
    double exponent, log;
};
NPUKB_REAL LogParts SplitLog(double x) {
    auto [exponent, s] = MantissaOf(x);
    double z = s * s;
    double twice = s + s;
    return {exponent, MulAdd(twice, z * Polynomial(kLog, z), twice)};
}
// What a logarithm is outside of its domain and at its ends.
NPUKB_REAL double LogOrSpecial(double x, double log) {
    log = x == kInfinity ? kInfinity : log;
    log = x == 0.0 ? -kInfinity : log;
    log = x < 0.0 ? kNan : log;
    return x != x ? x : log;
}
NPUKB_REAL double LogOfPositive(double x) {
    LogParts p = SplitLog(x);
    return MulAdd(p.exponent, kLn2High, MulAdd(p.exponent, kLn2Low, p.log));
}
NPUKB_REAL double Log(double x) { return LogOrSpecial(x, LogOfPositive(x)); }
NPUKB_REAL double Log2(double x) {
    LogParts p = SplitLog(x);
    return LogOrSpecial(x, p.exponent + p.log * kLog2E);
}
NPUKB_REAL double Log10(double x) {
    LogParts p = SplitLog(x);
    return LogOrSpecial(x, p.exponent * kLog10Of2 + p.log * kLog10E);
}
// ln(1 + x): what rounding 1 + x lost is put back.
NPUKB_REAL double Log1p(double x) {
    double w = 1.0 + x;
    double lost = (x - (w - 1.0)) / w;
    double result = LogOfPositive(w) + lost;
    result = w == kInfinity ? kInfinity : result;
    result = w == 0.0 ? -kInfinity : result;
    result = w < 0.0 ? kNan : result;
    return x != x ? x : result;
}

// 2/pi · 2^(e - 23) modulo 4 for every exponent e of a float, in three pieces of 29, 29 and 53 bits. A float is an
// integer of 24 bits times 2^(e - 23): times the first two pieces it is exact, so the angle is known to 2^-80 of a
// quarter turn, however large it is.
inline constexpr int kLeastExponent = -32, kExponents = 128 - kLeastExponent;
struct Turns {
    double piece[3][kExponents];
};
constexpr double PowerOfTwo(int n) {
    double p = 1.0;
    for (int i = 0; i < n; ++i) p *= 2.0;
    for (int i = 0; i > n; --i) p *= 0.5;
    return p;
}
constexpr Turns MakeTurns() {
    constexpr uint64_t two_over_pi[] = {0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
                                        0xfe5163abdebbc561ull};
    constexpr int width[] = {29, 29, 53};
    Turns turns{};
    for (int i = 0; i < kExponents; ++i) {
        int e = i + kLeastExponent - 23;
        int bit = e > 2 ? e - 1 : 1;  // bit b of 2/pi, counted from 1 after the point, weighs 2^(e - b)
        for (int k = 0; k < 3; ++k) {
            uint64_t value = 0;
            for (int j = 0; j < width[k]; ++j, ++bit) {
                value = value << 1 | (bit <= 256 ? two_over_pi[(bit - 1) / 64] >> (63 - (bit - 1) % 64) & 1 : 0);
            }
            turns.piece[k][i] = static_cast<double>(value) * PowerOfTwo(e - (bit - 1));
        }
    }
    return turns;
}
inline constexpr Turns kTurns = MakeTurns();

// An angle as quarter turns and what is left, between -pi/4 and pi/4: sine and cosine of the rest, before quadrants are
// looked at.
struct Angle {
    double sin, cos;
    uint64_t quarter;
};
NPUKB_REAL void SinCosOfRest(double t, double& s, double& c) {
    double z = t * t;
    s = t * (1.0 + z * Polynomial(kSin, z));
    c = 1.0 - (0.5 * z - z * z * Polynomial(kCos, z));
}
NPUKB_REAL Angle Reduce(double x) {
    uint64_t bits = Bits<uint64_t>(x);
    auto exponent = static_cast<int64_t>(bits >> 52 & 0x7ffu) - 1023;
    double m = Bits<double>((bits & 0x800fffffffffffffull) | 0x3ff0000000000000ull) * 8388608.0;
    bool tiny = exponent < kLeastExponent;
    int64_t index = exponent - kLeastExponent;
    index = tiny ? 0 : index;
    index = index > kExponents - 1 ? kExponents - 1 : index;
    double first = m * kTurns.piece[0][index];
    double shifted = first + kMagic;
    double rest = ((first - (shifted - kMagic)) + m * kTurns.piece[1][index]) + m * kTurns.piece[2][index];
    double t = rest * kHalfPi;
    t = tiny ? x : t;
    t = Abs(x) < kInfinity ? t : kNan;
    Angle a;
    SinCosOfRest(t, a.sin, a.cos);
    a.quarter = Bits<uint64_t>(shifted);
    return a;
}
NPUKB_REAL double Negated(double value, uint64_t when) {
    return Bits<double>(Bits<uint64_t>(value) ^ (when & 1) << 63);
}
// The same for arguments up to 65536, without the table: pi/2 in three pieces of 33, 33 and 53 bits.
inline constexpr double kNear = 65536.0;
NPUKB_REAL Angle ReduceNear(double x) {
    double shifted = x * 0.6366197723675814 + kMagic;
    double n = shifted - kMagic;
    double t = ((x - n * 1.5707963267341256) - n * 6.077100506303966e-11) - n * 2.0222662487959506e-21;
    Angle a;
    SinCosOfRest(t, a.sin, a.cos);
    a.quarter = Bits<uint64_t>(shifted);
    return a;
}
NPUKB_REAL double SinOf(const Angle& a) { return Negated((a.quarter & 1) != 0 ? a.cos : a.sin, a.quarter >> 1); }
NPUKB_REAL double CosOf(const Angle& a) { return Negated((a.quarter & 1) != 0 ? a.sin : a.cos, (a.quarter + 1) >> 1); }
NPUKB_REAL double TanOf(const Angle& a) {
    bool odd = (a.quarter & 1) != 0;
    return Negated((odd ? a.cos : a.sin) / (odd ? a.sin : a.cos), a.quarter);
}
NPUKB_REAL double Sin(double x) { return SinOf(Reduce(x)); }
NPUKB_REAL double Cos(double x) { return CosOf(Reduce(x)); }
NPUKB_REAL double Tan(double x) { return TanOf(Reduce(x)); }
NPUKB_REAL double SinNear(double x) { return SinOf(ReduceNear(x)); }
NPUKB_REAL double CosNear(double x) { return CosOf(ReduceNear(x)); }
NPUKB_REAL double TanNear(double x) { return TanOf(ReduceNear(x)); }

// asin(a) up to a = ½, and half of acos(a) above.
struct Arc {
    bool inner;
    double p;
};
NPUKB_REAL Arc ArcOf(double a) {
    bool inner = a <= 0.5;
    double z = inner ? a * a : 0.5 * (1.0 - a);
    double s = inner ? a : __builtin_sqrt(z);
    return {inner, s + s * (z * Polynomial(kAsin, z))};
}
NPUKB_REAL double Asin(double x) {
    auto [inner, p] = ArcOf(Abs(x));
    return WithSignOf(inner ? p : kHalfPi - 2.0 * p, x);
}
NPUKB_REAL double Acos(double x) {
    auto [inner, p] = ArcOf(Abs(x));
    double outer = x > 0.0 ? 2.0 * p : kPi - 2.0 * p;
    return inner ? kHalfPi - WithSignOf(p, x) : outer;
}
NPUKB_REAL double Atan(double x) {
    double a = Abs(x);
    bool large = a > 2.414213562373095, middle = a > 0.41421356237309503;
    double numerator = large ? -1.0 : (middle ? a - 1.0 : a);
    double denominator = large ? a : (middle ? a + 1.0 : 1.0);
    double base = large ? kHalfPi : (middle ? 0.5 * kHalfPi : 0.0);
    double s = numerator / denominator;
    double z = s * s;
    return WithSignOf(base + (s + s * (z * Polynomial(kAtan, z))), x);
}

NPUKB_REAL double Sinh(double x) {
    double t = Expm1(Abs(x));
    return WithSignOf(0.5 * (t + t / (t + 1.0)), x);
}
NPUKB_REAL double Cosh(double x) {
    double e = Exp(Abs(x));
    return 0.5 * (e + 1.0 / e);
}
NPUKB_REAL double Tanh(double x) {
    double t = Expm1(-2.0 * Abs(x));
    return WithSignOf(-t / (t + 2.0), x);
}
NPUKB_REAL double Asinh(double x) {
    double a = Abs(x);
    double result = Log1p(a + a * a / (1.0 + __builtin_sqrt(a * a + 1.0)));
    return WithSignOf(a == kInfinity ? a : result, x);
}
NPUKB_REAL double Acosh(double x) {
    double t = x - 1.0;
    double result = Log1p(t + __builtin_sqrt(t * (t + 2.0)));
    return t < 0.0 ? kNan : result;
}
NPUKB_REAL double Atanh(double x) {
    double a = Abs(x);
    return WithSignOf(0.5 * Log1p(2.0 * a / (1.0 - a)), x);
}

NPUKB_REAL double Sigmoid(double x) { return 1.0 / (1.0 + Exp(-x)); }

// Takes the noise of a computation out of a result that may be exact: what is within 2^-44 of a number with 44
// significant bits becomes that number, so that rounding it afterwards breaks ties as rounding the true value would.
NPUKB_REAL double Denoised(double x) {
    double t = x * 513.0;
    double rounded = t - (t - x);
    return Abs(x) < 1e300 ? rounded : x;
}

// x to the power y, with C's special values; `magnitude` is that of |x|, which is enough where x is positive and both
// are finite.
NPUKB_REAL double PowerOf(double x, double y, double magnitude) {
    double a = Abs(x);
    double result = magnitude;
    bool integral = __builtin_rint(y) == y;
    bool odd = integral && __builtin_rint(0.5 * y) != 0.5 * y;
    bool negative = Bits<uint64_t>(x) >> 63 != 0;
    result = odd && negative ? -result : result;
    result = x < 0.0 && !integral && a != kInfinity ? kNan : result;
    result = a == 1.0 && Abs(y) == kInfinity ? 1.0 : result;
    return x == 1.0 || y == 0.0 ? 1.0 : result;
}

// The remainder of x / y with the sign of x, exact. Floats whose quotient is below 2^29: Fmod takes the general case.
NPUKB_REAL bool FmodIsSmall(double x, double y) { return Abs(x) < Abs(y) * 536870912.0; }
NPUKB_REAL double FmodSmall(double x, double y) {
    double a = Abs(x), b = Abs(y);
    double r = a - __builtin_trunc(a / b) * b;  // the product has at most 53 bits, and so has the difference
    r = r < 0.0 ? r + b : r;
    r = r >= b ? r - b : r;
    return WithSignOf(b == kInfinity && a < b ? a : r, x);
}

// The nearest half to x, ties to even. Going through float would round twice, so the float keeps a trace of what it
// lost.
NPUKB_REAL half RoundToHalf(double x) {
    auto f = static_cast<float>(x);
    double lost = x - static_cast<double>(f);
    auto bits = Bits<int32_t>(f);
    int32_t step = (lost > 0.0) == (bits >= 0) ? 1 : -1;
    bool inexact = lost != 0.0 && (bits & 1) == 0 && Abs(f) < kInfinity && lost == lost;
    bits += inexact ? step : 0;
    return static_cast<half>(Bits<float>(bits));
}

}  // namespace real
}  // namespace twin
