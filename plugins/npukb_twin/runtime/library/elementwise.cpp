// Element-wise functions of the high-level library: dispatch, checks, and the loops over pieces.
#include "library/elementwise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "semantics/half_table.h"
#include "semantics/real_special.h"

namespace twin {
namespace {

using npukb::BufferView;
using npukb::DType;
using npukb::LibraryOp;

template <typename T>
void WidenAs(double* __restrict wide, const T* __restrict from, int64_t n) {
    NPUKB_VECTORIZE
    for (int64_t i = 0; i < n; ++i) wide[i] = static_cast<double>(static_cast<float>(from[i]));
}

double Silu(double x) { return x / (1.0 + real::Exp(-x)); }
// The tanh form of the Gaussian error linear unit: x · sigmoid(sqrt(8/pi) (x + 0.044715 x³)).
double Gelu(double x) { return x / (1.0 + real::Exp(-1.5957691216057308 * (x + 0.044715 * (x * x * x)))); }
double FasterGelu(double x) { return x / (1.0 + real::Exp(-1.702 * x)); }
double FasterGeluV2(double x) {
    double a = real::Abs(0.7071 * x);
    double clipped = (a > 1.769 ? 1.769 : a) - 1.769;
    double s = x + 1e-12 < 0.0 ? -1.0 : 1.0;
    return x * (s * (-0.1444 * (clipped * clipped) + 0.5) + 0.5);
}
double ReGlu(double a, double b) { return a * (b > 0.0 || b != b ? b : 0.0); }
double GeGLU(double a, double b) { return a * Gelu(b); }

// Functions whose results are exact in the type of their arguments need no wider one.
template <typename T, float (*f)(float)>
void Exactly(void* d, const void* a, int64_t n) {
    auto* to = static_cast<T*>(d);
    auto* from = static_cast<const T*>(a);
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(f(static_cast<float>(from[i])));
}
float Sign(float x) { return x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : 0.0f); }  // 0 for NaN, as documented
float Round(float x) { return __builtin_rintf(x); }
float Floor(float x) { return __builtin_floorf(x); }
float Ceil(float x) { return __builtin_ceilf(x); }
float Trunc(float x) { return __builtin_truncf(x); }
float Frac(float x) { return x - __builtin_truncf(x); }

template <typename T>
bool ExactOf(LibraryOp op, void* d, const void* a, int64_t n) {
    switch (op) {
        case LibraryOp::Ceil: return Exactly<T, Ceil>(d, a, n), true;
        case LibraryOp::Floor: return Exactly<T, Floor>(d, a, n), true;
        case LibraryOp::Frac: return Exactly<T, Frac>(d, a, n), true;
        case LibraryOp::Round: return Exactly<T, Round>(d, a, n), true;
        case LibraryOp::Sign: return Exactly<T, Sign>(d, a, n), true;
        case LibraryOp::Trunc: return Exactly<T, Trunc>(d, a, n), true;
        default: return false;
    }
}

UnaryPiece UnaryOf(LibraryOp op) {
    switch (op) {
        case LibraryOp::Acos: return EachOf<real::Acos>;
        case LibraryOp::Acosh: return EachOf<real::Acosh>;
        case LibraryOp::Asin: return EachOf<real::Asin>;
        case LibraryOp::Asinh: return EachOf<real::Asinh>;
        case LibraryOp::Atan: return EachOf<real::Atan>;
        case LibraryOp::Atanh: return EachOf<real::Atanh>;
        case LibraryOp::Cos: return EachAngle<real::CosNear, real::Cos>;
        case LibraryOp::Cosh: return EachOf<real::Cosh>;
        case LibraryOp::Digamma: return EachOf<real::Digamma>;
        case LibraryOp::Erf: return EachOf<real::Erf>;
        case LibraryOp::Erfc: return EachOf<real::Erfc>;
        case LibraryOp::Exp: return EachOf<real::Exp>;
        case LibraryOp::FasterGelu: return EachOf<FasterGelu>;
        case LibraryOp::FasterGeluV2: return EachOf<FasterGeluV2>;
        case LibraryOp::Gelu: return EachOf<Gelu>;
        case LibraryOp::Lgamma: return EachOf<real::Lgamma>;
        case LibraryOp::Log: return EachOf<real::Log>;
        case LibraryOp::Log10: return EachOf<real::Log10>;
        case LibraryOp::Log2: return EachOf<real::Log2>;
        case LibraryOp::Sigmoid: return EachOf<real::Sigmoid>;
        case LibraryOp::Silu: return EachOf<Silu>;
        case LibraryOp::Sin: return EachAngle<real::SinNear, real::Sin>;
        case LibraryOp::Sinh: return EachOf<real::Sinh>;
        case LibraryOp::Tan: return EachAngle<real::TanNear, real::Tan>;
        case LibraryOp::Tanh: return EachOf<real::Tanh>;
        default: return nullptr;
    }
}

// `piece` over elements of any number.
void InPieces(UnaryPiece piece, void* d, const void* a, DType type, int64_t count) {
    double wide[kPiece], result[kPiece];
    for (int64_t first = 0; first < count; first += kPiece) {
        int64_t n = count - first < kPiece ? count - first : kPiece;
        Widen(wide, a, first, n, type);
        piece(result, wide, n);
        Narrow(d, result, first, n, type);
    }
}

// Results of `op` for halves when they need not be computed any more.
const uint16_t* TableOf(LibraryOp op, UnaryPiece piece, int64_t count) {
    static HalfTable tables[256];
    return tables[static_cast<int>(op)].For(
        count, [piece](void* to, const void* from, int64_t n) { InPieces(piece, to, from, DType::F16, n); });
}

void Fmod(double* __restrict d, const double* __restrict a, const double* __restrict b, int64_t n) {
    bool small = true;
    NPUKB_VECTORIZE
    for (int64_t i = 0; i < n; ++i) {
        small &= real::FmodIsSmall(a[i], b[i]);
        d[i] = real::FmodSmall(a[i], b[i]);
    }
    if (small) return;
    // The remainder is exact by definition, so that a library's function is as good as any.
    for (int64_t i = 0; i < n; ++i) {
        if (!real::FmodIsSmall(a[i], b[i])) d[i] = fmod(a[i], b[i]);
    }
}

void ClampMax(double* __restrict d, const double* __restrict a, const double* __restrict b, int64_t n) {
    for (int64_t i = 0; i < n; ++i) d[i] = a[i] > b[i] ? b[i] : a[i];
}
void ClampMin(double* __restrict d, const double* __restrict a, const double* __restrict b, int64_t n) {
    for (int64_t i = 0; i < n; ++i) d[i] = a[i] < b[i] ? b[i] : a[i];
}
void Swish(double* __restrict d, const double* __restrict a, const double* __restrict b, int64_t n) {
    NPUKB_VECTORIZE
    for (int64_t i = 0; i < n; ++i) d[i] = a[i] / (1.0 + real::Exp(-(b[i] * a[i])));
}

// In several loops: one would need more registers than there are. Where every base is positive and everything finite,
// no argument is special.
void Power(double* __restrict d, const double* __restrict a, const double* __restrict b, int64_t n) {
    double log[kPiece];
    bool ordinary = true;
    for (int64_t i = 0; i < n; ++i)
        ordinary &= a[i] > 0.0 && a[i] < real::kInfinity && real::Abs(b[i]) < real::kInfinity;
    NPUKB_VECTORIZE
    for (int64_t i = 0; i < n; ++i) log[i] = real::LogOfPositive(real::Abs(a[i]));
    NPUKB_VECTORIZE
    for (int64_t i = 0; i < n && !ordinary; ++i) log[i] = real::LogOrSpecial(real::Abs(a[i]), log[i]);
    NPUKB_VECTORIZE
    for (int64_t i = 0; i < n; ++i) d[i] = real::Denoised(real::Exp(b[i] * log[i]));
    NPUKB_VECTORIZE
    for (int64_t i = 0; i < n && !ordinary; ++i) d[i] = real::PowerOf(a[i], b[i], d[i]);
}

BinaryPiece BinaryOf(LibraryOp op) {
    switch (op) {
        case LibraryOp::ClampMax: return ClampMax;
        case LibraryOp::ClampMin: return ClampMin;
        case LibraryOp::Fmod: return Fmod;
        case LibraryOp::GeGLU: return EachOfTwo<GeGLU>;
        case LibraryOp::Power: return Power;
        case LibraryOp::ReGlu: return EachOfTwo<ReGlu>;
        case LibraryOp::Swish: return Swish;
        default: return nullptr;
    }
}

// a · b · sigmoid(beta b)
void SwiGlu(double* __restrict d, const double* __restrict a, const double* __restrict b, double beta, int64_t n) {
    NPUKB_VECTORIZE
    for (int64_t i = 0; i < n; ++i) d[i] = a[i] * (b[i] / (1.0 + real::Exp(-(beta * b[i]))));
}

// x to the power y modulo 2^32. With a negative exponent, 1 / x^-y without its fraction: 0 unless x is 1 or -1.
int32_t IntegerPower(int32_t x, int32_t y) {
    if (y < 0) return x == 1 ? 1 : (x == -1 ? (y % 2 == 0 ? 1 : -1) : 0);
    uint32_t result = 1;
    auto base = static_cast<uint32_t>(x);
    for (auto rest = static_cast<uint32_t>(y); rest != 0; rest >>= 1) {
        if (rest & 1) result *= base;
        base *= base;
    }
    return static_cast<int32_t>(result);
}

enum class Sharing : uint8_t { Apart, Same };
struct Facts {
    const char* name;
    double passes;
    Sharing sharing;
};
const Facts& FactsOf(LibraryOp op) {
    // One entry for every number that a LibraryOp can be.
    static const Facts facts[256] = {
#define NPUKB_LIBRARY_UNARY(name, types, passes, sharing) {#name, passes, Sharing::sharing},
#define NPUKB_LIBRARY_BINARY(name, types, passes, sharing) {#name, passes, Sharing::sharing},
#define NPUKB_LIBRARY_OTHER(name, types, passes, sharing) {#name, passes, Sharing::sharing},
#include "../../include/twin/library.def"
    };
    return facts[static_cast<int>(op)];
}

// Arguments that the documentation allows on this core. NaN is everywhere at home.
struct Domain {
    LibraryOp op;
    double least, largest;
    double hole;  // half-width of a gap around 0
    bool open;    // without the ends
    const char* text;
};
constexpr bool Closed = false, Open = true;
constexpr Domain kDomains[] = {
#define NPUKB_LIBRARY_DOMAIN(name, least, largest, hole, ends, text) \
    {LibraryOp::name, least, largest, hole, ends, text},
#include "../../include/twin/library.def"
};
// Null where every argument is allowed.
const Domain* DomainOf(LibraryOp op) {
    for (const Domain& domain : kDomains) {
        if (domain.op == op) return &domain;
    }
    return nullptr;
}
bool Inside(const Domain& domain, double x) {
    if (domain.open)
        return !(x <= domain.least || x >= domain.largest || (domain.hole > 0 && real::Abs(x) <= domain.hole));
    return !(x < domain.least || x > domain.largest);
}
void CheckDomain(const Library& call, const Domain& domain, const double* a, int64_t first, int64_t n) {
    int outside = 0;
    for (int64_t i = 0; i < n; ++i) outside += !Inside(domain, a[i]);
    if (outside == 0) return;
    int64_t i = 0;
    while (Inside(domain, a[i])) ++i;
    call.core().Warn("out_of_domain", call.pc(), "Clamp the input, or do without the function for such values.",
                     "%s: src[%lld] is %g; outside of %s the result is invalid on the device", call.name(),
                     static_cast<long long>(first + i), a[i], domain.text);
}

uint32_t BytesOf(DType type) { return npukb::kDTypeBytes[static_cast<int>(type)]; }

int64_t CountOf(int64_t count, const BufferView* view, DType type) {
    return count == npukb::kWhole ? static_cast<int64_t>(view->bytes / BytesOf(type)) : count;
}

// Address of `count` elements, checked.
const void* In(const Library& call, const BufferView* view, int64_t count, DType type, const char* role) {
    return call.Read<uint8_t>(view, count * BytesOf(type), role);
}
void* Out(const Library& call, const BufferView* view, int64_t count, DType type) {
    return call.Write<uint8_t>(view, count * BytesOf(type), "dst");
}

}  // namespace

