// The SoftMax family. Sums and maxima are tensors of one 32-byte block per row that holds the same value throughout.
#pragma once
#include "../tensor.h"
#include "../tiling_structs.h"

namespace npukb {

enum class SoftMaxKind : uint32_t { SoftMax, Simple, Flash, FlashV2, Log };

// Kind and types of a call in one word.
constexpr uint32_t kSoftMaxNz = 1u << 8, kSoftMaxUpdate = 1u << 9, kSoftMaxNarrow = 1u << 10, kSoftMaxBasic = 1u << 11;
template <SoftMaxKind kind, uint32_t element_bytes, uint32_t stat_bytes, bool nz, bool basic, bool update = false,
          bool narrow = false>
constexpr uint32_t kSoftMaxCode =
    static_cast<uint32_t>(kind) | element_bytes << 16 | stat_bytes << 20 | (nz ? kSoftMaxNz : 0) |
    (basic ? kSoftMaxBasic : 0) | (update ? kSoftMaxUpdate : 0) | (narrow ? kSoftMaxNarrow : 0);

// Tensors of a call, in this order; those it does not have are null.
enum SoftMaxTensor {
    kSoftMaxDst,
    kSoftMaxSum,
    kSoftMaxMax,
    kSoftMaxSrc,
    kSoftMaxExpMax,
    kSoftMaxInSum,
    kSoftMaxInMax,
    kSoftMaxReduceMax,
    kSoftMaxTmp,
    kSoftMaxTensors
};

}  // namespace npukb

#pragma GCC visibility push(default)
extern "C" {
void npukb_softmax(uint32_t code, const npukb::BufferView* const* tensors, const AscendC::SoftMaxShapeInfo* shape,
                   const SoftMaxTiling* tiling, const AscendC::SoftmaxConfig* config);
void npukb_softmax_grad(uint32_t code, uint32_t front, const npukb::BufferView* dst, const npukb::BufferView* grad,
                        const npukb::BufferView* src, const npukb::BufferView* tmp,
                        const AscendC::SoftMaxShapeInfo* shape, const SoftMaxTiling* tiling);
uint32_t npukb_softmax_adjust(uint32_t code, uint32_t each, const npukb::BufferView* result,
                              const npukb::BufferView* max, uint32_t from, const void* to,
                              const AscendC::SoftMaxShapeInfo* shape);
}
#pragma GCC visibility pop

namespace AscendC {

inline constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true, 0, 0, SoftmaxMode::SOFTMAX_NORMAL};

}  // namespace AscendC

