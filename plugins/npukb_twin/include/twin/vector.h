// Vector instructions: element-wise arithmetic, Cast, Compare, Select, Duplicate and kin. Generated from instructions.def.
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

// The three documented forms of an instruction: by count, by lane bits, by lane count.
#define NPUKB_FORMS(name, check, template_parameters, operand_parameters, lane_type, params_type, prepare, views, strided) \
    template <template_parameters, bool isSetMask = true>                                                                  \
    NPUKB_API void name(operand_parameters, const int32_t& count) {                                                       \
        check;                                                                                                             \
        npukb_vector_count(npukb::kCodeOf<npukb::Op::name, npukb::DTypeOf<lane_type>::value>, count, views);               \
    }                                                                                                                      \
    template <template_parameters, bool isSetMask = true>                                                                  \
    NPUKB_API void name(operand_parameters, uint64_t mask[], const uint8_t repeatTime, const params_type& p) {             \
        check;                                                                                                             \
        npukb::VectorInstruction v = npukb::Masked(npukb::Op::name, mask, repeatTime, isSetMask);                          \
        prepare;                                                                                                           \
        npukb::Issue(v, strided);                                                                                          \
    }                                                                                                                      \
    template <template_parameters, bool isSetMask = true>                                                                  \
    NPUKB_API void name(operand_parameters, uint64_t mask, const uint8_t repeatTime, const params_type& p) {               \
        check;                                                                                                             \
        npukb::VectorInstruction v = npukb::MaskedCount<lane_type>(npukb::Op::name, mask, repeatTime, isSetMask);          \
        prepare;                                                                                                           \
        npukb::Issue(v, strided);                                                                                          \
    }

#define NPUKB_LIST(...) __VA_ARGS__

