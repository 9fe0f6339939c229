// The compiler's own vector functions on UB addresses, as kernels of the field call them. The mask register says which
// lanes.
//
// They take repeat, then the block strides of dst and sources, then their repeat strides, in 32-byte blocks.
#pragma once
#include "cast.h"
#include "compare.h"
#include "fused.h"
#include "mask.h"
#include "reduce.h"
#include "vector.h"

enum Order_t { VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX };

namespace npukb {

constexpr uint32_t kUbBytes = 192 * 1024;

// UB from an address on. Where its tensor ends is not known.
struct Raw : BufferView {
    NPUKB_API explicit Raw(const void* pointer) : BufferView{const_cast<void*>(pointer), kUbBytes, 0, 0} {}
};

template <typename T>
struct Plain {
    using type = T;
};
template <typename T>
using PlainOf = typename Plain<T>::type;

template <Strides strides, uint32_t flags = 0>
inline constexpr uint32_t kRegisterShape = kShape<LaneSource::Register, strides, flags>;

}  // namespace npukb

#define NPUKB_STRIDES_TWO                                                                                          \
    npukb::of::intrinsic::repeat repeat, uint8_t dstBlockStride, uint8_t src0BlockStride, uint8_t src1BlockStride, \
        uint8_t dstRepeatStride, uint8_t src0RepeatStride, uint8_t src1RepeatStride
#define NPUKB_STRIDES_TWO_PASSED                                                                                \
    const AscendC::BinaryRepeatParams params(dstBlockStride, src0BlockStride, src1BlockStride, dstRepeatStride, \
                                             src0RepeatStride, src1RepeatStride)
#define NPUKB_STRIDES_ONE                                                                                           \
    npukb::of::intrinsic::repeat repeat, uint16_t dstBlockStride, uint16_t srcBlockStride, uint8_t dstRepeatStride, \
        uint8_t srcRepeatStride
#define NPUKB_STRIDES_ONE_PASSED \
    const AscendC::UnaryRepeatParams params(dstBlockStride, srcBlockStride, dstRepeatStride, srcRepeatStride)

#define NPUKB_RAW_TWO(name, op)                                                                                        \
    template <typename T>                                                                                              \
    NPUKB_API void name(__ubuf__ T* dst, __ubuf__ npukb::PlainOf<T>* src0, __ubuf__ npukb::PlainOf<T>* src1,           \
                        NPUKB_STRIDES_TWO) {                                                                           \
        static_assert(npukb::takes::op<T>::Check());                                                                   \
        NPUKB_STRIDES_TWO_PASSED;                                                                                      \
        const npukb::Raw d(dst), a(src0), b(src1);                                                                     \
        npukb_vector_mask(npukb::kCodeFor<npukb::Op::op, T, T>, npukb::kRegisterShape<npukb::Strides::Binary>, repeat, \
                          0, &d, &a, &b, &params, 0);                                                                  \
    }
NPUKB_RAW_TWO(vadd, Add)
NPUKB_RAW_TWO(vsub, Sub)
NPUKB_RAW_TWO(vmul, Mul)
NPUKB_RAW_TWO(vdiv, Div)
NPUKB_RAW_TWO(vmax, Max)
NPUKB_RAW_TWO(vmin, Min)
NPUKB_RAW_TWO(vand, And)
NPUKB_RAW_TWO(vor, Or)
#undef NPUKB_RAW_TWO

#define NPUKB_RAW_ONE(name, op)                                                                                       \
    template <typename T>                                                                                             \
    NPUKB_API void name(__ubuf__ T* dst, __ubuf__ npukb::PlainOf<T>* src, NPUKB_STRIDES_ONE) {                        \
        static_assert(npukb::takes::op<T>::Check());                                                                  \
        NPUKB_STRIDES_ONE_PASSED;                                                                                     \
        const npukb::Raw d(dst), a(src);                                                                              \
        npukb_vector_mask(npukb::kCodeFor<npukb::Op::op, T, T>, npukb::kRegisterShape<npukb::Strides::Unary>, repeat, \
                          0, &d, &a, nullptr, &params, 0);                                                            \
    }
NPUKB_RAW_ONE(vabs, Abs)
NPUKB_RAW_ONE(vexp, Exp)
NPUKB_RAW_ONE(vln, Ln)
NPUKB_RAW_ONE(vnot, Not)
NPUKB_RAW_ONE(vrec, Reciprocal)
NPUKB_RAW_ONE(vrelu, Relu)
NPUKB_RAW_ONE(vrsqrt, Rsqrt)
NPUKB_RAW_ONE(vsqrt, Sqrt)
#undef NPUKB_RAW_ONE

