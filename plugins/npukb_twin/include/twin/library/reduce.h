// The high-level library: reductions of rows and of axes, cumulative sums.
#pragma once
#include "abi.h"
#include "../tensor.h"

namespace AscendC {

inline constexpr CumSumConfig defaultCumSumConfig = {true, false, true};

namespace Pattern {
namespace Reduce {
// Which axes are reduced (R) and which stay (A).
struct AR {};
struct RA {};
}  // namespace Reduce
}  // namespace Pattern

#define NPUKB_ROW_TYPES(name, T)  \
    using namespace npukb::types; \
    static_assert((npukb::kSetOf<T> & (F16 | F32)) != 0, #name " takes half or float")

template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
NPUKB_API void Sum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                   const LocalTensor<uint8_t>& sharedTmpBuffer, const SumParams& sumParams) {
    NPUKB_ROW_TYPES(Sum, T);
    static_assert(reduceDim == -1, "Sum reduces the last axis: reduceDim has to be -1");
    npukb_library_row_sum(static_cast<uint32_t>(npukb::DTypeOf<T>::value) * 0x101, false, &dstTensor.npukb_view,
                          &srcTensor.npukb_view, &sharedTmpBuffer.npukb_view, &sumParams);
}
template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
NPUKB_API void Sum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const SumParams& sumParams) {
    NPUKB_ROW_TYPES(Sum, T);
    static_assert(reduceDim == -1, "Sum reduces the last axis: reduceDim has to be -1");
    npukb_library_row_sum(static_cast<uint32_t>(npukb::DTypeOf<T>::value) * 0x101, false, &dstTensor.npukb_view,
                          &srcTensor.npukb_view, nullptr, &sumParams);
}

#define NPUKB_MEAN_CHECK                                                                       \
    NPUKB_ROW_TYPES(Mean, T);                                                                  \
    static_assert((npukb::kSetOf<accType> & (F16 | F32)) != 0 && sizeof(accType) >= sizeof(T), \
                  "Mean adds in half or float, not in a type narrower than the elements");     \
    static_assert(reduceDim == -1, "Mean reduces the last axis: reduceDim has to be -1")
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
NPUKB_API void Mean(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                    const LocalTensor<uint8_t>& sharedTmpBuffer, const MeanParams& meanParams) {
    NPUKB_MEAN_CHECK;
    npukb_library_row_sum(
        static_cast<uint32_t>(npukb::DTypeOf<T>::value) | static_cast<uint32_t>(npukb::DTypeOf<accType>::value) << 8,
        true, &dstTensor.npukb_view, &srcTensor.npukb_view, &sharedTmpBuffer.npukb_view, &meanParams);
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
NPUKB_API void Mean(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const MeanParams& meanParams) {
    NPUKB_MEAN_CHECK;
    npukb_library_row_sum(
        static_cast<uint32_t>(npukb::DTypeOf<T>::value) | static_cast<uint32_t>(npukb::DTypeOf<accType>::value) << 8,
        true, &dstTensor.npukb_view, &srcTensor.npukb_view, nullptr, &meanParams);
}
#undef NPUKB_MEAN_CHECK

// The sum of src0 xor src1, kept inside int16_t.
template <typename T, bool isReuseSource = false>
NPUKB_API void ReduceXorSum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor,
                            const LocalTensor<T>& src1Tensor, const LocalTensor<uint8_t>& sharedTmpBuffer,
                            const uint32_t calCount) {
    static_assert(npukb::kSame<T, int16_t>, "ReduceXorSum takes int16_t");
    npukb_library_xor_sum(calCount, &dstTensor.npukb_view, &src0Tensor.npukb_view, &src1Tensor.npukb_view,
                          &sharedTmpBuffer.npukb_view);
}
template <typename T, bool isReuseSource = false>
NPUKB_API void ReduceXorSum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor,
                            const LocalTensor<T>& src1Tensor, const uint32_t calCount) {
    static_assert(npukb::kSame<T, int16_t>, "ReduceXorSum takes int16_t");
    npukb_library_xor_sum(calCount, &dstTensor.npukb_view, &src0Tensor.npukb_view, &src1Tensor.npukb_view, nullptr);
}

