// Vector instructions of one element type: arithmetic, generated from instructions.def, and what fills or moves
// elements.
#pragma once
#include "tensor.h"

namespace npukb {

NPUKB_API VectorInstruction Counted(Op op, int64_t count) {
    VectorInstruction v{};
    v.op = op;
    v.form = Form::Count;
    v.count = count;
    v.repeat = 1;
    return v;
}

NPUKB_API VectorInstruction Masked(Op op, const uint64_t mask[2], uint32_t repeat, bool set_mask) {
    VectorInstruction v{};
    v.op = op;
    v.form = Form::Mask;
    v.use_register = !set_mask;
    v.repeat = repeat;
    if (set_mask) {
        v.mask[0] = mask[0];
        v.mask[1] = mask[1];
        v.count = static_cast<int64_t>(mask[0]);  // in counter mode the low word is a number of elements
    }
    return v;
}

// The first `count` lanes as a bit mask. Counts above the lanes of one repeat are clamped, as the hardware does.
template <typename T>
NPUKB_API VectorInstruction MaskedCount(Op op, uint64_t count, uint32_t repeat, bool set_mask) {
    constexpr uint64_t lanes = 256 / sizeof(T);
    uint64_t n = count < lanes ? count : lanes;
    uint64_t mask[2] = {n >= 64 ? ~0ull : (1ull << n) - 1,
                        n <= 64 ? 0ull : (n >= 128 ? ~0ull : (1ull << (n - 64)) - 1)};
    VectorInstruction v = Masked(op, mask, repeat, set_mask);
    v.counted = 1;
    v.count = static_cast<int64_t>(count);
    return v;
}

NPUKB_API void Issue(VectorInstruction& v, const Operand& dst, const Operand& src0) {
    v.dst = dst;
    v.src0 = src0;
    npukb_vector(&v);
}

NPUKB_API void Issue(VectorInstruction& v, const Operand& dst, const Operand& src0, const Operand& src1) {
    v.dst = dst;
    v.src0 = src0;
    v.src1 = src1;
    npukb_vector(&v);
}

}  // namespace npukb

// The three documented forms of an instruction: by count, by lane bits, by lane count. `D` and `S` are the element
// types of dst and of the sources.
// The repeat count travels by itself: what headers pack would count as the kernel's own operations.
#define NPUKB_SHAPE(source, strides) \
    (npukb::kShape < isSetMask ? npukb::LaneSource::source : npukb::LaneSource::Register, npukb::Strides::strides >)
#define NPUKB_LANES(source, strides) NPUKB_SHAPE(source, strides), repeatTime

#define NPUKB_COUNT_FORM(name, op, check, D, S, template_parameters, operand_parameters, count_type, views, scalar) \
    template <template_parameters>                                                                                  \
    NPUKB_API void name(operand_parameters, count_type count) {                                                     \
        check;                                                                                                      \
        npukb_vector_count(npukb::kCodeFor<npukb::Op::op, D, S>, static_cast<int64_t>(count), views, scalar);       \
    }

// The form by count of an instruction of the table. Types that it does not take are refused where the call is compiled
// to code: in a discarded branch it may stand.
#define NPUKB_COUNT_ONCE(name, template_parameters, operand_parameters, views, scalar)        \
    template <template_parameters, typename = typename npukb::takes::name<T>::ok>             \
    NPUKB_ONCE void name(operand_parameters, const int32_t& count) NPUKB_BODY({               \
        npukb_vector_count(npukb::kCodeFor<npukb::Op::name, T, T>, count, views, scalar);     \
    }) template <template_parameters, typename = typename npukb::takes::name<T>::no, int = 0> \
    NPUKB_API void name(operand_parameters, const int32_t&) {                                 \
        npukb::takes::name<T>::Refuse(views, scalar);                                         \
    }

#define NPUKB_MASK_FORMS(name, op, check, D, S, template_parameters, operand_parameters, strides, views, scalar) \
    template <template_parameters, bool isSetMask = true>                                                        \
    NPUKB_API void name(operand_parameters, const uint64_t mask[], const npukb::of::name::repeatTime repeatTime, \
                        const strides##RepeatParams& repeatParams) {                                             \
        check;                                                                                                   \
        npukb_vector_mask(npukb::kCodeFor<npukb::Op::op, D, S>, NPUKB_LANES(Bits, strides),                      \
                          reinterpret_cast<uint64_t>(mask), views, &repeatParams, scalar);                       \
    }                                                                                                            \
    template <template_parameters, bool isSetMask = true>                                                        \
    NPUKB_API void name(operand_parameters, const uint64_t mask, const npukb::of::name::repeatTime repeatTime,   \
                        const strides##RepeatParams& repeatParams) {                                             \
        check;                                                                                                   \
        npukb_vector_mask(npukb::kCodeFor<npukb::Op::op, D, S>, NPUKB_LANES(Count, strides), mask, views,        \
                          &repeatParams, scalar);                                                                \
    }

#define NPUKB_LIST(...) __VA_ARGS__