namespace AscendC {

#define NPUKB_SUPPORTS(name, set)                                    \
    using namespace npukb::types;                                    \
    static_assert((npukb::kSetOf<T> & (set)) != 0, #name " is not available for this element type; it takes " #set)

#define NPUKB_UNARY(name, set, c16, c32)                                                                             \
    NPUKB_FORMS(name, NPUKB_SUPPORTS(name, set), typename T,                                                         \
                NPUKB_LIST(const LocalTensor<T>& dst, const LocalTensor<T>& src), T, UnaryRepeatParams, (void)0,     \
                NPUKB_LIST(&dst.npukb_view, &src.npukb_view, nullptr, 0),                                          \
                NPUKB_LIST(npukb::Strided(dst, p.dstBlkStride, p.dstRepStride),                                      \
                           npukb::Strided(src, p.srcBlkStride, p.srcRepStride)))

#define NPUKB_BINARY(name, set, c16, c32)                                                                            \
    NPUKB_FORMS(name, NPUKB_SUPPORTS(name, set), typename T,                                                         \
                NPUKB_LIST(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1), T,    \
                BinaryRepeatParams, (void)0,                                                                         \
                NPUKB_LIST(&dst.npukb_view, &src0.npukb_view, &src1.npukb_view, 0),                               \
                NPUKB_LIST(npukb::Strided(dst, p.dstBlkStride, p.dstRepStride),                                      \
                           npukb::Strided(src0, p.src0BlkStride, p.src0RepStride),                                   \
                           npukb::Strided(src1, p.src1BlkStride, p.src1RepStride)))

#define NPUKB_ACCUMULATE(name, set, c16, c32) NPUKB_BINARY(name, set, c16, c32)

#define NPUKB_SCALAR(name, set, c16, c32)                                                                            \
    NPUKB_FORMS(name, NPUKB_SUPPORTS(name, set), typename T,                                                         \
                NPUKB_LIST(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue), T,           \
                UnaryRepeatParams, v.scalar = npukb::RawBits(scalarValue),                                           \
                NPUKB_LIST(&dst.npukb_view, &src.npukb_view, nullptr, npukb::RawBits(scalarValue)),                \
                NPUKB_LIST(npukb::Strided(dst, p.dstBlkStride, p.dstRepStride),                                      \
                           npukb::Strided(src, p.srcBlkStride, p.srcRepStride)))
#include "instructions.def"

// Cast. Lanes are counted by the wider of the two types.
template <typename T, typename U>
NPUKB_API constexpr bool CastSupported() {
    using npukb::DType;
    constexpr DType d = npukb::DTypeOf<T>::value, s = npukb::DTypeOf<U>::value;
    switch (s) {
        case DType::I8:
        case DType::U8: return d == DType::F16;
        case DType::F16:
            return d == DType::F32 || d == DType::I8 || d == DType::U8 || d == DType::I16 || d == DType::I32;
        case DType::I16: return d == DType::F16 || d == DType::F32;
        case DType::BF16: return d == DType::I32 || d == DType::F32;
        case DType::I32: return d == DType::I16 || d == DType::F32 || d == DType::I64;
        case DType::F32:
            return d == DType::F16 || d == DType::BF16 || d == DType::I16 || d == DType::I32 || d == DType::I64 ||
                   d == DType::F32;
        case DType::I64: return d == DType::I32 || d == DType::F32;
        default: return false;
    }
}

namespace detail {
template <bool first, typename A, typename B>
struct Choose { using type = A; };
template <typename A, typename B>
struct Choose<false, A, B> { using type = B; };
template <typename A, typename B>
using Wider = typename Choose<(sizeof(A) > sizeof(B)), A, B>::type;
}  // namespace detail

#define NPUKB_CAST_CHECK static_assert(CastSupported<T, U>(), "Cast does not convert between these element types on this core")
template <typename T, typename U>
NPUKB_API void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
                    const uint32_t count) {
    NPUKB_CAST_CHECK;
    constexpr uint32_t code = npukb::kCode<npukb::Op::Cast, npukb::DTypeOf<T>::value, npukb::DTypeOf<U>::value>;
    npukb_vector_count(code | static_cast<uint32_t>(roundMode) << npukb::kModeShift, static_cast<int32_t>(count), &dst.npukb_view, &src.npukb_view, nullptr, 0);
}
template <typename T, typename U, bool isSetMask = true>
NPUKB_API void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, uint64_t mask[],
                    const uint8_t repeatTime, const UnaryRepeatParams& p) {
    NPUKB_CAST_CHECK;
    npukb::VectorInstruction v = npukb::Masked(npukb::Op::Cast, mask, repeatTime, isSetMask);
    v.mode = static_cast<uint8_t>(roundMode);
    npukb::Issue(v, npukb::Strided(dst, p.dstBlkStride, p.dstRepStride),
                 npukb::Strided(src, p.srcBlkStride, p.srcRepStride));
}
template <typename T, typename U, bool isSetMask = true>
NPUKB_API void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, uint64_t mask,
                    const uint8_t repeatTime, const UnaryRepeatParams& p) {
    NPUKB_CAST_CHECK;
    npukb::VectorInstruction v =
        npukb::MaskedCount<detail::Wider<T, U>>(npukb::Op::Cast, mask, repeatTime, isSetMask);
    v.mode = static_cast<uint8_t>(roundMode);
    npukb::Issue(v, npukb::Strided(dst, p.dstBlkStride, p.dstRepStride),
                 npukb::Strided(src, p.srcBlkStride, p.srcRepStride));
}
#undef NPUKB_CAST_CHECK