void Widen(double* wide, const void* from, int64_t first, int64_t n, DType type) {
    switch (type) {
        case DType::F16: return WidenAs(wide, static_cast<const half*>(from) + first, n);
        case DType::BF16: return WidenAs(wide, static_cast<const bfloat16_t*>(from) + first, n);
        default: return WidenAs(wide, static_cast<const float*>(from) + first, n);
    }
}

void Narrow(void* to, const double* wide, int64_t first, int64_t n, DType type) {
    if (type == DType::F16) {
        half* __restrict d = static_cast<half*>(to) + first;
        NPUKB_VECTORIZE
        for (int64_t i = 0; i < n; ++i) d[i] = real::RoundToHalf(wide[i]);
    } else if (type == DType::BF16) {
        bfloat16_t* __restrict d = static_cast<bfloat16_t*>(to) + first;
        for (int64_t i = 0; i < n; ++i) d[i] = bfloat16_t(static_cast<float>(wide[i]));
    } else {
        float* __restrict d = static_cast<float*>(to) + first;
        NPUKB_VECTORIZE
        for (int64_t i = 0; i < n; ++i) d[i] = static_cast<float>(wide[i]);
    }
}

double WidenScalar(const void* scalar, DType type) {
    double wide;
    Widen(&wide, scalar, 0, 1, type);
    return wide;
}

