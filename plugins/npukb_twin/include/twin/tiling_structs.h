// Tiling structures of the high-level library as kernels see them: plain fields, in the documented order, which is the
// order in which the host's tiling functions write them. The runtime reads the shapes in them and ignores how the work
// would be cut.
#pragma once
#include "both_sides.h"
#include "narrow.h"

// The structures live in AscendC::tiling, where kernels may declare them ahead; AscendC and the global namespace have
// their names.
#define NPUKB_TILING_BEGIN(name) using AscendC::tiling::name;
#define NPUKB_TILING_FIELD(type, name)
#define NPUKB_TILING_END(name)
#include "tiling_structs.def"
#undef NPUKB_TILING_BEGIN
#undef NPUKB_TILING_FIELD
#undef NPUKB_TILING_END

namespace AscendC {

using ::BatchNormTiling;
using ::ConfusionTransposeTiling;
using ::DeepNormTiling;
using ::GroupNormTiling;
using ::LayerNormGradBetaTiling;
using ::LayerNormGradTiling;
using ::LayerNormSeparateTiling;
using ::LayerNormTiling;
using ::LogSoftMaxTiling;
using ::PadTiling;
using ::RmsNormTiling;
using ::SoftMaxTiling;
using ::TCubeTiling;
using ::TopkTiling;
using ::UnPadTiling;

// Shapes and configurations that are not tiling: parameters of a call.
struct SoftMaxShapeInfo {
    uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0;
};

enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };

struct SoftmaxConfig {
    bool isCheckTiling = true;
    uint32_t oriSrcM = 0, oriSrcK = 0;
    SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};

struct TopKInfo {
    int32_t outter = 1, inner = 0, n = 0;
};

struct LayerNormPara {
    constexpr LayerNormPara() = default;
    constexpr LayerNormPara(uint32_t a, uint32_t padded) : aLength(a), rLength(padded), rLengthWithPadding(padded) {}
    constexpr LayerNormPara(uint32_t a, uint32_t r, uint32_t padded)
        : aLength(a), rLength(r), rLengthWithPadding(padded) {}
    uint32_t aLength = 0, rLength = 0, rLengthWithPadding = 0;
};

struct NormalizePara {
    constexpr NormalizePara() = default;
    constexpr NormalizePara(uint32_t a, uint32_t r, uint32_t padded)
        : aLength(a), rLength(r), rLengthWithPadding(padded) {}
    uint32_t aLength = 0, rLength = 0, rLengthWithPadding = 0;
};

struct WelfordUpdateParam {
    uint32_t rnLength = 1, abLength = 0, abComputeLength = 0;
    float nRec = 0;
};

struct WelfordFinalizePara {
    uint32_t rnLength = 0, abLength = 0, headCount = 0, headCountLength = 0, tailCount = 0, tailCountLength = 0;
    float abRec = 0, rRec = 0;
};

struct DequantParams {
    uint32_t m = 0, n = 0, calCount = 0;
};

struct AntiQuantShapeInfo {
    uint32_t offsetHeight{0};
    uint32_t offsetWidth{0};
    uint32_t scaleHeight{0};
    uint32_t scaleWidth{0};
};

struct MrgSort4Info {
    constexpr MrgSort4Info() = default;
    constexpr MrgSort4Info(const uint16_t lengths[4], bool suspend, npukb::of::MrgSort4Info::validBit valid,
                           npukb::of::MrgSort4Info::repeatTimes repeat)
        : elementLengths{lengths[0], lengths[1], lengths[2], lengths[3]},
          ifExhaustedSuspension(suspend),
          validBit(valid),
          repeatTimes(repeat) {}
    npukb::of::MrgSort4Info::elementLengths elementLengths[4] = {0, 0, 0, 0};
    bool ifExhaustedSuspension = false;
    npukb::of::MrgSort4Info::validBit validBit = 0;
    npukb::of::MrgSort4Info::repeatTimes repeatTimes = 1;
};

}  // namespace AscendC
