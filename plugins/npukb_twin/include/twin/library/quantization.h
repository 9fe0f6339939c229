// Quantisation: AscendQuant (half or float to int8_t), AscendDequant (int32_t to floating point), AscendAntiQuant
// (int8_t or int4b_t to half or bfloat16_t).
#pragma once
#include "../tensor.h"
#include "../tiling_structs.h"

#pragma GCC visibility push(default)
extern "C" {
// Per channel where there are tensors of scales and offsets, per tensor otherwise.
void npukb_quant(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* src,
                 const npukb::BufferView* scales, const npukb::BufferView* offsets, const npukb::BufferView* tmp,
                 float scale, float offset, int64_t channels, int64_t count);
void npukb_dequant(uint32_t types, uint32_t single_row, const npukb::BufferView* dst, const npukb::BufferView* src,
                   const npukb::BufferView* scales, const void* scale, const npukb::BufferView* tmp,
                   const AscendC::DequantParams* params);
// flags: 1 int4b_t, 2 bfloat16_t, 4 transposed. `scales` and `offsets`, or `scale` and `offset`; without offset both
// are null.
void npukb_anti_quant(uint32_t flags, const npukb::BufferView* dst, const npukb::BufferView* src,
                      const npukb::BufferView* offsets, const npukb::BufferView* scales, const void* offset,
                      const void* scale, const npukb::BufferView* tmp, uint32_t k,
                      const AscendC::AntiQuantShapeInfo* shape);
}
#pragma GCC visibility pop

#define NPUKB_NO_TMP
#define NPUKB_WITH_TMP const LocalTensor<uint8_t>&sharedTmpBuffer,

namespace AscendC {

struct AscendQuantConfig {
    uint32_t calcCount = 0;
    uint32_t offsetCount = 0;
    uint32_t scaleCount = 0;
    uint32_t workLocalSize = 0;
};
inline constexpr AscendQuantConfig ASCEND_QUANT_DEFAULT_CFG = {0, 0, 0, 0};

}  // namespace AscendC

namespace npukb {

// Constants of the configuration win over the arguments of the call.
template <typename T, const AscendC::AscendQuantConfig& config>
NPUKB_API void Quantise(const AscendC::LocalTensor<int8_t>& dst, const AscendC::LocalTensor<T>& src,
                        const BufferView* scales, const BufferView* offsets, const BufferView* tmp, float scale,
                        float offset, uint32_t channels, uint32_t count) {
    static_assert(npukb::kSame<T, half> || npukb::kSame<T, float>, "AscendQuant takes half and float only");
    npukb_quant(sizeof(T), &dst.npukb_view, &src.npukb_view, scales, offsets, tmp, scale, offset,
                config.scaleCount != 0 ? config.scaleCount : channels,
                config.calcCount != 0 ? config.calcCount : count);
}

}  // namespace npukb

namespace AscendC {

#define NPUKB_QUANT(tmp, tmp_view)                                                                                    \
    template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>     \
    NPUKB_API void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,                 \
                               tmp const float scale, const float offset, const uint32_t calCount) {                  \
        npukb::Quantise<T, config>(dstTensor, srcTensor, nullptr, nullptr, tmp_view, scale, offset, 0, calCount);     \
    }                                                                                                                 \
    template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>     \
    NPUKB_API void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,                 \
                               tmp const float scale, const float offset) {                                           \
        npukb::Quantise<T, config>(dstTensor, srcTensor, nullptr, nullptr, tmp_view, scale, offset, 0,                \
                                   srcTensor.GetSize());                                                              \
    }                                                                                                                 \
    template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>     \
    NPUKB_API void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,                 \
                               tmp const LocalTensor<T>& scaleTensor, const T offset, const uint32_t scaleCount,      \
                               const uint32_t calCount) {                                                             \
        npukb::Quantise<T, config>(dstTensor, srcTensor, &scaleTensor.npukb_view, nullptr, tmp_view, 1, offset,       \
                                   scaleCount, calCount);                                                             \
    }                                                                                                                 \
    template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>     \
    NPUKB_API void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,                 \
                               tmp const LocalTensor<T>& scaleTensor, const T offset) {                               \
        npukb::Quantise<T, config>(dstTensor, srcTensor, &scaleTensor.npukb_view, nullptr, tmp_view, 1, offset,       \
                                   scaleTensor.GetSize(), srcTensor.GetSize());                                       \
    }                                                                                                                 \
    template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>     \
    NPUKB_API void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,                 \
                               tmp const LocalTensor<T>& scaleTensor, const LocalTensor<T>& offsetTensor,             \
                               const uint32_t scaleCount, const uint32_t /*offsetCount*/, const uint32_t calCount) {  \
        npukb::Quantise<T, config>(dstTensor, srcTensor, &scaleTensor.npukb_view, &offsetTensor.npukb_view, tmp_view, \
                                   1, 0, scaleCount, calCount);                                                       \
    }                                                                                                                 \
    template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>     \
    NPUKB_API void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor,                 \
                               tmp const LocalTensor<T>& scaleTensor, const LocalTensor<T>& offsetTensor) {           \
        npukb::Quantise<T, config>(dstTensor, srcTensor, &scaleTensor.npukb_view, &offsetTensor.npukb_view, tmp_view, \
                                   1, 0, scaleTensor.GetSize(), srcTensor.GetSize());                                 \
    }
