// Error function and gamma family, on the terms of semantics/real.h.
#pragma once
#include "semantics/real.h"

namespace twin {
namespace real {

// erf(x)/x - 1 in z = x², on [0.0, 1.0], error 4.0e-16
inline constexpr double kErf[] = {0.1283791670955122,      -0.376126389031744,      0.11283791670580423,
                                  -0.026866170586496874,   0.005223977154105304,    -0.0008548304871782741,
                                  0.00012054681918310599,  -1.4913300906316395e-05, 1.631035651387174e-06,
                                  -1.5188281247335167e-07, 9.428596956834164e-09};
// erfc(x) · exp(x²) · (1 + 2x) in t = (x - 3.75) / (x + 3.75), on [-1.0, 0.477352], error 4.6e-14
inline constexpr double kErfc[] = {1.2375126308378337,     -0.1402405985866635,    0.003585415483307242,
                                   0.082276738601416,      -0.10880392995959179,   0.09230431802462034,
                                   -0.05869340461417971,   0.0283623138045459,     -0.009746490271894883,
                                   0.0017554501054374092,  0.0002930809497879907,  -0.00029003714121490694,
                                   5.3681124349527105e-05, 2.4029217631716284e-05, -1.3343392958160725e-05,
                                   -4.754145747563985e-06, -1.8027658741368274e-07};
// ln(gamma(u + 2)) / (u (u + 1)), on [-1.0, 1.0], error 1.2e-15
inline constexpr double kLgamma[] = {
    0.4227843350984665,     -0.10031730167435363,    0.03296500062133358,    -0.012384192193457294,
    0.004998641156259031,   -0.002108130829872506,   0.0009153770785665488,  -0.0004057074731484343,
    0.00018255114930835727, -8.309440541585384e-05,  3.817722380545098e-05,  -1.7665709404383975e-05,
    8.192828765584198e-06,  -3.833116287646882e-06,  1.8755509317635744e-06, -8.855951686326325e-07,
    3.018395891270956e-07,  -1.4236105253537717e-07, 1.904119884592213e-07,  -9.149733061118459e-08,
    -3.757408128677482e-08, 1.826501857734655e-08,   2.2205818811586364e-08, -1.0720306768374289e-08};

// Bernoulli numbers B(2n) / (2n (2n - 1)), and B(2n) / 2n: asymptotic series of ln(gamma) and of its derivative, in
// 1/z².
inline constexpr double kStirling[] = {1.0 / 12.0,   -1.0 / 360.0,      1.0 / 1260.0, -1.0 / 1680.0,
                                       1.0 / 1188.0, -691.0 / 360360.0, 1.0 / 156.0};
inline constexpr double kDigamma[] = {1.0 / 12.0,  -1.0 / 120.0,     1.0 / 252.0, -1.0 / 240.0,
                                      1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0};

// erfc for x >= 0. Beyond 10.5 it is less than any float.
NPUKB_REAL double ErfcOfPositive(double x) {
    x = x > 10.5 ? 10.5 : x;
    double t = (x - 3.75) / (x + 3.75);
    return Exp(-x * x) * Polynomial(kErfc, t) / (1.0 + 2.0 * x);
}
NPUKB_REAL double Erf(double x) {
    double a = Abs(x);
    double z = a * a;
    double inner = a + a * Polynomial(kErf, a <= 1.0 ? z : 1.0);
    return WithSignOf(a <= 1.0 ? inner : 1.0 - ErfcOfPositive(a), x);
}
NPUKB_REAL double Erfc(double x) {
    double tail = ErfcOfPositive(Abs(x));
    double z = x * x;
    double inner = 1.0 - (x + x * Polynomial(kErf, z <= 0.25 ? z : 0.25));
    double outer = x < 0.0 ? 2.0 - tail : tail;
    return z <= 0.25 ? inner : outer;
}

// ln(gamma(z)) for z >= 8 by Stirling's series, given ln(z).
NPUKB_REAL double Stirling(double z, double log_z) {
    double r = 1.0 / z;
    return ((z - 0.5) * log_z - z) + 0.9189385332046728 + r * Polynomial(kStirling, r * r);
}
// ln(gamma(x)) for x > 0: a polynomial between 1 and 3 (so that the zeros at 1 and 2 keep their relative accuracy), one
// step down from there below 1, and Stirling's series eight steps up otherwise.
NPUKB_REAL double LgammaOfPositive(double x) {
    bool below = x < 1.0, direct = x < 3.0, low = x < 8.0;
    double v = below ? x - 1.0 : x - 2.0;  // the polynomial's u: x + 1 or x, minus 2
    v = direct ? v : 0.0;
    double w = below ? x : x - 1.0;  // u + 1
    double near = v * w * Polynomial(kLgamma, v);
    double p = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0) * (x + 5.0) * (x + 6.0) * (x + 7.0);
    double z = low ? x + 8.0 : x;
    double log_first = LogOfPositive(direct ? (below ? x : 1.0) : z);
    double far = Stirling(z, log_first) - (low ? LogOfPositive(p) : 0.0);
    double result = direct ? near - log_first : far;
    return x < kInfinity ? result : x;
}
// Sine and cosine of pi x, but for the sign that they share.
NPUKB_REAL void SinCosOfPi(double x, double& sine, double& cosine) {
    double s, c;
    SinCosOfRest(0.5 * kPi * (x - __builtin_rint(x)), s, c);
    sine = 2.0 * s * c;
    cosine = c * c - s * s;
}
// ln |gamma(x)|; infinite at the poles 0, -1, -2, …. Absolute error 1e-14 at negative x, where there are zeros.
NPUKB_REAL double Lgamma(double x) {
    bool mirrored = x < 0.5;
    double log_gamma = LgammaOfPositive(mirrored ? 1.0 - x : x);
    double sine, cosine;
    SinCosOfPi(x, sine, cosine);
    double mirror = (1.1447298858494002 - LogOfPositive(Abs(sine))) - log_gamma;
    mirror = sine == 0.0 ? kInfinity : mirror;
    double result = mirrored ? mirror : log_gamma;
    return Abs(x) == kInfinity ? kInfinity : result;
}

// Logarithmic derivative of gamma, for x > 0: asymptotic series, eight steps up where x is small.
NPUKB_REAL double DigammaOfPositive(double x) {
    bool low = x < 8.0;
    double p = 1.0, slope = 0.0;  // the product x (x + 1) … and its derivative
    for (int i = 0; i < 8; ++i) {
        slope = slope * (x + i) + p;
        p *= x + i;
    }
    double z = low ? x + 8.0 : x;
    double r = 1.0 / z, q = r * r;
    double result = (LogOfPositive(z) - 0.5 * r - q * Polynomial(kDigamma, q)) - (low ? slope / p : 0.0);
    return x < kInfinity ? result : x;
}
// NaN at the poles -1, -2, … and at -infinity; at 0 infinite, with the sign of -x.
NPUKB_REAL double Digamma(double x) {
    bool mirrored = x < 0.5;
    double psi = DigammaOfPositive(mirrored ? 1.0 - x : x);
    double sine, cosine;
    SinCosOfPi(x, sine, cosine);
    double mirror = psi - kPi * (cosine / sine);
    mirror = __builtin_rint(x) == x ? kNan : mirror;
    mirror = x == 0.0 ? WithSignOf(kInfinity, -x) : mirror;
    return mirrored ? mirror : psi;
}

}  // namespace real
}  // namespace twin