namespace {

// The source, or a copy of it where the result begins inside it. Such an overlap is a warning; the functions keep what
// they compute in scratch, so that a source has been read before anything is written.
const void* Kept(const void* source, const void* d, uint64_t bytes, int operand) {
    auto from = reinterpret_cast<uint64_t>(source), to = reinterpret_cast<uint64_t>(d);
    if (source == nullptr || to <= from || to >= from + bytes) return source;
    static thread_local void* rooms[2];
    static thread_local uint64_t sizes[2];
    if (sizes[operand] < bytes) {
        void* larger = realloc(rooms[operand], bytes);
        if (larger == nullptr) abort();
        rooms[operand] = larger;
        sizes[operand] = bytes;
    }
    return memcpy(rooms[operand], source, bytes);
}

// Runs `compute(d, a, b, n)` over pieces; a source that is null is filled with `scalar`.
template <typename Compute>
void InPieces(void* d, const void* a, const void* b, DType type, int64_t count, double scalar, Compute compute) {
    double wide_a[kPiece], wide_b[kPiece], result[kPiece];
    if (a == nullptr) {
        for (double& x : wide_a) x = scalar;
    }
    if (b == nullptr) {
        for (double& x : wide_b) x = scalar;
    }
    for (int64_t first = 0; first < count; first += kPiece) {
        int64_t n = count - first < kPiece ? count - first : kPiece;
        if (a != nullptr) Widen(wide_a, a, first, n, type);
        if (b != nullptr) Widen(wide_b, b, first, n, type);
        compute(result, wide_a, wide_b, n);
        Narrow(d, result, first, n, type);
    }
}

void Integers(LibraryOp op, void* d, const void* a, const void* b, const void* scalar, int64_t count) {
    if (op == LibraryOp::Xor) {
        auto* out = static_cast<uint16_t*>(d);
        auto* x = static_cast<const uint16_t*>(a);
        auto* y = static_cast<const uint16_t*>(b);
        for (int64_t i = 0; i < count; ++i) out[i] = x[i] ^ y[i];
        return;
    }
    auto* out = static_cast<int32_t*>(d);
    auto* x = static_cast<const int32_t*>(a != nullptr ? a : scalar);
    auto* y = static_cast<const int32_t*>(b != nullptr ? b : scalar);
    for (int64_t i = 0; i < count; ++i) out[i] = IntegerPower(x[a != nullptr ? i : 0], y[b != nullptr ? i : 0]);
}

}  // namespace
}  // namespace twin