NPUKB_QUANT(NPUKB_NO_TMP, nullptr)
NPUKB_QUANT(NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
#undef NPUKB_QUANT

enum class DeQuantMode { DEQUANT_WITH_SINGLE_ROW, DEQUANT_WITH_MULTI_ROW };

}  // namespace AscendC

namespace npukb {

// The documented pairs of result and scale, with a tensor of scales.
template <typename D, typename S>
inline constexpr bool kDequantTypes =
    (kSame<D, half> && kSame<S, uint64_t>) ||
    ((kSame<D, float> || kSame<D, bfloat16_t>) && (kSame<S, float> || kSame<S, bfloat16_t>));
template <typename D, typename S>
inline constexpr uint32_t kDequantCode =
    static_cast<uint32_t>(DTypeOf<D>::value) | static_cast<uint32_t>(DTypeOf<S>::value) << 8;

template <typename InputDataType, typename OutputDataType>
NPUKB_API constexpr uint32_t AntiQuantFlags() {
    static_assert(npukb::kSame<InputDataType, int8_t> || npukb::kSame<InputDataType, AscendC::int4b_t>,
                  "AscendAntiQuant takes int8_t and int4b_t only");
    static_assert(npukb::kSame<OutputDataType, half> || npukb::kSame<OutputDataType, bfloat16_t>,
                  "AscendAntiQuant gives half and bfloat16_t only");
    return (npukb::kSame<InputDataType, AscendC::int4b_t> ? 1u : 0u) |
           (npukb::kSame<OutputDataType, bfloat16_t> ? 2u : 0u);
}

template <typename S, bool scalar>
struct ScalarOnly;
template <typename S>
struct ScalarOnly<S, true> {
    using type = int;
};

}  // namespace npukb

namespace AscendC {

#define NPUKB_DEQUANT(tmp, tmp_view)                                                                                   \
    template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>                 \
    NPUKB_API void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,            \
                                 const LocalTensor<scaleT>& deqScale, tmp DequantParams params) {                      \
        static_assert(npukb::kDequantTypes<dstT, scaleT>,                                                              \
                      "AscendDequant does not combine these types of result and scale");                               \
        npukb_dequant(npukb::kDequantCode<dstT, scaleT>, mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW,                 \
                      &dstTensor.npukb_view, &srcTensor.npukb_view, &deqScale.npukb_view, nullptr, tmp_view, &params); \
    }                                                                                                                  \
    template <                                                                                                         \
        typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW,                       \
        typename npukb::ScalarOnly<scaleT, npukb::kSame<scaleT, float> || npukb::kSame<scaleT, bfloat16_t>>::type = 0> \
    NPUKB_API void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,            \
                                 const scaleT deqScale, tmp DequantParams params) {                                    \
        static_assert(npukb::kDequantTypes<dstT, scaleT>,                                                              \
                      "AscendDequant does not combine these types of result and scale");                               \
        npukb_dequant(npukb::kDequantCode<dstT, scaleT>, mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW,                 \
                      &dstTensor.npukb_view, &srcTensor.npukb_view, nullptr, &deqScale, tmp_view, &params);            \
    }