#define NPUKB_SOFTMAX_TYPES(name) \
    static_assert(npukb::kSame<T, half> || npukb::kSame<T, float>, #name " takes half and float only")
// The tensors of a call, in the order of SoftMaxTensor.
#define NPUKB_SOFTMAX_TENSORS(...) const npukb::BufferView* tensors[npukb::kSoftMaxTensors] = {__VA_ARGS__}
#define NPUKB_NO_TMP
#define NPUKB_WITH_TMP const LocalTensor<uint8_t>&sharedTmpBuffer,
#define NPUKB_NO_REDUCE
#define NPUKB_WITH_REDUCE const LocalTensor<T>&outReduceMax,

namespace AscendC {

// SoftMax and SimpleSoftMax: value type V and statistics type S are T and T, or half and float.
#define NPUKB_SOFTMAX(name, kind, V, S, tmp, tmp_view)                                                         \
    template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,  \
              const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>                                               \
    NPUKB_API void name(const LocalTensor<V>& dstTensor, const LocalTensor<S>& sumTensor,                      \
                        const LocalTensor<S>& maxTensor, const LocalTensor<V>& srcTensor,                      \
                        tmp const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}) {      \
        NPUKB_SOFTMAX_TYPES(name);                                                                             \
        NPUKB_SOFTMAX_TENSORS(&dstTensor.npukb_view, &sumTensor.npukb_view, &maxTensor.npukb_view,             \
                              &srcTensor.npukb_view, nullptr, nullptr, nullptr, nullptr, tmp_view);            \
        npukb_softmax(                                                                                         \
            npukb::kSoftMaxCode<npukb::SoftMaxKind::kind, sizeof(V), sizeof(S), isDataFormatNZ, isBasicBlock>, \
            tensors, &softmaxShapeInfo, &tiling, &config);                                                     \
    }
NPUKB_SOFTMAX(SoftMax, SoftMax, T, T, NPUKB_NO_TMP, nullptr)
NPUKB_SOFTMAX(SoftMax, SoftMax, T, T, NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
NPUKB_SOFTMAX(SoftMax, SoftMax, half, float, NPUKB_NO_TMP, nullptr)
NPUKB_SOFTMAX(SoftMax, SoftMax, half, float, NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
NPUKB_SOFTMAX(SimpleSoftMax, Simple, T, T, NPUKB_NO_TMP, nullptr)
NPUKB_SOFTMAX(SimpleSoftMax, Simple, T, T, NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
NPUKB_SOFTMAX(SimpleSoftMax, Simple, half, float, NPUKB_NO_TMP, nullptr)
NPUKB_SOFTMAX(SimpleSoftMax, Simple, half, float, NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
#undef NPUKB_SOFTMAX

// Without statistics.
#define NPUKB_SOFTMAX(tmp, tmp_view)                                                                               \
    template <typename T, bool isReuseSource = false, bool isBasicBlock = false,                                   \
              const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>                                                   \
    NPUKB_API void SoftMax(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,                       \
                           tmp const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}) {       \
        NPUKB_SOFTMAX_TYPES(SoftMax);                                                                              \
        NPUKB_SOFTMAX_TENSORS(&dstTensor.npukb_view, nullptr, nullptr, &srcTensor.npukb_view, nullptr, nullptr,    \
                              nullptr, nullptr, tmp_view);                                                         \
        npukb_softmax(npukb::kSoftMaxCode<npukb::SoftMaxKind::SoftMax, sizeof(T), sizeof(T), false, isBasicBlock>, \
                      tensors, &softmaxShapeInfo, &tiling, &config);                                               \
    }
NPUKB_SOFTMAX(NPUKB_NO_TMP, nullptr)
NPUKB_SOFTMAX(NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
#undef NPUKB_SOFTMAX

#define NPUKB_SOFTMAX(V, S, tmp, tmp_view)                                                                         \
    template <typename T, bool isReuseSource = false, bool isBasicBlock = false>                                   \
    NPUKB_API void SoftmaxFlash(const LocalTensor<V>& dstTensor, const LocalTensor<S>& sumTensor,                  \
                                const LocalTensor<S>& maxTensor, const LocalTensor<V>& srcTensor,                  \
                                const LocalTensor<V>& expMaxTensor, const LocalTensor<S>& inSumTensor,             \
                                const LocalTensor<S>& inMaxTensor, tmp const SoftMaxTiling& tiling,                \
                                bool isUpdate = false, const SoftMaxShapeInfo& softmaxShapeInfo = {}) {            \
        NPUKB_SOFTMAX_TYPES(SoftmaxFlash);                                                                         \
        NPUKB_SOFTMAX_TENSORS(&dstTensor.npukb_view, &sumTensor.npukb_view, &maxTensor.npukb_view,                 \
                              &srcTensor.npukb_view, &expMaxTensor.npukb_view, &inSumTensor.npukb_view,            \
                              &inMaxTensor.npukb_view, nullptr, tmp_view);                                         \
        uint32_t code = npukb::kSoftMaxCode<npukb::SoftMaxKind::Flash, sizeof(V), sizeof(S), false, isBasicBlock>; \
        npukb_softmax(code | (isUpdate ? npukb::kSoftMaxUpdate : 0), tensors, &softmaxShapeInfo, &tiling,          \
                      &SOFTMAX_DEFAULT_CFG);                                                                       \
    }
NPUKB_SOFTMAX(T, T, NPUKB_NO_TMP, nullptr)
NPUKB_SOFTMAX(T, T, NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
NPUKB_SOFTMAX(half, float, NPUKB_NO_TMP, nullptr)
NPUKB_SOFTMAX(half, float, NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
#undef NPUKB_SOFTMAX

// `reduces`: with the maximum of this piece alone as another result. Documented to compute nothing unless the results
// are narrow, which can only be a mistake.
#define NPUKB_SOFTMAX(V, S, reduces, reduce, reduce_view, tmp, tmp_view)                                           \
    template <typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,            \
              bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>                      \
    NPUKB_API void SoftmaxFlashV2(const LocalTensor<V>& dstTensor, reduce const LocalTensor<S>& expSumTensor,      \
                                  const LocalTensor<S>& maxTensor, const LocalTensor<V>& srcTensor,                \
                                  const LocalTensor<V>& expMaxTensor, const LocalTensor<S>& inExpSumTensor,        \
                                  const LocalTensor<S>& inMaxTensor, tmp const SoftMaxTiling& tiling,              \
                                  const SoftMaxShapeInfo& softmaxShapeInfo = {}) {                                 \
        NPUKB_SOFTMAX_TYPES(SoftmaxFlashV2);                                                                       \
        constexpr bool narrow = config.mode == SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC;                            \
        static_assert(                                                                                             \
            narrow || !reduces,                                                                                    \
            "SoftmaxFlashV2 with outReduceMax computes nothing unless config.mode is SOFTMAX_OUTPUT_WITHOUT_BRC"); \
        NPUKB_SOFTMAX_TENSORS(&dstTensor.npukb_view, &expSumTensor.npukb_view, &maxTensor.npukb_view,              \
                              &srcTensor.npukb_view, &expMaxTensor.npukb_view, &inExpSumTensor.npukb_view,         \
                              &inMaxTensor.npukb_view, reduce_view, tmp_view);                                     \
        npukb_softmax(npukb::kSoftMaxCode<npukb::SoftMaxKind::FlashV2, sizeof(V), sizeof(S), isDataFormatNZ,       \
                                          isBasicBlock, isUpdate, narrow>,                                         \
                      tensors, &softmaxShapeInfo, &tiling, &config);                                               \
    }
NPUKB_SOFTMAX(T, T, false, NPUKB_NO_REDUCE, nullptr, NPUKB_NO_TMP, nullptr)
NPUKB_SOFTMAX(T, T, false, NPUKB_NO_REDUCE, nullptr, NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
NPUKB_SOFTMAX(half, float, false, NPUKB_NO_REDUCE, nullptr, NPUKB_NO_TMP, nullptr)
NPUKB_SOFTMAX(half, float, false, NPUKB_NO_REDUCE, nullptr, NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
NPUKB_SOFTMAX(T, T, true, NPUKB_WITH_REDUCE, &outReduceMax.npukb_view, NPUKB_NO_TMP, nullptr)
NPUKB_SOFTMAX(T, T, true, NPUKB_WITH_REDUCE, &outReduceMax.npukb_view, NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
#undef NPUKB_SOFTMAX

// Tiling computed in the kernel. How the work is cut does not concern the runtime: it is one piece.
NPUKB_API constexpr SoftMaxTiling SoftMaxFlashV2TilingFunc(
    const SoftMaxShapeInfo& shapeInfo, const uint32_t /*dataTypeSize1*/, const uint32_t dataTypeSize2,
    const uint32_t /*localWorkSpaceSize*/, const bool /*isUpdate*/ = false, const bool /*isBasicBlock*/ = false,
    const bool /*isDataFormatNZ*/ = false, const bool /*isFlashOutputBrc*/ = false) {
    uint32_t m = shapeInfo.srcM, k = shapeInfo.srcK, block = dataTypeSize2 == 0 ? 0 : 32 / dataTypeSize2;
    return {m, k, m * k, m, block, m * block, m, k, m * k, m, block, m * block, 1, 0, 0, 0};
}
// The same, as kernels call it with a shape of two numbers.
NPUKB_API constexpr SoftMaxTiling SoftMaxFlashV2TilingFuncImpl(
    const uint32_t srcM, const uint32_t srcK, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2,
    const uint32_t localWorkSpaceSize, const bool isUpdate = false, const bool isBasicBlock = false,
    const bool isDataFormatNZ = false, const bool isFlashOutputBrc = false) {
    return SoftMaxFlashV2TilingFunc({srcM, srcK, srcM, srcK}, dataTypeSize1, dataTypeSize2, localWorkSpaceSize,
                                    isUpdate, isBasicBlock, isDataFormatNZ, isFlashOutputBrc);
}

#define NPUKB_SOFTMAX(tmp, tmp_view)                                                                                   \
    template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>                                     \
    NPUKB_API void SoftmaxGrad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& gradTensor,                      \
                               const LocalTensor<T>& srcTensor, tmp const SoftMaxTiling& tiling, bool isFront = false, \
                               const SoftMaxShapeInfo& softmaxShapeInfo = {}) {                                        \
        NPUKB_SOFTMAX_TYPES(SoftmaxGrad);                                                                              \
        npukb_softmax_grad(                                                                                            \
            npukb::kSoftMaxCode<npukb::SoftMaxKind::SoftMax, sizeof(T), sizeof(T), isDataFormatNZ, false>, isFront,    \
            &dstTensor.npukb_view, &gradTensor.npukb_view, &srcTensor.npukb_view, tmp_view, &softmaxShapeInfo,         \
            &tiling);                                                                                                  \
    }                                                                                                                  \
    template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>                                      \
    NPUKB_API void SoftmaxGradFront(const LocalTensor<T>& dstTensor, const LocalTensor<T>& gradTensor,                 \
                                    const LocalTensor<T>& srcTensor, tmp const SoftMaxTiling& tiling,                  \
                                    const SoftMaxShapeInfo& softmaxShapeInfo = {}) {                                   \
        NPUKB_SOFTMAX_TYPES(SoftmaxGradFront);                                                                         \
        npukb_softmax_grad(                                                                                            \
            npukb::kSoftMaxCode<npukb::SoftMaxKind::SoftMax, sizeof(T), sizeof(T), isDataFormatNZ, isBasicBlock>, 2,   \
            &dstTensor.npukb_view, &gradTensor.npukb_view, &srcTensor.npukb_view, tmp_view, &softmaxShapeInfo,         \
            &tiling);                                                                                                  \
    }
NPUKB_SOFTMAX(NPUKB_NO_TMP, nullptr)
NPUKB_SOFTMAX(NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
#undef NPUKB_SOFTMAX

template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
NPUKB_API void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum, const LocalTensor<T>& max,
                          const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,
                          const LogSoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
    NPUKB_SOFTMAX_TYPES(LogSoftMax);
    NPUKB_SOFTMAX_TENSORS(&dst.npukb_view, &sum.npukb_view, &max.npukb_view, &src.npukb_view, nullptr, nullptr, nullptr,
                          nullptr, &sharedTmpBuffer.npukb_view);
    SoftMaxTiling shape;
    shape.srcM = tiling.srcM;
    shape.srcK = tiling.srcK;
    npukb_softmax(npukb::kSoftMaxCode<npukb::SoftMaxKind::Log, sizeof(T), sizeof(T), isDataFormatNZ, false>, tensors,
                  &softmaxShapeInfo, &shape, &SOFTMAX_DEFAULT_CFG);
}

// Sets whole rows of a result to `to` where the row's maximum has the bits `from`; says whether there was one.
template <typename T1, typename T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
NPUKB_API bool AdjustSoftMaxRes(const LocalTensor<T1>& softMaxRes, const LocalTensor<T2>& maxTensor,
                                const uint32_t from, const T1 to, const SoftMaxShapeInfo& softmaxShapeInfo) {
    static_assert(npukb::kSame<T1, half> || npukb::kSame<T1, float>, "AdjustSoftMaxRes takes half and float only");
    static_assert(npukb::kSame<T2, half> || npukb::kSame<T2, float>, "AdjustSoftMaxRes takes half and float only");
    static_assert(stepSizeMode == 0 || !isDataFormatNZ, "AdjustSoftMaxRes: stepSizeMode needs the ND format");
    return npukb_softmax_adjust(
               npukb::kSoftMaxCode<npukb::SoftMaxKind::SoftMax, sizeof(T1), sizeof(T2), isDataFormatNZ, false>,
               stepSizeMode != 0, &softMaxRes.npukb_view, &maxTensor.npukb_view, from, &to, &softmaxShapeInfo) != 0;
}

}  // namespace AscendC

#undef NPUKB_SOFTMAX_TYPES
#undef NPUKB_SOFTMAX_TENSORS
#undef NPUKB_NO_TMP
#undef NPUKB_WITH_TMP
#undef NPUKB_NO_REDUCE
#undef NPUKB_WITH_REDUCE