using namespace twin;

void npukb_library_unary(uint32_t code, int64_t count, const npukb::BufferView* dst, const npukb::BufferView* src,
                         const npukb::BufferView* tmp) {
    auto op = static_cast<LibraryOp>(code & 0xff);
    auto type = static_cast<DType>(code >> 16 & 0xff);
    const Facts& facts = FactsOf(op);
    Library call(facts.name, NPUKB_PC);
    count = CountOf(count, src, type);
    const void* a = In(call, src, count, type, "src");
    void* d = Out(call, dst, count, type);
    call.Apart(facts.sharing == Sharing::Same);
    call.ScratchFor(tmp, static_cast<uint64_t>(count) * BytesOf(type));
    call.Charge(type, count, facts.passes);
    a = Kept(a, d, static_cast<uint64_t>(count) * BytesOf(type), 0);
    if (type == DType::F16 ? ExactOf<half>(op, d, a, count) : ExactOf<float>(op, d, a, count)) return;
    UnaryPiece piece = UnaryOf(op);
    const Domain* domain = DomainOf(op);
    double wide[kPiece];
    for (int64_t first = 0; first < count && domain != nullptr; first += kPiece) {
        int64_t n = count - first < kPiece ? count - first : kPiece;
        Widen(wide, a, first, n, type);
        CheckDomain(call, *domain, wide, first, n);
    }
    const uint16_t* results = type == DType::F16 ? TableOf(op, piece, count) : nullptr;
    if (results != nullptr)
        LookUp(results, static_cast<uint16_t*>(d), static_cast<const uint16_t*>(a), count);
    else
        InPieces(piece, d, a, type, count);
    if ((code & npukb::kReuse) != 0) call.Spoil(src, static_cast<uint64_t>(count) * BytesOf(type), dst);
}

