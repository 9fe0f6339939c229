// Normalisation: LayerNorm and its gradients, RmsNorm, BatchNorm, DeepNorm, GroupNorm, Normalize, and Welford's running
// moments.
#pragma once
#include "../tensor.h"
#include "../tiling_structs.h"

#pragma GCC visibility push(default)
extern "C" {
void npukb_layer_norm(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* mean,
                      const npukb::BufferView* variance, const npukb::BufferView* x, const npukb::BufferView* gamma,
                      const npukb::BufferView* beta, const npukb::BufferView* tmp, const void* epsilon,
                      const LayerNormTiling* tiling);
// types: bytes of an element, of gamma's from bit 8 on; flags: 1 no beta, 2 no gamma, 4 mean and variance are given.
void npukb_normalize(uint32_t types, uint32_t flags, const npukb::BufferView* dst, const npukb::BufferView* rstd,
                     const npukb::BufferView* mean, const npukb::BufferView* variance, const npukb::BufferView* x,
                     const npukb::BufferView* gamma, const npukb::BufferView* beta, const npukb::BufferView* tmp,
                     float epsilon, uint32_t rows, uint32_t length, uint32_t padded);
void npukb_layer_norm_grad(uint32_t element_bytes, const npukb::BufferView* pd_x, const npukb::BufferView* for_gamma,
                           const npukb::BufferView* dy, const npukb::BufferView* x, const npukb::BufferView* variance,
                           const npukb::BufferView* mean, const npukb::BufferView* gamma, const npukb::BufferView* tmp,
                           const void* epsilon, const LayerNormGradTiling* tiling);
void npukb_layer_norm_grad_beta(uint32_t element_bytes, const npukb::BufferView* pd_gamma,
                                const npukb::BufferView* pd_beta, const npukb::BufferView* for_gamma,
                                const npukb::BufferView* dy, const npukb::BufferView* tmp,
                                const LayerNormGradBetaTiling* tiling);
void npukb_rms_norm(uint32_t element_bytes, uint32_t basic, const npukb::BufferView* dst, const npukb::BufferView* src,
                    const npukb::BufferView* gamma, const npukb::BufferView* tmp, const void* epsilon,
                    const RmsNormTiling* tiling);
void npukb_batch_norm(uint32_t element_bytes, uint32_t basic, const npukb::BufferView* dst,
                      const npukb::BufferView* mean, const npukb::BufferView* variance, const npukb::BufferView* x,
                      const npukb::BufferView* gamma, const npukb::BufferView* beta, const npukb::BufferView* tmp,
                      const void* epsilon, const BatchNormTiling* tiling);
void npukb_deep_norm(uint32_t element_bytes, uint32_t basic, const npukb::BufferView* dst,
                     const npukb::BufferView* mean, const npukb::BufferView* variance, const npukb::BufferView* x,
                     const npukb::BufferView* gx, const npukb::BufferView* beta, const npukb::BufferView* gamma,
                     const npukb::BufferView* tmp, const void* alpha, const void* epsilon,
                     const DeepNormTiling* tiling);
void npukb_group_norm(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* mean,
                      const npukb::BufferView* variance, const npukb::BufferView* x, const npukb::BufferView* gamma,
                      const npukb::BufferView* beta, const npukb::BufferView* tmp, const void* epsilon,
                      const GroupNormTiling* tiling);
void npukb_welford_update(uint32_t element_bytes, uint32_t in_place, const npukb::BufferView* out_mean,
                          const npukb::BufferView* out_variance, const npukb::BufferView* in_mean,
                          const npukb::BufferView* in_variance, const npukb::BufferView* x,
                          const npukb::BufferView* tmp, const AscendC::WelfordUpdateParam* para);
void npukb_welford_finalize(const npukb::BufferView* out_mean, const npukb::BufferView* out_variance,
                            const npukb::BufferView* in_mean, const npukb::BufferView* in_variance,
                            const npukb::BufferView* counts, const npukb::BufferView* tmp,
                            const AscendC::WelfordFinalizePara* para);
}
#pragma GCC visibility pop