#define NPUKB_PATTERN_CHECK(name, set)                                               \
    using namespace npukb::types;                                                    \
    static_assert((npukb::kSetOf<T> & (set)) != 0, #name " by pattern takes " #set); \
    constexpr bool last = npukb::kSame<pattern, Pattern::Reduce::AR>;                \
    static_assert(last || npukb::kSame<pattern, Pattern::Reduce::RA>, #name " takes Pattern::Reduce::AR or RA here")
#define NPUKB_PATTERN_REDUCTION(name, kind, set)                                                                     \
    template <class T, class pattern, bool isReuseSource = false>                                                    \
    NPUKB_API void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,                            \
                        const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t srcShape[], bool srcInnerPad) {  \
        NPUKB_PATTERN_CHECK(name, set);                                                                              \
        npukb_library_reduce(npukb::DTypeOf<T>::value, npukb::Reduction::kind, last, &dstTensor.npukb_view,          \
                             &srcTensor.npukb_view, &sharedTmpBuffer.npukb_view, srcShape,                           \
                             static_cast<uint32_t>(srcInnerPad) | (isReuseSource ? npukb::kReuse : 0));              \
    }                                                                                                                \
    template <class T, class pattern, bool isReuseSource = false>                                                    \
    NPUKB_API void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const uint32_t srcShape[], \
                        bool srcInnerPad) {                                                                          \
        NPUKB_PATTERN_CHECK(name, set);                                                                              \
        npukb_library_reduce(npukb::DTypeOf<T>::value, npukb::Reduction::kind, last, &dstTensor.npukb_view,          \
                             &srcTensor.npukb_view, nullptr, srcShape,                                               \
                             static_cast<uint32_t>(srcInnerPad) | (isReuseSource ? npukb::kReuse : 0));              \
    }
NPUKB_PATTERN_REDUCTION(ReduceSum, Sum, F32)
NPUKB_PATTERN_REDUCTION(ReduceMean, Mean, F32)
NPUKB_PATTERN_REDUCTION(ReduceMax, Max, F16 | F32)
NPUKB_PATTERN_REDUCTION(ReduceMin, Min, F16 | F32)
NPUKB_PATTERN_REDUCTION(ReduceProd, Prod, F32)
NPUKB_PATTERN_REDUCTION(ReduceAny, Any, U8 | F32)
NPUKB_PATTERN_REDUCTION(ReduceAll, All, U8 | F32)
#undef NPUKB_PATTERN_REDUCTION
#undef NPUKB_PATTERN_CHECK

template <typename T, const CumSumConfig& config = defaultCumSumConfig>
NPUKB_API void CumSum(LocalTensor<T>& dstTensor, LocalTensor<T>& lastRowTensor, const LocalTensor<T>& srcTensor,
                      LocalTensor<uint8_t>& sharedTmpBuffer, const CumSumInfo& cumSumInfo) {
    NPUKB_ROW_TYPES(CumSum, T);
    npukb_library_cumsum(npukb::DTypeOf<T>::value, &config, &dstTensor.npukb_view, &lastRowTensor.npukb_view,
                         &srcTensor.npukb_view, &sharedTmpBuffer.npukb_view, &cumSumInfo);
}
template <typename T, const CumSumConfig& config = defaultCumSumConfig>
NPUKB_API void CumSum(LocalTensor<T>& dstTensor, LocalTensor<T>& lastRowTensor, const LocalTensor<T>& srcTensor,
                      const CumSumInfo& cumSumInfo) {
    NPUKB_ROW_TYPES(CumSum, T);
    npukb_library_cumsum(npukb::DTypeOf<T>::value, &config, &dstTensor.npukb_view, &lastRowTensor.npukb_view,
                         &srcTensor.npukb_view, nullptr, &cumSumInfo);
}
#undef NPUKB_ROW_TYPES

}  // namespace AscendC