// Compare: one result bit per element, least significant bit first. Counts must fill whole repeats of 256 bytes.
template <typename T, typename U>
NPUKB_API constexpr void CheckCompare() {
    using namespace npukb::types;
    static_assert((npukb::kSetOf<T> & (F16 | F32 | I32)) != 0, "Compare takes half, float or int32_t sources");
    static_assert((npukb::kSetOf<U> & (U8 | I8)) != 0, "Compare writes bits into a uint8_t or int8_t tensor");
}
template <typename T, typename U>
NPUKB_API void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                       CMPMODE cmpMode, uint32_t count) {
    CheckCompare<T, U>();
    constexpr uint32_t code = npukb::kCode<npukb::Op::Compare, npukb::DType::U8, npukb::DTypeOf<T>::value>;
    npukb_vector_count(code | static_cast<uint32_t>(cmpMode) << npukb::kModeShift, static_cast<int32_t>(count), &dst.npukb_view, &src0.npukb_view, &src1.npukb_view, 0);
}
template <typename T, typename U>
NPUKB_API void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
                        uint32_t count) {
    CheckCompare<T, U>();
    constexpr uint32_t code = npukb::kCode<npukb::Op::Compares, npukb::DType::U8, npukb::DTypeOf<T>::value>;
    npukb_vector_count(code | static_cast<uint32_t>(cmpMode) << npukb::kModeShift, static_cast<int32_t>(count), &dst.npukb_view, &src0.npukb_view, nullptr, npukb::RawBits(src1Scalar));
}
template <typename T, typename U>
NPUKB_API void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
                             CMPMODE cmpMode, uint32_t count) {
    Compares(dst, src0, src1Scalar, cmpMode, count);
}
template <typename T, typename U, bool isSetMask = true>
NPUKB_API void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                       CMPMODE cmpMode, uint64_t mask, uint8_t repeatTime, const BinaryRepeatParams& p) {
    CheckCompare<T, U>();
    npukb::VectorInstruction v = npukb::MaskedCount<T>(npukb::Op::Compare, mask, repeatTime, isSetMask);
    v.mode = static_cast<uint8_t>(cmpMode);
    npukb::Issue(v, npukb::Whole(dst), npukb::Strided(src0, p.src0BlkStride, p.src0RepStride),
                 npukb::Strided(src1, p.src1BlkStride, p.src1RepStride));
}

// Select: bits choose between src0 (1) and src1 or a scalar (0). The mask travels in `mask` as an operand of its own.
template <typename T, typename U>
NPUKB_API npukb::VectorInstruction Selecting(const LocalTensor<U>& selMask, SELMODE mode, int64_t count) {
    using namespace npukb::types;
    static_assert((npukb::kSetOf<T> & (F16 | F32)) != 0, "Select takes half or float");
    npukb::VectorInstruction v = npukb::Counted(npukb::Op::Select, count);
    v.mode = static_cast<uint8_t>(mode);
    v.mask[0] = selMask.GetPhyAddr();
    v.mask[1] = selMask.npukb_view.bytes;
    return v;
}
template <typename T, typename U>
NPUKB_API void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                      const LocalTensor<T>& src1, SELMODE selMode, uint32_t count) {
    npukb::VectorInstruction v = Selecting<T>(selMask, selMode, static_cast<int32_t>(count));
    npukb::Issue(v, npukb::Whole(dst), npukb::Whole(src0), npukb::Whole(src1));
}
template <typename T, typename U>
NPUKB_API void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
                      SELMODE selMode, uint32_t count) {
    npukb::VectorInstruction v = Selecting<T>(selMask, selMode, static_cast<int32_t>(count));
    v.scalar = npukb::RawBits(src1);
    npukb::Issue(v, npukb::Whole(dst), npukb::Whole(src0));
}