void npukb_library_elementwise(uint32_t code, int64_t count, const npukb::BufferView* dst,
                               const npukb::BufferView* src0, const npukb::BufferView* src1,
                               const npukb::BufferView* tmp, const void* scalar) {
    auto op = static_cast<LibraryOp>(code & 0xff);
    auto type = static_cast<DType>(code >> 16 & 0xff);
    const Facts& facts = FactsOf(op);
    Library call(facts.name, NPUKB_PC);
    bool both = src0 != nullptr && src1 != nullptr;
    count = CountOf(count, src0 != nullptr ? src0 : src1, type);
    const void* a = src0 != nullptr ? In(call, src0, count, type, both ? "src0" : "src") : nullptr;
    const void* b = src1 != nullptr ? In(call, src1, count, type, both ? "src1" : "src") : nullptr;
    void* d = Out(call, dst, count, type);
    call.Apart(facts.sharing == Sharing::Same);
    call.ScratchFor(tmp, static_cast<uint64_t>(count) * BytesOf(type));
    a = Kept(a, d, static_cast<uint64_t>(count) * BytesOf(type), 0);
    b = Kept(b, d, static_cast<uint64_t>(count) * BytesOf(type), 1);
    if (type == DType::I16 || type == DType::U16 || type == DType::I32) {
        Integers(op, d, a, b, scalar, count);
    } else if (op == LibraryOp::SwiGLU) {
        double beta = WidenScalar(scalar, DType::F32);
        InPieces(d, a, b, type, count, 0,
                 [beta](double* r, const double* x, const double* y, int64_t n) { SwiGlu(r, x, y, beta, n); });
    } else {
        InPieces(d, a, b, type, count, scalar != nullptr ? WidenScalar(scalar, type) : 0.0, BinaryOf(op));
    }
    call.Charge(type, count, facts.passes);
}

void npukb_library_axpy(uint32_t code, int64_t count, const npukb::BufferView* dst, const npukb::BufferView* src,
                        const npukb::BufferView* tmp, const void* scalar) {
    auto to = static_cast<DType>(code >> 16 & 0xff);
    auto from = static_cast<DType>(code >> 24 & 0xff);
    const Facts& facts = FactsOf(LibraryOp::Axpy);
    Library call(facts.name, NPUKB_PC);
    const void* a = In(call, src, count, from, "src");
    void* d = Out(call, dst, count, to);
    call.Apart();
    In(call, dst, count, to, "dst");  // accumulated into
    call.ScratchFor(tmp, static_cast<uint64_t>(count) * BytesOf(from));
    double factor = WidenScalar(scalar, from);
    double x[kPiece], y[kPiece];
    for (int64_t first = 0; first < count; first += kPiece) {
        int64_t n = count - first < kPiece ? count - first : kPiece;
        Widen(x, a, first, n, from);
        Widen(y, d, first, n, to);
        for (int64_t i = 0; i < n; ++i) {
            double product = x[i] * factor;  // exact; rounded as Muls would, in the type of dst
            product = to == DType::F16 ? static_cast<double>(static_cast<float>(real::RoundToHalf(product)))
                                       : static_cast<double>(static_cast<float>(product));
            y[i] += product;
        }
        Narrow(d, y, first, n, to);
    }
    call.Charge(to, count, facts.passes);
}

void npukb_library_xor_sum(int64_t count, const npukb::BufferView* dst, const npukb::BufferView* src0,
                           const npukb::BufferView* src1, const npukb::BufferView* tmp) {
    const Facts& facts = FactsOf(LibraryOp::ReduceXorSum);
    Library call(facts.name, NPUKB_PC);
    auto* a = call.Read<int16_t>(src0, count, "src0");
    auto* b = call.Read<int16_t>(src1, count, "src1");
    auto* d = call.Write<int16_t>(dst, 1, "dst");
    call.Apart();
    call.ScratchFor(tmp, static_cast<uint64_t>(count) * sizeof(int16_t));
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += static_cast<int16_t>(a[i] ^ b[i]);
    *d = static_cast<int16_t>(sum > 32767 ? 32767 : (sum < -32768 ? -32768 : sum));
    call.Charge(DType::I16, count, facts.passes);
}
