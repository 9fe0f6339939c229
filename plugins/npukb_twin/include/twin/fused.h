// Instructions whose destination may have another type than their sources.
#pragma once
#include "vector.h"

namespace npukb {

// Whether T and U are the element types of dst and of the sources, in this order.
template <typename T, typename U, typename D, typename S>
inline constexpr bool kTypes = kSame<T, D> && kSame<U, S>;
template <typename T, typename U>
inline constexpr bool kReluCast =
    kTypes<T, U, half, float> || kTypes<T, U, int8_t, half> || kTypes<T, U, int8_t, int16_t>;
template <typename T, typename U>
inline constexpr bool kMulCast = kTypes<T, U, int8_t, half> || kTypes<T, U, uint8_t, half>;
template <typename T, typename U>
inline constexpr bool kWidens = kTypes<T, U, half, half> || kTypes<T, U, float, float> || kTypes<T, U, float, half>;
template <typename T, typename U>
inline constexpr bool kDequant =
    kTypes<T, U, int8_t, int16_t> || kTypes<T, U, uint8_t, int16_t> || kTypes<T, U, half, int32_t>;

}  // namespace npukb

namespace AscendC {

#define NPUKB_TYPES(name, condition, words) static_assert(condition, #name " takes these types: " words)
#define NPUKB_MIXED_TWO NPUKB_LIST(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1)
#define NPUKB_MIXED(name, condition, words, count_type)                                                         \
    NPUKB_COUNT_FORM(name, name, NPUKB_TYPES(name, condition, words), T, U, NPUKB_LIST(typename T, typename U), \
                     NPUKB_MIXED_TWO, count_type, NPUKB_TWO_VIEWS, 0)                                           \
    NPUKB_MASK_FORMS(name, name, NPUKB_TYPES(name, condition, words), T, U, NPUKB_LIST(typename T, typename U), \
                     NPUKB_MIXED_TWO, Binary, NPUKB_TWO_VIEWS, 0)

NPUKB_MIXED(AddReluCast, (npukb::kReluCast<T, U>), "half from float, int8_t from half, int8_t from int16_t",
            const uint32_t)
NPUKB_MIXED(SubReluCast, (npukb::kReluCast<T, U>), "half from float, int8_t from half, int8_t from int16_t",
            const uint32_t)
NPUKB_MIXED(MulCast, (npukb::kMulCast<T, U>), "int8_t or uint8_t from half", uint32_t)
NPUKB_MIXED(MulAddDst, (npukb::kWidens<T, U>), "half from half, float from float, float from half", const int32_t&)
NPUKB_MIXED(AddDeqRelu, (npukb::kTypes<T, U, half, int32_t>), "half from int32_t", const int32_t&)

#define NPUKB_SAME(name)                                                                                       \
    NPUKB_COUNT_FORM(name, name, NPUKB_SUPPORTS(name, F16 | F32), T, T, typename T, NPUKB_TWO, const int32_t&, \
                     NPUKB_TWO_VIEWS, 0)                                                                       \
    NPUKB_MASK_FORMS(name, name, NPUKB_SUPPORTS(name, F16 | F32), T, T, typename T, NPUKB_TWO, Binary,         \
                     NPUKB_TWO_VIEWS, 0)
NPUKB_SAME(FusedMulAdd)
NPUKB_SAME(MulAddRelu)

// The older name of MulAddRelu.
#define NPUKB_FUSED_RELU(lanes_type, argument)                                         \
    template <typename T, bool isSetMask = true>                                       \
    NPUKB_API void FusedMulAddRelu(NPUKB_TWO, lanes_type, const uint8_t repeatTime,    \
                                   const BinaryRepeatParams& repeatParams) {           \
        MulAddRelu<T, isSetMask>(dst, src0, src1, argument, repeatTime, repeatParams); \
    }
NPUKB_FUSED_RELU(const uint64_t mask[], mask)
NPUKB_FUSED_RELU(const uint64_t mask, mask)
template <typename T>
NPUKB_API void FusedMulAddRelu(NPUKB_TWO, const int32_t& count) {
    MulAddRelu(dst, src0, src1, count);
}
#undef NPUKB_FUSED_RELU

#define NPUKB_MIXED_SCALAR NPUKB_LIST(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue)
NPUKB_COUNT_FORM(Axpy, Axpy,
                 NPUKB_TYPES(Axpy, (npukb::kWidens<T, U>), "half from half, float from float, float from half"), T, U,
                 NPUKB_LIST(typename T, typename U), NPUKB_MIXED_SCALAR, const int32_t&, NPUKB_ONE_VIEWS,
                 npukb::RawBits(scalarValue))
NPUKB_MASK_FORMS(Axpy, Axpy,
                 NPUKB_TYPES(Axpy, (npukb::kWidens<T, U>), "half from half, float from float, float from half"), T, U,
                 NPUKB_LIST(typename T, typename U), NPUKB_MIXED_SCALAR, Unary, NPUKB_ONE_VIEWS,
                 npukb::RawBits(scalarValue))

// CastDequant and its older name. halfBlock: 8-bit results fill the upper half of each block, otherwise the lower.
#define NPUKB_DEQUANT(name)                                                                                           \
    template <typename T, typename U, bool isVecDeq = true, bool halfBlock = true>                                    \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count) {                 \
        NPUKB_TYPES(name, (npukb::kDequant<T, U>), "int8_t or uint8_t from int16_t, half from int32_t");              \
        constexpr uint32_t code = npukb::kCodeFor<npukb::Op::CastDequant, T, U> | (isVecDeq + 2 * halfBlock)          \
                                                                                      << npukb::kModeShift;           \
        npukb_vector_count(code, static_cast<int32_t>(count), NPUKB_ONE_VIEWS, 0);                                    \
    }                                                                                                                 \
    template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>             \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],                  \
                        uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {                                  \
        NPUKB_TYPES(name, (npukb::kDequant<T, U>), "int8_t or uint8_t from int16_t, half from int32_t");              \
        constexpr uint32_t flags = (isVecDeq + 2u * halfBlock) << npukb::kFlagShift;                                  \
        npukb_vector_mask(npukb::kCodeFor<npukb::Op::CastDequant, T, U>, NPUKB_LANES(Bits, Unary) | flags,            \
                          reinterpret_cast<uint64_t>(mask), NPUKB_ONE_VIEWS, &repeatParams, 0);                       \
    }                                                                                                                 \
    template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>             \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, uint8_t repeatTime, \
                        const UnaryRepeatParams& repeatParams) {                                                      \
        NPUKB_TYPES(name, (npukb::kDequant<T, U>), "int8_t or uint8_t from int16_t, half from int32_t");              \
        constexpr uint32_t flags = (isVecDeq + 2u * halfBlock) << npukb::kFlagShift;                                  \
        npukb_vector_mask(npukb::kCodeFor<npukb::Op::CastDequant, T, U>, NPUKB_LANES(Count, Unary) | flags,           \
                          static_cast<uint64_t>(mask), NPUKB_ONE_VIEWS, &repeatParams, 0);                            \
    }