// Duplicate: one scalar into every lane.
template <typename T, bool isSetMask = true>
NPUKB_API void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& count) {
    NPUKB_SUPPORTS(Duplicate, F16 | BF16 | I16 | U16 | F32 | I32 | U32);
    npukb_vector_count(npukb::kCodeOf<npukb::Op::Duplicate, npukb::DTypeOf<T>::value>, count, &dst.npukb_view, nullptr, nullptr, npukb::RawBits(scalarValue));
}
template <typename T, bool isSetMask = true>
NPUKB_API void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask[], const uint8_t repeatTime,
                         const uint16_t dstBlockStride, const uint8_t dstRepeatStride) {
    NPUKB_SUPPORTS(Duplicate, F16 | BF16 | I16 | U16 | F32 | I32 | U32);
    npukb::VectorInstruction v = npukb::Masked(npukb::Op::Duplicate, mask, repeatTime, isSetMask);
    v.scalar = npukb::RawBits(scalarValue);
    npukb::Issue(v, npukb::Strided(dst, dstBlockStride, dstRepeatStride), npukb::Operand{});
}
template <typename T, bool isSetMask = true>
NPUKB_API void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask, const uint8_t repeatTime,
                         const uint16_t dstBlockStride, const uint8_t dstRepeatStride) {
    NPUKB_SUPPORTS(Duplicate, F16 | BF16 | I16 | U16 | F32 | I32 | U32);
    npukb::VectorInstruction v = npukb::MaskedCount<T>(npukb::Op::Duplicate, mask, repeatTime, isSetMask);
    v.scalar = npukb::RawBits(scalarValue);
    npukb::Issue(v, npukb::Strided(dst, dstBlockStride, dstRepeatStride), npukb::Operand{});
}

// CreateVecIndex: first, first + 1, first + 2, …
template <typename T>
NPUKB_API void CreateVecIndex(const LocalTensor<T>& dst, const T& firstValue, uint32_t count) {
    NPUKB_SUPPORTS(CreateVecIndex, I16 | F16 | I32 | F32);
    npukb_vector_count(npukb::kCodeOf<npukb::Op::CreateVecIndex, npukb::DTypeOf<T>::value>, static_cast<int32_t>(count), &dst.npukb_view, nullptr, nullptr, npukb::RawBits(firstValue));
}

// Brcb: eight elements become eight blocks, each filled with one of them.
template <typename T>
NPUKB_API void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t repeatTime,
                    const BrcbRepeatParams& p) {
    NPUKB_SUPPORTS(Brcb, F16 | BF16 | I16 | U16 | F32 | I32 | U32);
    npukb::VectorInstruction v = npukb::Counted(npukb::Op::Brcb, 0);
    v.repeat = repeatTime;
    npukb::Issue(v, npukb::Strided(dst, p.dstBlkStride, p.dstRepStride), npukb::Whole(src0));
}

// Copy: masked moves inside UB.
template <typename T, bool isSetMask = true>
NPUKB_API void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask, const uint8_t repeatTime,
                    const CopyRepeatParams& p) {
    NPUKB_SUPPORTS(Copy, F16 | BF16 | I16 | U16 | F32 | I32 | U32);
    npukb::VectorInstruction v = npukb::MaskedCount<T>(npukb::Op::Copy, mask, repeatTime, isSetMask);
    npukb::Issue(v, npukb::Strided(dst, p.dstStride, p.dstRepeatSize), npukb::Strided(src, p.srcStride, p.srcRepeatSize));
}

// The mask register, for calls with isSetMask = false.
NPUKB_API void SetMaskCount() { npukb_mask_mode(1); }
NPUKB_API void SetMaskNorm() { npukb_mask_mode(0); }
template <typename T, MaskMode mode = MaskMode::NORMAL>
NPUKB_API void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow) {
    npukb_mask_set(maskHigh, maskLow);
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
NPUKB_API void SetVectorMask(int32_t length) {
    if constexpr (mode == MaskMode::COUNTER) {
        npukb_mask_set(0, static_cast<uint64_t>(length));
    } else {
        constexpr int32_t lanes = 256 / sizeof(T);
        int32_t n = length < lanes ? length : lanes;
        npukb_mask_set(n <= 64 ? 0 : (n >= 128 ? ~0ull : (1ull << (n - 64)) - 1), n >= 64 ? ~0ull : (1ull << n) - 1);
    }
}
NPUKB_API void ResetMask() { npukb_mask_set(~0ull, ~0ull); }

}  // namespace AscendC

#undef NPUKB_FORMS
#undef NPUKB_LIST