#define NPUKB_RAW_SCALAR(name, op)                                                                                    \
    template <typename T>                                                                                             \
    NPUKB_API void name(__ubuf__ T* dst, __ubuf__ npukb::PlainOf<T>* src, npukb::PlainOf<T> scalar,                   \
                        NPUKB_STRIDES_ONE) {                                                                          \
        static_assert(npukb::takes::op<T>::Check());                                                                  \
        NPUKB_STRIDES_ONE_PASSED;                                                                                     \
        const npukb::Raw d(dst), a(src);                                                                              \
        npukb_vector_mask(npukb::kCodeFor<npukb::Op::op, T, T>, npukb::kRegisterShape<npukb::Strides::Unary>, repeat, \
                          0, &d, &a, nullptr, &params, npukb::RawBits(scalar));                                       \
    }
NPUKB_RAW_SCALAR(vadds, Adds)
NPUKB_RAW_SCALAR(vmuls, Muls)
NPUKB_RAW_SCALAR(vmaxs, Maxs)
NPUKB_RAW_SCALAR(vmins, Mins)
NPUKB_RAW_SCALAR(vlrelu, LeakyRelu)
NPUKB_RAW_SCALAR(vaxpy, Axpy)
#undef NPUKB_RAW_SCALAR

// Conversions carry their types and rounding in their names: r to even, f down, c up, a away from zero, z to zero, o to
// odd.
#define NPUKB_RAW_CAST(name, T, U, mode)                                                                               \
    NPUKB_API void vconv_##name(__ubuf__ T* dst, __ubuf__ U* src, NPUKB_STRIDES_ONE) {                                 \
        NPUKB_STRIDES_ONE_PASSED;                                                                                      \
        const npukb::Raw d(dst), a(src);                                                                               \
        constexpr uint32_t code = npukb::kCodeFor<npukb::Op::Cast, T, U> |                                             \
                                  static_cast<uint32_t>(AscendC::RoundMode::CAST_##mode) << npukb::kModeShift;         \
        npukb_vector_mask(code, npukb::kRegisterShape<npukb::Strides::Unary>, repeat, 0, &d, &a, nullptr, &params, 0); \
    }
