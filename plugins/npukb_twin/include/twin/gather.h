// Filling, gathering and broadcasting inside the unified buffer: Gather, Gatherb, GatherMask; the forms of Duplicate,
// Copy, CreateVecIndex and Brcb that vector.h does not have; ArithProgression.
#pragma once
#include "vector.h"

namespace AscendC {

struct GatherRepeatParams {
    constexpr GatherRepeatParams() = default;
    constexpr GatherRepeatParams(npukb::of::GatherRepeatParams::dstBlkStride dstBlkStrideIn,
                                 npukb::of::GatherRepeatParams::dstRepStride dstRepStrideIn)
        : dstBlkStride(dstBlkStrideIn), dstRepStride(dstRepStrideIn) {}
    npukb::of::GatherRepeatParams::dstBlkStride dstBlkStride = 1;
    npukb::of::GatherRepeatParams::dstRepStride dstRepStride = 8;
};

struct GatherMaskParams {
    constexpr GatherMaskParams() = default;
    constexpr GatherMaskParams(npukb::of::GatherMaskParams::src0BlockStride src0BlockStrideIn,
                               npukb::of::GatherMaskParams::repeatTimes repeatTimesIn,
                               npukb::of::GatherMaskParams::src0RepeatStride src0RepeatStrideIn,
                               npukb::of::GatherMaskParams::src1RepeatStride src1RepeatStrideIn)
        : src0BlockStride(src0BlockStrideIn),
          repeatTimes(repeatTimesIn),
          src0RepeatStride(src0RepeatStrideIn),
          src1RepeatStride(src1RepeatStrideIn) {}
    npukb::of::GatherMaskParams::src0BlockStride src0BlockStride = 1;
    npukb::of::GatherMaskParams::repeatTimes repeatTimes = 0;
    npukb::of::GatherMaskParams::src0RepeatStride src0RepeatStride = 0;
    npukb::of::GatherMaskParams::src1RepeatStride src1RepeatStride = 0;
};

enum class GatherMaskMode : uint8_t { VERSION_V1, VERSION_V2 };
inline constexpr GatherMaskMode defaultGatherMaskMode = GatherMaskMode::VERSION_V1;

#define NPUKB_WIDE_TYPES(name, takes) static_assert(takes, #name " takes elements of 16 and 32 bits")

// Gather: element i comes from byte srcBaseAddr + srcOffset[i] of src.
template <typename T>
NPUKB_API void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
                      const uint32_t srcBaseAddr, const uint32_t count) {
    NPUKB_WIDE_TYPES(Gather, npukb::moves::Gather<T>);
    npukb_gather_count(sizeof(T), &dst.npukb_view, &src.npukb_view, &srcOffset.npukb_view, srcBaseAddr, count);
}
#define NPUKB_GATHER(mask_type, prepare)                                                                 \
    template <typename T>                                                                                \
    NPUKB_API void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,                          \
                          const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr, mask_type, \
                          const npukb::of::Gather::repeatTime repeatTime,                                \
                          const npukb::of::Gather::dstRepStride dstRepStride) {                          \
        NPUKB_WIDE_TYPES(Gather, npukb::moves::Gather<T>);                                               \
        npukb::VectorInstruction v = prepare;                                                            \
        v.dst = npukb::Strided(dst, 1, dstRepStride);                                                    \
        v.src0 = npukb::Whole(src);                                                                      \
        v.src1 = npukb::Whole(srcOffset);                                                                \
        npukb_gather_lanes(&v, srcBaseAddr);                                                             \
    }
NPUKB_GATHER(const uint64_t mask[], npukb::Masked(npukb::Op::Copy, mask, repeatTime, true))
NPUKB_GATHER(const uint64_t mask, npukb::MaskedCount<T>(npukb::Op::Copy, mask, repeatTime, true))
#undef NPUKB_GATHER

// Gatherb: whole blocks of 32 bytes, eight in a repeat.
template <typename T>
NPUKB_API void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& offset,
                       const npukb::of::Gatherb::repeatTime repeatTime, const GatherRepeatParams& repeatParams) {
    NPUKB_WIDE_TYPES(Gatherb, npukb::moves::Gatherb<T>);
    npukb_gather_blocks(sizeof(T), &dst.npukb_view, &src0.npukb_view, &offset.npukb_view, repeatTime, &repeatParams);
}