NPUKB_DEQUANT(CastDequant)
NPUKB_DEQUANT(CastDeq)
#undef NPUKB_DEQUANT
#undef NPUKB_MIXED
#undef NPUKB_MIXED_TWO
#undef NPUKB_MIXED_SCALAR
#undef NPUKB_SAME

// BilinearInterpolation gathers blocks of src0, weighs them with src1 and adds up those of one horizontal row.
#define NPUKB_BILINEAR(lanes_type, source, lanes)                                                        \
    template <typename T>                                                                                \
    NPUKB_API void BilinearInterpolation(                                                                \
        const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src0Offset,  \
        const LocalTensor<T>& src1, lanes_type, uint8_t hRepeat, bool repeatMode, uint16_t dstBlkStride, \
        uint16_t vROffset, uint8_t vRepeat, const LocalTensor<uint8_t>& sharedTmpBuffer) {               \
        NPUKB_SUPPORTS(BilinearInterpolation, F16);                                                      \
        const npukb::BufferView* tensors[] = {&dst.npukb_view, &src0.npukb_view, &src0Offset.npukb_view, \
                                              &src1.npukb_view, &sharedTmpBuffer.npukb_view};            \
        npukb_bilinear(static_cast<uint32_t>(npukb::LaneSource::source), lanes, tensors,                 \
                       hRepeat | vRepeat << 8 | repeatMode << 16,                                        \
                       dstBlkStride | static_cast<uint32_t>(vROffset) << 16);                            \
    }
NPUKB_BILINEAR(uint64_t mask[], Bits, reinterpret_cast<uint64_t>(mask))
NPUKB_BILINEAR(uint64_t mask, Count, mask)
#undef NPUKB_BILINEAR
#undef NPUKB_TYPES

}  // namespace AscendC
