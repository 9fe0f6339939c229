// Element-wise library functions over many numbers: half, bfloat16 and float become double, piece by piece, are
// computed as doubles (semantics/real.h) and are rounded once.
#pragma once
#include "../../include/twin/library/abi.h"
#include "library/call.h"
#include "semantics/real.h"

#if defined(__clang__)
#define NPUKB_VECTORIZE _Pragma("clang loop vectorize(enable) interleave(enable)")
#else
#define NPUKB_VECTORIZE _Pragma("GCC ivdep")
#endif

namespace twin {

inline constexpr int64_t kPiece = 512;  // elements computed at a time: what is in flight stays in the first-level cache

void Widen(double* wide, const void* from, int64_t first, int64_t n, npukb::DType type);
void Narrow(void* to, const double* wide, int64_t first, int64_t n, npukb::DType type);

// One scalar operand, of the type given, as a double.
double WidenScalar(const void* scalar, npukb::DType type);

using UnaryPiece = void (*)(double* d, const double* a, int64_t n);
using BinaryPiece = void (*)(double* d, const double* a, const double* b, int64_t n);

template <double (*f)(double)>
void EachOf(double* __restrict d, const double* __restrict a, int64_t n) {
    NPUKB_VECTORIZE
    for (int64_t i = 0; i < n; ++i) d[i] = f(a[i]);
}
// A function of an angle: `near` for small arguments, which nearly all are, `f` for the others.
template <double (*near)(double), double (*f)(double)>
void EachAngle(double* __restrict d, const double* __restrict a, int64_t n) {
    bool small = true;
    NPUKB_VECTORIZE
    for (int64_t i = 0; i < n; ++i) {
        small &= real::Abs(a[i]) <= real::kNear;
        d[i] = near(a[i]);
    }
    for (int64_t i = 0; i < n && !small; ++i) {
        if (!(real::Abs(a[i]) <= real::kNear)) d[i] = f(a[i]);
    }
}
template <double (*f)(double, double)>
void EachOfTwo(double* __restrict d, const double* __restrict a, const double* __restrict b, int64_t n) {
    NPUKB_VECTORIZE
    for (int64_t i = 0; i < n; ++i) d[i] = f(a[i], b[i]);
}

}  // namespace twin