#define NPUKB_RAW_CASTS(name, T, U)      \
    NPUKB_RAW_CAST(name##r, T, U, RINT)  \
    NPUKB_RAW_CAST(name##f, T, U, FLOOR) \
    NPUKB_RAW_CAST(name##c, T, U, CEIL)  \
    NPUKB_RAW_CAST(name##a, T, U, ROUND) \
    NPUKB_RAW_CAST(name##z, T, U, TRUNC)
NPUKB_RAW_CAST(f162f32, float, half, NONE)
NPUKB_RAW_CAST(bf162f32, float, bfloat16_t, NONE)
NPUKB_RAW_CAST(s82f16, half, int8_t, NONE)
NPUKB_RAW_CAST(u82f16, half, uint8_t, NONE)
NPUKB_RAW_CAST(s162f16, half, int16_t, NONE)
NPUKB_RAW_CAST(s162f32, float, int16_t, NONE)
NPUKB_RAW_CAST(s322f32, float, int32_t, NONE)
NPUKB_RAW_CAST(s322s16, int16_t, int32_t, NONE)
NPUKB_RAW_CAST(s322s64, int64_t, int32_t, NONE)
NPUKB_RAW_CAST(s642s32, int32_t, int64_t, NONE)
NPUKB_RAW_CAST(deq, half, int32_t, NONE)
NPUKB_RAW_CAST(f322f16, half, float, NONE)
NPUKB_RAW_CAST(f322f16o, half, float, ODD)
NPUKB_RAW_CAST(f162s8, int8_t, half, NONE)
NPUKB_RAW_CAST(f162u8, uint8_t, half, NONE)
NPUKB_RAW_CASTS(f322f16, half, float)
NPUKB_RAW_CASTS(f322bf16, bfloat16_t, float)
NPUKB_RAW_CASTS(f322s16, int16_t, float)
NPUKB_RAW_CASTS(f322s32, int32_t, float)
NPUKB_RAW_CASTS(f322s64, int64_t, float)
NPUKB_RAW_CASTS(f322f32, float, float)
NPUKB_RAW_CASTS(f162s8, int8_t, half)
NPUKB_RAW_CASTS(f162u8, uint8_t, half)
NPUKB_RAW_CASTS(f162s16, int16_t, half)
NPUKB_RAW_CASTS(f162s32, int32_t, half)
NPUKB_RAW_CASTS(bf162s32, int32_t, bfloat16_t)
NPUKB_RAW_CASTS(s322f32, float, int32_t)
NPUKB_RAW_CASTS(s642f32, float, int64_t)
#undef NPUKB_RAW_CASTS
#undef NPUKB_RAW_CAST

// Reductions: repeat, the destination's repeat stride in results, the source's block and repeat strides.
#define NPUKB_RAW_REDUCE(name, op)                                                                             \
    template <typename T>                                                                                      \
    NPUKB_API void name(__ubuf__ T* dst, __ubuf__ npukb::PlainOf<T>* src, npukb::of::intrinsic::repeat repeat, \
                        uint16_t dstRepeatStride, uint16_t srcBlockStride, uint16_t srcRepeatStride) {         \
        static_assert(npukb::takes::op<T>::Check());                                                           \
        const npukb::Raw d(dst), a(src);                                                                       \
        npukb_reduce(npukb::ReduceCode<npukb::Op::op, T, npukb::LaneSource::Register>(), 0, repeat, &d, &a,    \
                     dstRepeatStride, srcBlockStride, srcRepeatStride);                                        \
    }
NPUKB_RAW_REDUCE(vcgadd, BlockReduceSum)
NPUKB_RAW_REDUCE(vcgmax, BlockReduceMax)
NPUKB_RAW_REDUCE(vcgmin, BlockReduceMin)
NPUKB_RAW_REDUCE(vcpadd, PairReduceSum)
#undef NPUKB_RAW_REDUCE

// With `accumulate` the sum over all repeats goes to the accumulator (GetAccVal) and dst is not written: it may be
// null.
template <typename T>
NPUKB_API void vcadd(__ubuf__ npukb::PlainOf<T>* dst, __ubuf__ T* src, npukb::of::intrinsic::repeat repeat,
                     uint16_t dstRepeatStride, uint16_t srcBlockStride, uint16_t srcRepeatStride,
                     bool accumulate = false) {
    static_assert(npukb::takes::WholeReduceSum<T>::Check());
    const npukb::Raw d(dst), a(src);
    constexpr uint32_t code = npukb::ReduceCode<npukb::Op::WholeReduceSum, T, npukb::LaneSource::Register>();
    npukb_reduce(code | static_cast<uint32_t>(accumulate) << npukb::kReduceSumShift, 0, repeat, &d, &a, dstRepeatStride,
                 srcBlockStride, srcRepeatStride);
}

#define NPUKB_RAW_EXTREME(name, op)                                                                              \
    template <typename T>                                                                                        \
    NPUKB_API void name(__ubuf__ T* dst, __ubuf__ npukb::PlainOf<T>* src, npukb::of::intrinsic::repeat repeat,   \
                        uint16_t dstRepeatStride, uint16_t srcBlockStride, uint16_t srcRepeatStride,             \
                        Order_t order = VALUE_INDEX) {                                                           \
        static_assert(npukb::takes::op<T>::Check());                                                             \
        const npukb::Raw d(dst), a(src);                                                                         \
        npukb_reduce(npukb::ReduceCode<npukb::Op::op, T, npukb::LaneSource::Register>(order), 0, repeat, &d, &a, \
                     dstRepeatStride, srcBlockStride, srcRepeatStride);                                          \
    }
NPUKB_RAW_EXTREME(vcmax, WholeReduceMax)
NPUKB_RAW_EXTREME(vcmin, WholeReduceMin)
#undef NPUKB_RAW_EXTREME

// Comparisons: vcmp_… into the CmpMask register, vcmpv_… and vcmpvs_… into bits in UB.
#define NPUKB_RAW_COMPARE(relation, mode)                                                                             \
    template <typename T>                                                                                             \
    NPUKB_API void vcmp_##relation(__ubuf__ T* src0, __ubuf__ npukb::PlainOf<T>* src1, NPUKB_STRIDES_TWO) {           \
        NPUKB_SUPPORTS(vcmp_##relation, F16 | F32);                                                                   \
        NPUKB_STRIDES_TWO_PASSED;                                                                                     \
        const npukb::Raw a(src0), b(src1);                                                                            \
        constexpr uint32_t code = npukb::kCodeFor<npukb::Op::Compare, uint8_t, T> |                                   \
                                  static_cast<uint32_t>(AscendC::CMPMODE::mode) << npukb::kModeShift;                 \
        npukb_vector_mask(code, npukb::kRegisterShape<npukb::Strides::Binary, npukb::ToRegister>, repeat, 0, nullptr, \
                          &a, &b, &params, 0);                                                                        \
    }                                                                                                                 \
    template <typename T>                                                                                             \
    NPUKB_API void vcmpv_##relation(__ubuf__ uint8_t* dst, __ubuf__ T* src0, __ubuf__ npukb::PlainOf<T>* src1,        \
                                    NPUKB_STRIDES_TWO) {                                                              \
        static_assert(npukb::takes::Compare<uint8_t, T>::Check());                                                    \
        NPUKB_STRIDES_TWO_PASSED;                                                                                     \
        const npukb::Raw d(dst), a(src0), b(src1);                                                                    \
        constexpr uint32_t code = npukb::kCodeFor<npukb::Op::Compare, uint8_t, T> |                                   \
                                  static_cast<uint32_t>(AscendC::CMPMODE::mode) << npukb::kModeShift;                 \
        npukb_vector_mask(code, npukb::kRegisterShape<npukb::Strides::Binary>, repeat, 0, &d, &a, &b, &params, 0);    \
    }                                                                                                                 \
    template <typename T>                                                                                             \
    NPUKB_API void vcmpvs_##relation(__ubuf__ uint8_t* dst, __ubuf__ T* src, npukb::PlainOf<T> scalar,                \
                                     NPUKB_STRIDES_ONE) {                                                             \
        static_assert(npukb::takes::Compares<uint8_t, T>::Check());                                                   \
        NPUKB_STRIDES_ONE_PASSED;                                                                                     \
        const npukb::Raw d(dst), a(src);                                                                              \
        constexpr uint32_t code = npukb::kCodeFor<npukb::Op::Compares, uint8_t, T> |                                  \
                                  static_cast<uint32_t>(AscendC::CMPMODE::mode) << npukb::kModeShift;                 \
        npukb_vector_mask(code, npukb::kRegisterShape<npukb::Strides::Unary>, repeat, 0, &d, &a, nullptr, &params,    \
                          npukb::RawBits(scalar));                                                                    \
    }
NPUKB_RAW_COMPARE(lt, LT)
NPUKB_RAW_COMPARE(gt, GT)
NPUKB_RAW_COMPARE(eq, EQ)
NPUKB_RAW_COMPARE(le, LE)
NPUKB_RAW_COMPARE(ge, GE)
NPUKB_RAW_COMPARE(ne, NE)
#undef NPUKB_RAW_COMPARE

NPUKB_API void set_cmpmask(__ubuf__ void* src) {
    const npukb::Raw s(src);
    npukb_compare_mask(1, &s, 0);
}
NPUKB_API void get_cmpmask(__ubuf__ void* dst) {
    const npukb::Raw d(dst);
    npukb_compare_mask(1, &d, 1);
}
template <typename T>
NPUKB_API void vsel(__ubuf__ T* dst, __ubuf__ npukb::PlainOf<T>* src0, __ubuf__ npukb::PlainOf<T>* src1,
                    NPUKB_STRIDES_TWO, AscendC::SELMODE mode = AscendC::SELMODE::VSEL_CMPMASK_SPR) {
    NPUKB_SUPPORTS(vsel, F16 | F32);
    NPUKB_STRIDES_TWO_PASSED;
    const npukb::Raw d(dst), a(src0), b(src1);
    npukb_select(npukb::kCodeFor<npukb::Op::Select, T, T> | static_cast<uint32_t>(mode) << npukb::kModeShift,
                 npukb::kRegisterShape<npukb::Strides::Binary>, repeat, 0, &d, nullptr, &a, &b, &params, 0);
}

// Eight elements into eight blocks a repeat; strides come before the repeat count.
template <typename T>
NPUKB_API void vbrcb(__ubuf__ T* dst, __ubuf__ npukb::PlainOf<T>* src, uint16_t dstBlockStride,
                     uint16_t dstRepeatStride, npukb::of::intrinsic::repeat repeat) {
    NPUKB_SUPPORTS(vbrcb, U16 | U32);
    npukb::VectorInstruction v = npukb::Counted(npukb::Op::Brcb, 0);
    v.repeat = repeat;
    npukb::Issue(v, {dst, npukb::kUbBytes, dstBlockStride, dstRepeatStride, npukb::DTypeOf<T>::value},
                 {src, npukb::kUbBytes, 1, 8, npukb::DTypeOf<T>::value});
}

#undef NPUKB_STRIDES_TWO
#undef NPUKB_STRIDES_TWO_PASSED
#undef NPUKB_STRIDES_ONE
#undef NPUKB_STRIDES_ONE_PASSED