namespace npukb {

// The packed code of an instruction on these C++ types.
template <Op op, typename D, typename S>
inline constexpr uint32_t kCodeFor = kCode<op, DTypeOf<D>::value, DTypeOf<S>::value>;

inline constexpr AscendC::UnaryRepeatParams kContiguous{};

// Whether an instruction takes the element types T of dst and U of its sources: one structure per row of the table.
namespace takes {
using namespace types;
#define NPUKB_INSTRUCTION(name, call, unit, operands, set, ...)                                               \
    template <typename T, typename U = T, bool = Takes<T, U>(set)>                                            \
    struct name {                                                                                             \
        using ok = void;                                                                                      \
        static constexpr bool value = true;                                                                   \
        static constexpr bool Check() { return true; }                                                        \
    };                                                                                                        \
    template <typename T, typename U>                                                                         \
    struct name<T, U, false> {                                                                                \
        using no = void;                                                                                      \
        static constexpr bool value = false;                                                                  \
        static constexpr bool Check() {                                                                       \
            static_assert(Takes<T, U>(set), #name " is not available for this element type; it takes " #set); \
            return true;                                                                                      \
        }                                                                                                     \
        static void Refuse(...) { Check(); }                                                                  \
    };
#include "instructions.def"
}  // namespace takes

}  // namespace npukb

namespace AscendC {

#define NPUKB_SUPPORTS(name, set) \
    using namespace npukb::types; \
    static_assert((npukb::kSetOf<T> & (set)) != 0, #name " is not available for this element type; it takes " #set)
// The same for element types T of dst and U of the sources.
#define NPUKB_SUPPORTS_MIXED(name, set) \
    using namespace npukb::types;       \
    static_assert(npukb::Takes<T, U>(set), #name " is not available for this element type; it takes " #set)

#define NPUKB_ONE NPUKB_LIST(const LocalTensor<T>& dst, const LocalTensor<T>& src)
#define NPUKB_ONE_VIEWS NPUKB_LIST(&dst.npukb_view, &src.npukb_view, nullptr)
#define NPUKB_TWO NPUKB_LIST(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1)
#define NPUKB_TWO_VIEWS NPUKB_LIST(&dst.npukb_view, &src0.npukb_view, &src1.npukb_view)

#define NPUKB_UNARY(name, set)                                        \
    NPUKB_COUNT_ONCE(name, typename T, NPUKB_ONE, NPUKB_ONE_VIEWS, 0) \
    NPUKB_MASK_FORMS(name, name, NPUKB_SUPPORTS(name, set), T, T, typename T, NPUKB_ONE, Unary, NPUKB_ONE_VIEWS, 0)

#define NPUKB_BINARY(name, set)                                       \
    NPUKB_COUNT_ONCE(name, typename T, NPUKB_TWO, NPUKB_TWO_VIEWS, 0) \
    NPUKB_MASK_FORMS(name, name, NPUKB_SUPPORTS(name, set), T, T, typename T, NPUKB_TWO, Binary, NPUKB_TWO_VIEWS, 0)

#define NPUKB_SCALAR(name, set)                                                                                        \
    NPUKB_COUNT_ONCE(name, NPUKB_LIST(typename T, bool isSetMask = true), NPUKB_LIST(NPUKB_ONE, const T& scalarValue), \
                     NPUKB_ONE_VIEWS, npukb::RawBits(scalarValue))                                                     \
    NPUKB_MASK_FORMS(name, name, NPUKB_SUPPORTS(name, set), T, T, typename T,                                          \
                     NPUKB_LIST(NPUKB_ONE, const T& scalarValue), Unary, NPUKB_ONE_VIEWS, npukb::RawBits(scalarValue))

// Shifts. By count, and with isSetMask = false, the mask register says which elements.
#define NPUKB_SHIFT(name, set)                                                                                       \
    template <typename T, bool isSetMask = true>                                                                     \
    NPUKB_API void name(NPUKB_ONE, const T& scalarValue, const int32_t& count) {                                     \
        NPUKB_SUPPORTS(name, set);                                                                                   \
        constexpr uint32_t code = npukb::kCodeFor<npukb::Op::name, T, T>;                                            \
        if constexpr (isSetMask) {                                                                                   \
            npukb_vector_count(code, count, NPUKB_ONE_VIEWS, npukb::RawBits(scalarValue));                           \
        } else {                                                                                                     \
            constexpr uint32_t shape = npukb::kShape<npukb::LaneSource::Register, npukb::Strides::Unary>;            \
            npukb_vector_mask(code, shape, 1, 0, NPUKB_ONE_VIEWS, &npukb::kContiguous, npukb::RawBits(scalarValue)); \
        }                                                                                                            \
    }                                                                                                                \
    NPUKB_MASK_FORMS(name, name, NPUKB_SUPPORTS(name, set), T, T, typename T,                                        \
                     NPUKB_LIST(NPUKB_ONE, const T& scalarValue), Unary, NPUKB_ONE_VIEWS, npukb::RawBits(scalarValue))
#include "instructions.def"

// ShiftRight that adds the last bit shifted out, of signed elements.
static_assert(npukb::Round == 1, "roundEn is shifted to where flags lie");
template <typename T, bool isSetMask = true>
NPUKB_API void ShiftRight(NPUKB_ONE, const T& scalarValue, const uint64_t mask[],
                          const npukb::of::ShiftRight::repeatTime repeatTime, const UnaryRepeatParams& repeatParams,
                          bool roundEn) {
    static_assert(npukb::takes::ShiftRight<T>::Check());
    npukb_vector_mask(npukb::kCodeFor<npukb::Op::ShiftRight, T, T>,
                      NPUKB_SHAPE(Bits, Unary) | roundEn << npukb::kFlagShift, repeatTime,
                      reinterpret_cast<uint64_t>(mask), NPUKB_ONE_VIEWS, &repeatParams, npukb::RawBits(scalarValue));
}
template <typename T, bool isSetMask = true>
NPUKB_API void ShiftRight(NPUKB_ONE, const T& scalarValue, const uint64_t mask,
                          const npukb::of::ShiftRight::repeatTime repeatTime, const UnaryRepeatParams& repeatParams,
                          bool roundEn) {
    static_assert(npukb::takes::ShiftRight<T>::Check());
    npukb_vector_mask(npukb::kCodeFor<npukb::Op::ShiftRight, T, T>,
                      NPUKB_SHAPE(Count, Unary) | roundEn << npukb::kFlagShift, repeatTime, mask, NPUKB_ONE_VIEWS,
                      &repeatParams, npukb::RawBits(scalarValue));
}

// Duplicate: one scalar into every lane.
template <typename T, bool isSetMask = true, typename = typename npukb::takes::Duplicate<T>::ok>
NPUKB_ONCE void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& count) NPUKB_BODY(
    {
        npukb_vector_count(npukb::kCodeFor<npukb::Op::Duplicate, T, T>, count, &dst.npukb_view, nullptr, nullptr,
                           npukb::RawBits(scalarValue));
    })
template <typename T, bool isSetMask = true, typename = typename npukb::takes::Duplicate<T>::no, int = 0>
NPUKB_API void Duplicate(const LocalTensor<T>&, const T&, const int32_t&) {
    npukb::takes::Duplicate<T>::Refuse(0);
}
template <typename T, bool isSetMask = true>
NPUKB_API void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask[],
                         const npukb::of::Duplicate::repeatTime repeatTime,
                         const npukb::of::Duplicate::dstBlockStride dstBlockStride,
                         const npukb::of::Duplicate::dstRepeatStride dstRepeatStride) {
    static_assert(npukb::takes::Duplicate<T>::Check());
    npukb::VectorInstruction v = npukb::Masked(npukb::Op::Duplicate, mask, repeatTime, isSetMask);
    v.scalar = npukb::RawBits(scalarValue);
    npukb::Issue(v, npukb::Strided(dst, dstBlockStride, dstRepeatStride), npukb::Operand{});
}
template <typename T, bool isSetMask = true>
NPUKB_API void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask,
                         const npukb::of::Duplicate::repeatTime repeatTime,
                         const npukb::of::Duplicate::dstBlockStride dstBlockStride,
                         const npukb::of::Duplicate::dstRepeatStride dstRepeatStride) {
    static_assert(npukb::takes::Duplicate<T>::Check());
    npukb::VectorInstruction v = npukb::MaskedCount<T>(npukb::Op::Duplicate, mask, repeatTime, isSetMask);
    v.scalar = npukb::RawBits(scalarValue);
    npukb::Issue(v, npukb::Strided(dst, dstBlockStride, dstRepeatStride), npukb::Operand{});
}

// CreateVecIndex: first, first + 1, first + 2, …
template <typename T>
NPUKB_API void CreateVecIndex(const LocalTensor<T>& dst, const T& firstValue, uint32_t count) {
    static_assert(npukb::takes::CreateVecIndex<T>::Check());
    npukb_vector_count(npukb::kCodeOf<npukb::Op::CreateVecIndex, npukb::DTypeOf<T>::value>, static_cast<int32_t>(count),
                       &dst.npukb_view, nullptr, nullptr, npukb::RawBits(firstValue));
}

// Brcb: eight elements become eight blocks, each filled with one of them.
template <typename T>
NPUKB_API void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const npukb::of::Brcb::repeatTime repeatTime,
                    const BrcbRepeatParams& p) {
    static_assert(npukb::takes::Brcb<T>::Check());
    npukb::VectorInstruction v = npukb::Counted(npukb::Op::Brcb, 0);
    v.repeat = repeatTime;
    npukb::Issue(v, npukb::Strided(dst, p.dstBlkStride, p.dstRepStride), npukb::Whole(src0));
}

// Copy: masked moves inside UB.
template <typename T, bool isSetMask = true>
NPUKB_API void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask,
                    const npukb::of::Copy::repeatTime repeatTime, const CopyRepeatParams& p) {
    static_assert(npukb::takes::Copy<T>::Check());
    npukb::VectorInstruction v = npukb::MaskedCount<T>(npukb::Op::Copy, mask, repeatTime, isSetMask);
    npukb::Issue(v, npukb::Strided(dst, p.dstStride, p.dstRepeatSize),
                 npukb::Strided(src, p.srcStride, p.srcRepeatSize));
}

}  // namespace AscendC
