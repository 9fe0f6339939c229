// Instructions whose destination may have another type than their sources.
#pragma once
#include "vector.h"

namespace npukb {

template <bool vector_scales, bool upper_half>
inline constexpr uint32_t kDequantFlags = (vector_scales ? VectorScales : 0u) | (upper_half ? UpperHalf : 0u);

}  // namespace npukb

namespace AscendC {

#define NPUKB_MIXED_TWO NPUKB_LIST(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1)
#define NPUKB_MIXED_FORMS(name, set, count_type)                                                            \
    NPUKB_COUNT_FORM(name, name, NPUKB_SUPPORTS_MIXED(name, set), T, U, NPUKB_LIST(typename T, typename U), \
                     NPUKB_MIXED_TWO, count_type, NPUKB_TWO_VIEWS, 0)                                       \
    NPUKB_MASK_FORMS(name, name, NPUKB_SUPPORTS_MIXED(name, set), T, U, NPUKB_LIST(typename T, typename U), \
                     NPUKB_MIXED_TWO, Binary, NPUKB_TWO_VIEWS, 0)
#define NPUKB_MIXED(name, set) NPUKB_MIXED_FORMS(name, NPUKB_LIST(set), const int32_t&)
#define NPUKB_MIXED_UNSIGNED(name, set) NPUKB_MIXED_FORMS(name, NPUKB_LIST(set), const uint32_t)

#define NPUKB_SAME(name, set)                                                                            \
    NPUKB_COUNT_FORM(name, name, NPUKB_SUPPORTS(name, set), T, T, typename T, NPUKB_TWO, const int32_t&, \
                     NPUKB_TWO_VIEWS, 0)                                                                 \
    NPUKB_MASK_FORMS(name, name, NPUKB_SUPPORTS(name, set), T, T, typename T, NPUKB_TWO, Binary, NPUKB_TWO_VIEWS, 0)

#define NPUKB_MIXED_ONE NPUKB_LIST(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue)
#define NPUKB_MIXED_SCALAR(name, set)                                                                       \
    NPUKB_COUNT_FORM(name, name, NPUKB_SUPPORTS_MIXED(name, set), T, U, NPUKB_LIST(typename T, typename U), \
                     NPUKB_MIXED_ONE, const int32_t&, NPUKB_ONE_VIEWS, npukb::RawBits(scalarValue))         \
    NPUKB_MASK_FORMS(name, name, NPUKB_SUPPORTS_MIXED(name, set), T, U, NPUKB_LIST(typename T, typename U), \
                     NPUKB_MIXED_ONE, Unary, NPUKB_ONE_VIEWS, npukb::RawBits(scalarValue))
#include "instructions.def"
#undef NPUKB_MIXED_FORMS
#undef NPUKB_MIXED_ONE

// The older name of MulAddRelu.
#define NPUKB_FUSED_RELU(lanes_type, argument)                                                                     \
    template <typename T, bool isSetMask = true>                                                                   \
    NPUKB_API void FusedMulAddRelu(NPUKB_TWO, lanes_type, const npukb::of::FusedMulAddRelu::repeatTime repeatTime, \
                                   const BinaryRepeatParams& repeatParams) {                                       \
        MulAddRelu<T, isSetMask>(dst, src0, src1, argument, repeatTime, repeatParams);                             \
    }
NPUKB_FUSED_RELU(const uint64_t mask[], mask)
NPUKB_FUSED_RELU(const uint64_t mask, mask)
template <typename T>
NPUKB_API void FusedMulAddRelu(NPUKB_TWO, const int32_t& count) {
    MulAddRelu(dst, src0, src1, count);
}
#undef NPUKB_FUSED_RELU

// CastDequant and its older name. halfBlock: 8-bit results fill the upper half of each block, otherwise the lower.
#define NPUKB_DEQUANT(name)                                                                                            \
    template <typename T, typename U, bool isVecDeq = true, bool halfBlock = true>                                     \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count) {                  \
        static_assert(npukb::takes::CastDequant<T, U>::Check());                                                       \
        constexpr uint32_t code = npukb::kCodeFor<npukb::Op::CastDequant, T, U> |                                      \
                                  npukb::kDequantFlags<isVecDeq, halfBlock> << npukb::kModeShift;                      \
        npukb_vector_count(code, static_cast<int32_t>(count), NPUKB_ONE_VIEWS, 0);                                     \
    }                                                                                                                  \
    template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>              \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],                   \
                        npukb::of::name::repeatTime repeatTime, const UnaryRepeatParams& repeatParams) {               \
        static_assert(npukb::takes::CastDequant<T, U>::Check());                                                       \
        constexpr uint32_t flags = npukb::kDequantFlags<isVecDeq, halfBlock> << npukb::kFlagShift;                     \
        npukb_vector_mask(npukb::kCodeFor<npukb::Op::CastDequant, T, U>, NPUKB_SHAPE(Bits, Unary) | flags, repeatTime, \
                          reinterpret_cast<uint64_t>(mask), NPUKB_ONE_VIEWS, &repeatParams, 0);                        \
    }                                                                                                                  \
    template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>              \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask,                      \
                        npukb::of::name::repeatTime repeatTime, const UnaryRepeatParams& repeatParams) {               \
        static_assert(npukb::takes::CastDequant<T, U>::Check());                                                       \
        constexpr uint32_t flags = npukb::kDequantFlags<isVecDeq, halfBlock> << npukb::kFlagShift;                     \
        npukb_vector_mask(npukb::kCodeFor<npukb::Op::CastDequant, T, U>, NPUKB_SHAPE(Count, Unary) | flags,            \
                          repeatTime, static_cast<uint64_t>(mask), NPUKB_ONE_VIEWS, &repeatParams, 0);                 \
    }
NPUKB_DEQUANT(CastDequant)
NPUKB_DEQUANT(CastDeq)
#undef NPUKB_DEQUANT
#undef NPUKB_MIXED_TWO

// BilinearInterpolation gathers blocks of src0, weighs them with src1 and adds up those of one horizontal row.
#define NPUKB_BILINEAR(lanes_type, source, lanes)                                                                   \
    template <typename T>                                                                                           \
    NPUKB_API void BilinearInterpolation(                                                                           \
        const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src0Offset,             \
        const LocalTensor<T>& src1, lanes_type, npukb::of::BilinearInterpolation::hRepeat hRepeat, bool repeatMode, \
        npukb::of::BilinearInterpolation::dstBlkStride dstBlkStride,                                                \
        npukb::of::BilinearInterpolation::vROffset vROffset, npukb::of::BilinearInterpolation::vRepeat vRepeat,     \
        const LocalTensor<uint8_t>& sharedTmpBuffer) {                                                              \
        NPUKB_SUPPORTS(BilinearInterpolation, F16);                                                                 \
        const npukb::BufferView* tensors[] = {&dst.npukb_view, &src0.npukb_view, &src0Offset.npukb_view,            \
                                              &src1.npukb_view, &sharedTmpBuffer.npukb_view};                       \
        npukb_bilinear(static_cast<uint32_t>(npukb::LaneSource::source), lanes, tensors,                            \
                       hRepeat | vRepeat << 8 | repeatMode << 16,                                                   \
                       dstBlkStride | static_cast<uint32_t>(vROffset) << 16);                                       \
    }
NPUKB_BILINEAR(uint64_t mask[], Bits, reinterpret_cast<uint64_t>(mask))
NPUKB_BILINEAR(uint64_t mask, Count, mask)
#undef NPUKB_BILINEAR

}  // namespace AscendC
