// Reductions: over a block, a repeat, or a whole tensor.
#pragma once
#include "vector.h"

namespace AscendC {

// Results per 32-byte block (Block…), per pair (Pair…) or per repeat (Whole…): destination strides count results.
#define NPUKB_REPEAT_FIRST(name)                                                                                          \
    template <typename T, bool isSetMask = true>                                                                          \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, const int32_t mask,   \
                        const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride) {             \
        NPUKB_SUPPORTS(name, F16 | F32);                                                                                  \
        npukb::VectorInstruction v = npukb::MaskedCount<T>(npukb::Op::name, static_cast<uint64_t>(mask), repeat, isSetMask); \
        npukb::Issue(v, npukb::Strided(dst, 1, dstRepStride), npukb::Strided(src, srcBlkStride, srcRepStride));           \
    }                                                                                                                     \
    template <typename T, bool isSetMask = true>                                                                          \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, const uint64_t mask[], \
                        const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride) {             \
        NPUKB_SUPPORTS(name, F16 | F32);                                                                                  \
        npukb::VectorInstruction v = npukb::Masked(npukb::Op::name, mask, repeat, isSetMask);                             \
        npukb::Issue(v, npukb::Strided(dst, 1, dstRepStride), npukb::Strided(src, srcBlkStride, srcRepStride));           \
    }
NPUKB_REPEAT_FIRST(BlockReduceSum)
NPUKB_REPEAT_FIRST(BlockReduceMax)
NPUKB_REPEAT_FIRST(BlockReduceMin)
NPUKB_REPEAT_FIRST(PairReduceSum)
#undef NPUKB_REPEAT_FIRST

template <typename T, bool isSetMask = true>
NPUKB_API void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,
                              const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                              const int32_t srcRepStride) {
    NPUKB_SUPPORTS(WholeReduceSum, F16 | F32);
    npukb::VectorInstruction v =
        npukb::MaskedCount<T>(npukb::Op::WholeReduceSum, static_cast<uint64_t>(mask), repeatTime, isSetMask);
    npukb::Issue(v, npukb::Strided(dst, 1, dstRepStride), npukb::Strided(src, srcBlkStride, srcRepStride));
}
template <typename T, bool isSetMask = true>
NPUKB_API void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                              const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                              const int32_t srcRepStride) {
    NPUKB_SUPPORTS(WholeReduceSum, F16 | F32);
    npukb::VectorInstruction v = npukb::Masked(npukb::Op::WholeReduceSum, mask, repeatTime, isSetMask);
    npukb::Issue(v, npukb::Strided(dst, 1, dstRepStride), npukb::Strided(src, srcBlkStride, srcRepStride));
}
// RepeatReduceSum: the older name, with the destination's repeat stride after the source's strides.
template <typename T, bool isSetMask = true>
NPUKB_API void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,
                               const int32_t mask, const int32_t /*dstBlkStride*/, const int32_t srcBlkStride,
                               const int32_t dstRepStride, const int32_t srcRepStride) {
    WholeReduceSum<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride);
}

#define NPUKB_WHOLE_EXTREME(name)                                                                                         \
    template <typename T, bool isSetMask = true>                                                                          \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,                         \
                        const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,                 \
                        const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX) {                 \
        NPUKB_SUPPORTS(name, F16 | F32);                                                                                  \
        npukb::VectorInstruction v =                                                                                      \
            npukb::MaskedCount<T>(npukb::Op::name, static_cast<uint64_t>(mask), repeatTime, isSetMask);                   \
        v.mode = static_cast<uint8_t>(order);                                                                             \
        npukb::Issue(v, npukb::Strided(dst, 1, dstRepStride), npukb::Strided(src, srcBlkStride, srcRepStride));           \
    }                                                                                                                     \
    template <typename T, bool isSetMask = true>                                                                          \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],                      \
                        const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,                 \
                        const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX) {                 \
        NPUKB_SUPPORTS(name, F16 | F32);                                                                                  \
        npukb::VectorInstruction v = npukb::Masked(npukb::Op::name, mask, repeatTime, isSetMask);                         \
        v.mode = static_cast<uint8_t>(order);                                                                             \
        npukb::Issue(v, npukb::Strided(dst, 1, dstRepStride), npukb::Strided(src, srcBlkStride, srcRepStride));           \
    }
NPUKB_WHOLE_EXTREME(WholeReduceMax)
NPUKB_WHOLE_EXTREME(WholeReduceMin)
#undef NPUKB_WHOLE_EXTREME

// Whole tensors. `sharedTmpBuffer` is scratch: its content is undefined afterwards.
template <typename T, bool isSetMask = true>
NPUKB_API void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
                         const int32_t count) {
    NPUKB_SUPPORTS(ReduceSum, F16 | F32);
    npukb_vector_count(npukb::kCodeOf<npukb::Op::ReduceSum, npukb::DTypeOf<T>::value>, count, &dst.npukb_view, &src.npukb_view,
                       &sharedTmpBuffer.npukb_view, 0);
}
template <typename T, bool isSetMask = true>
NPUKB_API void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
                         const int32_t mask, const int32_t repeatTime, const int32_t srcRepStride) {
    NPUKB_SUPPORTS(ReduceSum, F16 | F32);
    npukb::VectorInstruction v =
        npukb::MaskedCount<T>(npukb::Op::ReduceSum, static_cast<uint64_t>(mask), repeatTime, isSetMask);
    npukb::Issue(v, npukb::Whole(dst), npukb::Strided(src, 1, srcRepStride), npukb::Whole(sharedTmpBuffer));
}
#define NPUKB_TENSOR_EXTREME(name)                                                                                        \
    template <typename T>                                                                                                 \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,      \
                        const int32_t count, bool calIndex = false) {                                                     \
        NPUKB_SUPPORTS(name, F16 | F32);                                                                                  \
        constexpr uint32_t code = npukb::kCodeOf<npukb::Op::name, npukb::DTypeOf<T>::value>;                              \
        npukb_vector_count(code | static_cast<uint32_t>(calIndex) << npukb::kModeShift, count, &dst.npukb_view, &src.npukb_view,    \
                           &sharedTmpBuffer.npukb_view, 0);                                                              \
    }                                                                                                                     \
    template <typename T>                                                                                                 \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,      \
                        const int32_t mask, const int32_t repeatTime, const int32_t srcRepStride, bool calIndex = false) { \
        NPUKB_SUPPORTS(name, F16 | F32);                                                                                  \
        npukb::VectorInstruction v = npukb::MaskedCount<T>(npukb::Op::name, static_cast<uint64_t>(mask), repeatTime, true); \
        v.mode = calIndex;                                                                                                \
        npukb::Issue(v, npukb::Whole(dst), npukb::Strided(src, 1, srcRepStride), npukb::Whole(sharedTmpBuffer));          \
    }
NPUKB_TENSOR_EXTREME(ReduceMax)
NPUKB_TENSOR_EXTREME(ReduceMin)
#undef NPUKB_TENSOR_EXTREME
#undef NPUKB_SUPPORTS

}  // namespace AscendC