// GatherMask: the elements whose bit is set, one behind the other. rsvdCnt counts them.
template <typename T, GatherMaskMode mode = defaultGatherMaskMode>
NPUKB_API void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern,
                          const bool reduceMode, const uint32_t mask, const GatherMaskParams& gatherMaskParams,
                          uint64_t& rsvdCnt) {
    NPUKB_WIDE_TYPES(GatherMask, npukb::moves::GatherMask<T>);
    npukb::GatherMaskCall call{&dst.npukb_view, &src0.npukb_view, nullptr, src1Pattern, mask, sizeof(T), reduceMode};
    npukb_gather_mask(&call, &gatherMaskParams, &rsvdCnt);
}
template <typename T, typename U, GatherMaskMode mode = defaultGatherMaskMode>
NPUKB_API void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1Pattern,
                          const bool reduceMode, const uint32_t mask, const GatherMaskParams& gatherMaskParams,
                          uint64_t& rsvdCnt) {
    NPUKB_WIDE_TYPES(GatherMask, npukb::moves::GatherMask<T>);
    using namespace npukb::types;
    static_assert(sizeof(U) == sizeof(T) && (npukb::kSetOf<U> & (U16 | U32)) != 0,
                  "GatherMask: src1Pattern is uint16_t for elements of 16 bits and uint32_t for those of 32");
    npukb::GatherMaskCall call{&dst.npukb_view, &src0.npukb_view, &src1Pattern.npukb_view, 0, mask,
                               sizeof(T),       reduceMode};
    npukb_gather_mask(&call, &gatherMaskParams, &rsvdCnt);
}

template <typename T>
NPUKB_API void DuplicateImpl(__ubuf__ T* dst, const T& scalarValue, const int32_t& count) {
    Duplicate(
        LocalTensor<T>(npukb::BufferView{dst, static_cast<uint32_t>(count) * static_cast<uint32_t>(sizeof(T)), 0}),
        scalarValue, count);
}

template <typename T, bool isSetMask = true>
NPUKB_API void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                    const npukb::of::Copy::repeatTime repeatTime, const CopyRepeatParams& p) {
    NPUKB_WIDE_TYPES(Copy, npukb::takes::Copy<T>::value);
    npukb::VectorInstruction v = npukb::Masked(npukb::Op::Copy, mask, repeatTime, isSetMask);
    npukb::Issue(v, npukb::Strided(dst, p.dstStride, p.dstRepeatSize),
                 npukb::Strided(src, p.srcStride, p.srcRepeatSize));
}

#define NPUKB_INDEX(mask_type, prepare)                                                                               \
    template <typename T>                                                                                             \
    NPUKB_API void CreateVecIndex(                                                                                    \
        const LocalTensor<T>& dst, const T& firstValue, mask_type, npukb::of::CreateVecIndex::repeatTime repeatTime,  \
        npukb::of::CreateVecIndex::dstBlkStride dstBlkStride, npukb::of::CreateVecIndex::dstRepStride dstRepStride) { \
        using namespace npukb::types;                                                                                 \
        static_assert((npukb::kSetOf<T> & (I16 | F16 | I32 | F32)) != 0,                                              \
                      "CreateVecIndex takes int16_t, half, int32_t and float");                                       \
        npukb::VectorInstruction v = prepare;                                                                         \
        v.scalar = npukb::RawBits(firstValue);                                                                        \
        npukb::Issue(v, npukb::Strided(dst, dstBlkStride, dstRepStride), npukb::Operand{});                           \
    }
NPUKB_INDEX(uint64_t mask[], npukb::Masked(npukb::Op::CreateVecIndex, mask, repeatTime, true))
NPUKB_INDEX(uint64_t mask, npukb::MaskedCount<T>(npukb::Op::CreateVecIndex, mask, repeatTime, true))
#undef NPUKB_INDEX

// firstValue, firstValue + diffValue, firstValue + 2 diffValue, …
template <typename T>
NPUKB_API void ArithProgression(const LocalTensor<T>& dstLocal, const T firstValue, const T diffValue,
                                const int32_t count) {
    using namespace npukb::types;
    static_assert((npukb::kSetOf<T> & (I16 | F16 | I32 | F32)) != 0,
                  "ArithProgression takes int16_t, half, int32_t and float");
    npukb_progression(npukb::DTypeOf<T>::value, &dstLocal.npukb_view, npukb::RawBits(firstValue),
                      npukb::RawBits(diffValue), count);
}
template <typename T>
NPUKB_API void Arange(const LocalTensor<T>& dstLocal, const T firstValue, const T diffValue, const int32_t count) {
    ArithProgression(dstLocal, firstValue, diffValue, count);
}

#undef NPUKB_WIDE_TYPES

}  // namespace AscendC