#define NPUKB_NORM_TYPES(name) \
    static_assert(npukb::kSame<T, half> || npukb::kSame<T, float>, #name " takes half and float only")
#define NPUKB_NO_TMP
#define NPUKB_WITH_TMP const LocalTensor<uint8_t>&sharedTmpBuffer,
#define NPUKB_TENSOR(type, name) const LocalTensor<type>& name

namespace AscendC {

struct LayerNormConfig {
    bool isNoBeta = false;
    bool isNoGamma = false;
    bool isOnlyOutput = false;
};
inline constexpr LayerNormConfig LNCFG_NORM = {false, false, false};

struct NormalizeConfig {
    ReducePattern reducePattern = ReducePattern::AR;
    int32_t aLength = -1;
    bool isNoBeta = false;
    bool isNoGamma = false;
    bool isOnlyOutput = false;
};
inline constexpr NormalizeConfig NLCFG_NORM = {ReducePattern::AR, -1, false, false, false};

struct LayerNormGradShapeInfo {
    DataFormat dataFormat = DataFormat::ND;
};

struct WelfordUpdateConfig {
    bool isInplace = false;
};
inline constexpr WelfordUpdateConfig WFUPDATE_DEFAULT_CFG = {false};

#define NPUKB_NORM(tmp, tmp_view)                                                                                      \
    template <typename T, bool isReuseSource = false>                                                                  \
    NPUKB_API void LayerNorm(NPUKB_TENSOR(T, output), NPUKB_TENSOR(T, outputMean), NPUKB_TENSOR(T, outputVariance),    \
                             NPUKB_TENSOR(T, inputX), NPUKB_TENSOR(T, gamma), NPUKB_TENSOR(T, beta),                   \
                             tmp const T epsilon, LayerNormTiling& tiling) {                                           \
        NPUKB_NORM_TYPES(LayerNorm);                                                                                   \
        npukb_layer_norm(sizeof(T), &output.npukb_view, &outputMean.npukb_view, &outputVariance.npukb_view,            \
                         &inputX.npukb_view, &gamma.npukb_view, &beta.npukb_view, tmp_view, &epsilon, &tiling);        \
    }                                                                                                                  \
    template <typename T, bool isReuseSource = false>                                                                  \
    NPUKB_API void LayerNormGradBeta(NPUKB_TENSOR(T, outputPdGamma), NPUKB_TENSOR(T, outputPdBeta),                    \
                                     NPUKB_TENSOR(T, resForGamma), NPUKB_TENSOR(T, inputDy),                           \
                                     tmp const LayerNormGradBetaTiling& tiling) {                                      \
        NPUKB_NORM_TYPES(LayerNormGradBeta);                                                                           \
        npukb_layer_norm_grad_beta(sizeof(T), &outputPdGamma.npukb_view, &outputPdBeta.npukb_view,                     \
                                   &resForGamma.npukb_view, &inputDy.npukb_view, tmp_view, &tiling);                   \
    }                                                                                                                  \
    template <typename T, bool isBasicBlock = false>                                                                   \
    NPUKB_API void RmsNorm(NPUKB_TENSOR(T, dstLocal), NPUKB_TENSOR(T, srcLocal), NPUKB_TENSOR(T, gammaLocal),          \
                           tmp const T epsilon, const RmsNormTiling& tiling) {                                         \
        NPUKB_NORM_TYPES(RmsNorm);                                                                                     \
        npukb_rms_norm(sizeof(T), isBasicBlock, &dstLocal.npukb_view, &srcLocal.npukb_view, &gammaLocal.npukb_view,    \
                       tmp_view, &epsilon, &tiling);                                                                   \
    }                                                                                                                  \
    template <typename T, bool isReuseSource = false, bool isBasicBlock = false>                                       \
    NPUKB_API void BatchNorm(NPUKB_TENSOR(T, output), NPUKB_TENSOR(T, outputMean), NPUKB_TENSOR(T, outputVariance),    \
                             NPUKB_TENSOR(T, inputX), NPUKB_TENSOR(T, gamm), NPUKB_TENSOR(T, beta),                    \
                             tmp const T epsilon, BatchNormTiling& tiling) {                                           \
        NPUKB_NORM_TYPES(BatchNorm);                                                                                   \
        npukb_batch_norm(sizeof(T), isBasicBlock, &output.npukb_view, &outputMean.npukb_view,                          \
                         &outputVariance.npukb_view, &inputX.npukb_view, &gamm.npukb_view, &beta.npukb_view, tmp_view, \
                         &epsilon, &tiling);                                                                           \
    }                                                                                                                  \
    template <typename T, bool isReuseSrc = false, bool isBasicBlock = false>                                          \
    NPUKB_API void DeepNorm(NPUKB_TENSOR(T, dstLocal), NPUKB_TENSOR(T, meanLocal), NPUKB_TENSOR(T, rstdLocal),         \
                            NPUKB_TENSOR(T, srcLocal), NPUKB_TENSOR(T, gxLocal), NPUKB_TENSOR(T, betaLocal),           \
                            NPUKB_TENSOR(T, gammaLocal), tmp const T alpha, const T epsilon, DeepNormTiling& tiling) { \
        NPUKB_NORM_TYPES(DeepNorm);                                                                                    \
        npukb_deep_norm(sizeof(T), isBasicBlock, &dstLocal.npukb_view, &meanLocal.npukb_view, &rstdLocal.npukb_view,   \
                        &srcLocal.npukb_view, &gxLocal.npukb_view, &betaLocal.npukb_view, &gammaLocal.npukb_view,      \
                        tmp_view, &alpha, &epsilon, &tiling);                                                          \
    }                                                                                                                  \
    template <typename T, bool isReuseSource = false>                                                                  \
    NPUKB_API void GroupNorm(NPUKB_TENSOR(T, output), NPUKB_TENSOR(T, outputMean), NPUKB_TENSOR(T, outputVariance),    \
                             NPUKB_TENSOR(T, inputX), NPUKB_TENSOR(T, gamma), NPUKB_TENSOR(T, beta),                   \
                             tmp const T epsilon, GroupNormTiling& tiling) {                                           \
        NPUKB_NORM_TYPES(GroupNorm);                                                                                   \
        npukb_group_norm(sizeof(T), &output.npukb_view, &outputMean.npukb_view, &outputVariance.npukb_view,            \
                         &inputX.npukb_view, &gamma.npukb_view, &beta.npukb_view, tmp_view, &epsilon, &tiling);        \
    }                                                                                                                  \
    template <typename U, typename T, bool isReuseSource = false, const NormalizeConfig& config = NLCFG_NORM>          \
    NPUKB_API void Normalize(NPUKB_TENSOR(T, output), NPUKB_TENSOR(float, outputRstd), NPUKB_TENSOR(float, inputMean), \
                             NPUKB_TENSOR(float, inputVariance), NPUKB_TENSOR(T, inputX), NPUKB_TENSOR(U, gamma),      \
                             NPUKB_TENSOR(U, beta), tmp const float epsilon, const NormalizePara& para) {              \
        NPUKB_NORM_TYPES(Normalize);                                                                                   \
        static_assert(sizeof(U) >= sizeof(T), "Normalize: gamma and beta may not be less precise than the input");     \
        static_assert(config.reducePattern == ReducePattern::AR, "Normalize reduces the last axis only");              \
        npukb_normalize(sizeof(T) | sizeof(U) << 8, (config.isNoBeta ? 1u : 0u) | (config.isNoGamma ? 2u : 0u) | 4u,   \
                        &output.npukb_view, &outputRstd.npukb_view, &inputMean.npukb_view, &inputVariance.npukb_view,  \
                        &inputX.npukb_view, &gamma.npukb_view, &beta.npukb_view, tmp_view, epsilon, para.aLength,      \
                        para.rLength, para.rLengthWithPadding);                                                        \
    }                                                                                                                  \
    template <typename T, typename U, bool isReuseSource = false,                                                      \
              const WelfordUpdateConfig& config = WFUPDATE_DEFAULT_CFG>                                                \
    NPUKB_API void WelfordUpdate(NPUKB_TENSOR(U, outputMean), NPUKB_TENSOR(U, outputVariance),                         \
                                 NPUKB_TENSOR(U, inputMean), NPUKB_TENSOR(U, inputVariance), NPUKB_TENSOR(T, inputX),  \
                                 tmp const WelfordUpdateParam& para) {                                                 \
        NPUKB_NORM_TYPES(WelfordUpdate);                                                                               \
        static_assert(npukb::kSame<U, float>, "WelfordUpdate keeps mean and variance in float");                       \
        npukb_welford_update(sizeof(T), config.isInplace, &outputMean.npukb_view, &outputVariance.npukb_view,          \
                             &inputMean.npukb_view, &inputVariance.npukb_view, &inputX.npukb_view, tmp_view, &para);   \
    }                                                                                                                  \
    template <bool isReuseSource = false>                                                                              \
    NPUKB_API void WelfordFinalize(NPUKB_TENSOR(float, outputMean), NPUKB_TENSOR(float, outputVariance),               \
                                   NPUKB_TENSOR(float, inputMean), NPUKB_TENSOR(float, inputVariance),                 \
                                   tmp const WelfordFinalizePara& para) {                                              \
        npukb_welford_finalize(&outputMean.npukb_view, &outputVariance.npukb_view, &inputMean.npukb_view,              \
                               &inputVariance.npukb_view, nullptr, tmp_view, &para);                                   \
    }                                                                                                                  \
    template <bool isReuseSource = false>                                                                              \
    NPUKB_API void WelfordFinalize(NPUKB_TENSOR(float, outputMean), NPUKB_TENSOR(float, outputVariance),               \
                                   NPUKB_TENSOR(float, inputMean), NPUKB_TENSOR(float, inputVariance),                 \
                                   NPUKB_TENSOR(int32_t, counts), tmp const WelfordFinalizePara& para) {               \
        npukb_welford_finalize(&outputMean.npukb_view, &outputVariance.npukb_view, &inputMean.npukb_view,              \
                               &inputVariance.npukb_view, &counts.npukb_view, tmp_view, &para);                        \
    }
NPUKB_NORM(NPUKB_NO_TMP, nullptr)
NPUKB_NORM(NPUKB_WITH_TMP, &sharedTmpBuffer.npukb_view)
#undef NPUKB_NORM

// The forms whose temporary buffer is not constant or not where it usually is.
template <typename U, typename T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>
NPUKB_API void LayerNorm(NPUKB_TENSOR(T, output), NPUKB_TENSOR(float, outputMean), NPUKB_TENSOR(float, output1),
                         NPUKB_TENSOR(T, inputX), NPUKB_TENSOR(U, gamma), NPUKB_TENSOR(U, beta), const float epsilon,
                         NPUKB_TENSOR(uint8_t, sharedTmpBuffer), const LayerNormPara& para,
                         const LayerNormSeparateTiling& /*tiling*/) {
    NPUKB_NORM_TYPES(LayerNorm);
    static_assert(sizeof(U) >= sizeof(T), "LayerNorm: gamma and beta may not be less precise than the input");
    npukb_normalize(sizeof(T) | sizeof(U) << 8, (config.isNoBeta ? 1u : 0u) | (config.isNoGamma ? 2u : 0u),
                    &output.npukb_view, &output1.npukb_view, &outputMean.npukb_view, nullptr, &inputX.npukb_view,
                    &gamma.npukb_view, &beta.npukb_view, &sharedTmpBuffer.npukb_view, epsilon, para.aLength,
                    para.rLength, para.rLengthWithPadding);
}
template <typename U, typename T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>
NPUKB_API void LayerNorm(NPUKB_TENSOR(T, output), NPUKB_TENSOR(float, outputMean), NPUKB_TENSOR(float, output1),
                         NPUKB_TENSOR(T, inputX), NPUKB_TENSOR(U, gamma), NPUKB_TENSOR(U, beta), const float epsilon,
                         const LayerNormPara& para, const LayerNormSeparateTiling& /*tiling*/) {
    NPUKB_NORM_TYPES(LayerNorm);
    static_assert(sizeof(U) >= sizeof(T), "LayerNorm: gamma and beta may not be less precise than the input");
    npukb_normalize(sizeof(T) | sizeof(U) << 8, (config.isNoBeta ? 1u : 0u) | (config.isNoGamma ? 2u : 0u),
                    &output.npukb_view, &output1.npukb_view, &outputMean.npukb_view, nullptr, &inputX.npukb_view,
                    &gamma.npukb_view, &beta.npukb_view, nullptr, epsilon, para.aLength, para.rLength,
                    para.rLengthWithPadding);
}

template <typename T, bool isReuseSource = false>
NPUKB_API void LayerNormGrad(NPUKB_TENSOR(T, outputPdX), NPUKB_TENSOR(T, resForGamma), NPUKB_TENSOR(T, inputDy),
                             NPUKB_TENSOR(T, inputX), NPUKB_TENSOR(T, inputVariance), NPUKB_TENSOR(T, inputMean),
                             NPUKB_TENSOR(T, inputGamma), LocalTensor<uint8_t>& sharedTmpBuffer, T epsilon,
                             LayerNormGradTiling& tiling, const LayerNormGradShapeInfo& /*shapeInfo*/ = {}) {
    NPUKB_NORM_TYPES(LayerNormGrad);
    npukb_layer_norm_grad(sizeof(T), &outputPdX.npukb_view, &resForGamma.npukb_view, &inputDy.npukb_view,
                          &inputX.npukb_view, &inputVariance.npukb_view, &inputMean.npukb_view, &inputGamma.npukb_view,
                          &sharedTmpBuffer.npukb_view, &epsilon, &tiling);
}
template <typename T, bool isReuseSource = false>
NPUKB_API void LayerNormGrad(NPUKB_TENSOR(T, outputPdX), NPUKB_TENSOR(T, resForGamma), NPUKB_TENSOR(T, inputDy),
                             NPUKB_TENSOR(T, inputX), NPUKB_TENSOR(T, inputVariance), NPUKB_TENSOR(T, inputMean),
                             NPUKB_TENSOR(T, inputGamma), T epsilon, LayerNormGradTiling& tiling,
                             const LayerNormGradShapeInfo& /*shapeInfo*/ = {}) {
    NPUKB_NORM_TYPES(LayerNormGrad);
    npukb_layer_norm_grad(sizeof(T), &outputPdX.npukb_view, &resForGamma.npukb_view, &inputDy.npukb_view,
                          &inputX.npukb_view, &inputVariance.npukb_view, &inputMean.npukb_view, &inputGamma.npukb_view,
                          nullptr, &epsilon, &tiling);
}

}  // namespace AscendC

#undef NPUKB_NORM_TYPES
#undef NPUKB_NO_TMP
#undef NPUKB_WITH_TMP
#undef NPUKB_TENSOR