NPUKB_DEQUANT(NPUKB_NO_TMP, nullptr)
NPUKB_DEQUANT(NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
#undef NPUKB_DEQUANT

// The older forms, without a shape: as many rows as there are whole sets of scales.
template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
NPUKB_API void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,
                             const LocalTensor<scaleT>& deqScale, const LocalTensor<uint8_t>& sharedTmpBuffer,
                             const uint32_t calCount) {
    AscendDequant<dstT, scaleT, mode>(dstTensor, srcTensor, deqScale, sharedTmpBuffer,
                                      DequantParams{1, calCount, deqScale.GetSize()});
}
template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
NPUKB_API void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,
                             const LocalTensor<scaleT>& deqScale, const LocalTensor<uint8_t>& sharedTmpBuffer) {
    AscendDequant<dstT, scaleT, mode>(dstTensor, srcTensor, deqScale, sharedTmpBuffer,
                                      DequantParams{1, srcTensor.GetSize(), deqScale.GetSize()});
}
template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
NPUKB_API void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,
                             const LocalTensor<scaleT>& deqScale, const uint32_t calCount) {
    AscendDequant<dstT, scaleT, mode>(dstTensor, srcTensor, deqScale, DequantParams{1, calCount, deqScale.GetSize()});
}
template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
NPUKB_API void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor,
                             const LocalTensor<scaleT>& deqScale) {
    AscendDequant<dstT, scaleT, mode>(dstTensor, srcTensor, deqScale,
                                      DequantParams{1, srcTensor.GetSize(), deqScale.GetSize()});
}

#define NPUKB_ANTI_QUANT(tmp, tmp_view)                                                                             \
    template <typename InputDataType, typename OutputDataType, bool isTranspose>                                    \
    NPUKB_API void AscendAntiQuant(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,   \
                                   const LocalTensor<OutputDataType>& offset,                                       \
                                   const LocalTensor<OutputDataType>& scale, tmp const uint32_t K,                  \
                                   const AntiQuantShapeInfo& shapeInfo = {}) {                                      \
        npukb_anti_quant(npukb::AntiQuantFlags<InputDataType, OutputDataType>() | (isTranspose ? 4u : 0u),          \
                         &dst.npukb_view, &src.npukb_view, &offset.npukb_view, &scale.npukb_view, nullptr, nullptr, \
                         tmp_view, K, &shapeInfo);                                                                  \
    }                                                                                                               \
    template <typename InputDataType, typename OutputDataType, bool isTranspose>                                    \
    NPUKB_API void AscendAntiQuant(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,   \
                                   const OutputDataType offset, const OutputDataType scale, tmp const uint32_t K,   \
                                   const AntiQuantShapeInfo& shapeInfo = {}) {                                      \
        npukb_anti_quant(npukb::AntiQuantFlags<InputDataType, OutputDataType>() | (isTranspose ? 4u : 0u),          \
                         &dst.npukb_view, &src.npukb_view, nullptr, nullptr, &offset, &scale, tmp_view, K,          \
                         &shapeInfo);                                                                               \
    }
NPUKB_ANTI_QUANT(NPUKB_NO_TMP, nullptr)
NPUKB_ANTI_QUANT(NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
#undef NPUKB_ANTI_QUANT

// Without offset.
template <typename InputDataType, typename OutputDataType, bool isTranspose>
NPUKB_API void AscendAntiQuant(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,
                               const LocalTensor<OutputDataType>& scale, const LocalTensor<uint8_t>& sharedTmpBuffer,
                               const uint32_t K, const AntiQuantShapeInfo& shapeInfo = {}) {
    npukb_anti_quant(npukb::AntiQuantFlags<InputDataType, OutputDataType>() | (isTranspose ? 4u : 0u), &dst.npukb_view,
                     &src.npukb_view, nullptr, &scale.npukb_view, nullptr, nullptr, &sharedTmpBuffer.npukb_view, K,
                     &shapeInfo);
}
template <typename InputDataType, typename OutputDataType, bool isTranspose>
NPUKB_API void AscendAntiQuant(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,
                               const OutputDataType scale, const LocalTensor<uint8_t>& sharedTmpBuffer,
                               const uint32_t K, const AntiQuantShapeInfo& shapeInfo = {}) {
    npukb_anti_quant(npukb::AntiQuantFlags<InputDataType, OutputDataType>() | (isTranspose ? 4u : 0u), &dst.npukb_view,
                     &src.npukb_view, nullptr, nullptr, nullptr, &scale, &sharedTmpBuffer.npukb_view, K, &shapeInfo);
}

}  // namespace AscendC

#undef NPUKB_NO_TMP
#undef NPUKB_WITH_TMP
