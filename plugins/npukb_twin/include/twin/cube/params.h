// Parameter structures of cube instructions.
#pragma once
#include "../both_sides.h"
#include "../types.h"

// How Fixpipe changes elements on their way out of L0C. The numbers are those of the instruction.
enum QuantMode_t {
    NoQuant = 0,
    F322F16 = 1,
    VREQ8 = 8,
    REQ8 = 9,
    VDEQF16 = 10,
    DEQF16 = 11,
    F322BF16 = 16,
    VQF322B8_PRE = 23,
    QF322B8_PRE = 24,
    // Of other chips, so that code for several chips compiles. The numbers are the twin's own; an instruction that is
    // given one ends the kernel.
    QF322F16_PRE = 128,
    VQF322F16_PRE,
    QF322BF16_PRE,
    VQF322BF16_PRE,
    QF322F32_PRE,
    VQF322F32_PRE,
    QF322FP8_PRE,
    VQF322FP8_PRE,
    QF322HIF8_PRE,
    VQF322HIF8_PRE,
    QF322HIF8_PRE_HYBRID,
    VQF322HIF8_PRE_HYBRID
};

namespace AscendC {

using ::QuantMode_t;

inline constexpr uint32_t PAD_SIZE = 4;

// Strides and gaps are counted in fractals of 512 bytes.
struct LoadData2DParams {
    constexpr LoadData2DParams() = default;
    constexpr LoadData2DParams(npukb::of::LoadData2DParams::startIndex start,
                               npukb::of::LoadData2DParams::repeatTimes repeat,
                               npukb::of::LoadData2DParams::srcStride stride, npukb::of::LoadData2DParams::sid sidIn,
                               npukb::of::LoadData2DParams::dstGap gap, bool transpose,
                               npukb::of::LoadData2DParams::addrMode mode)
        : startIndex(start),
          repeatTimes(repeat),
          srcStride(stride),
          sid(sidIn),
          dstGap(gap),
          ifTranspose(transpose),
          addrMode(mode) {}
    npukb::of::LoadData2DParams::startIndex startIndex = 0;
    npukb::of::LoadData2DParams::repeatTimes repeatTimes = 0;
    npukb::of::LoadData2DParams::srcStride srcStride = 0;
    npukb::of::LoadData2DParams::sid sid = 0;
    npukb::of::LoadData2DParams::dstGap dstGap = 0;
    bool ifTranspose = false;
    npukb::of::LoadData2DParams::addrMode addrMode = 0;
};
using LoadData2dParams = LoadData2DParams;

// Squares of one, two or four fractals: 16 by 16 elements of 16 and 32 bits, 32 by 32 of 8, 64 by 64 of 4.
struct LoadData2dTransposeParams {
    constexpr LoadData2dTransposeParams() = default;
    constexpr LoadData2dTransposeParams(npukb::of::LoadData2dTransposeParams::startIndex start,
                                        npukb::of::LoadData2dTransposeParams::repeatTimes repeat,
                                        npukb::of::LoadData2dTransposeParams::srcStride stride,
                                        npukb::of::LoadData2dTransposeParams::dstGap gap,
                                        npukb::of::LoadData2dTransposeParams::dstFracGap fracGap, uint8_t mode = 0)
        : startIndex(start), repeatTimes(repeat), srcStride(stride), dstGap(gap), dstFracGap(fracGap), addrMode(mode) {}
    npukb::of::LoadData2dTransposeParams::startIndex startIndex = 0;
    npukb::of::LoadData2dTransposeParams::repeatTimes repeatTimes = 0;
    npukb::of::LoadData2dTransposeParams::srcStride srcStride = 0;
    npukb::of::LoadData2dTransposeParams::dstGap dstGap = 0;
    npukb::of::LoadData2dTransposeParams::dstFracGap dstFracGap = 0;
    npukb::of::LoadData2dTransposeParams::addrMode addrMode = 0;
};

struct IsResetLoad3dConfig {
    bool isSetFMatrix = true, isSetPadding = true;
};
inline constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};

enum class FmatrixMode : uint8_t { FMATRIX_LEFT, FMATRIX_RIGHT };

// Which part of the matrix that im2col makes of a feature map is loaded.
struct NpukbImageParams {
    uint8_t padList[PAD_SIZE] = {0, 0, 0, 0};
    npukb::of::LoadData3DParamsV2::l1H l1H = 0;
    npukb::of::LoadData3DParamsV2::l1W l1W = 0;
    npukb::of::LoadData3DParamsV2::channelSize channelSize = 0;
    npukb::of::LoadData3DParamsV2::kExtension kExtension = 0;
    npukb::of::LoadData3DParamsV2::mExtension mExtension = 0;
    npukb::of::LoadData3DParamsV2::kStartPt kStartPt = 0;
    npukb::of::LoadData3DParamsV2::mStartPt mStartPt = 0;
    npukb::of::LoadData3DParamsV2::strideW strideW = 1;
    npukb::of::LoadData3DParamsV2::strideH strideH = 1;
    npukb::of::LoadData3DParamsV2::filterW filterW = 1;
    npukb::of::LoadData3DParamsV2::filterH filterH = 1;
    npukb::of::LoadData3DParamsV2::dilationFilterW dilationFilterW = 1;
    npukb::of::LoadData3DParamsV2::dilationFilterH dilationFilterH = 1;
    bool enTranspose = false, enSmallK = false, filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;

    constexpr void NpukbSetFilter() {}
    constexpr void NpukbSetFilter(bool sizeW, bool sizeH, bool right) {
        filterSizeW = sizeW, filterSizeH = sizeH, fMatrixCtrl = right;
    }
};

template <typename T>
struct LoadData3DParamsV2 : NpukbImageParams {
    constexpr LoadData3DParamsV2() = default;
    // The three flags of the filter come together or not at all.
    template <typename... FilterFlags>
    constexpr LoadData3DParamsV2(
        const uint8_t pad[PAD_SIZE], npukb::of::LoadData3DParamsV2::l1H height,
        npukb::of::LoadData3DParamsV2::l1W width, npukb::of::LoadData3DParamsV2::channelSize channels,
        npukb::of::LoadData3DParamsV2::kExtension kExt, npukb::of::LoadData3DParamsV2::mExtension mExt,
        npukb::of::LoadData3DParamsV2::kStartPt kStart, npukb::of::LoadData3DParamsV2::mStartPt mStart,
        npukb::of::LoadData3DParamsV2::strideW sW, npukb::of::LoadData3DParamsV2::strideH sH,
        npukb::of::LoadData3DParamsV2::filterW fW, npukb::of::LoadData3DParamsV2::filterH fH,
        npukb::of::LoadData3DParamsV2::dilationFilterW dW, npukb::of::LoadData3DParamsV2::dilationFilterH dH,
        bool transpose, bool smallK, T padding, FilterFlags... sizeWSizeHRight)
        : padValue(padding) {
        for (uint32_t i = 0; i < PAD_SIZE; ++i) padList[i] = pad[i];
        l1H = height, l1W = width, channelSize = channels, kExtension = kExt, mExtension = mExt, kStartPt = kStart;
        mStartPt = mStart, strideW = sW, strideH = sH, filterW = fW, filterH = fH, dilationFilterW = dW,
        dilationFilterH = dH;
        enTranspose = transpose, enSmallK = smallK;
        NpukbSetFilter(sizeWSizeHRight...);
    }
    T padValue{};
};

// The same, packed into two words; the feature map comes from SetFmatrix.
struct LoadData3DParamsV2Pro {
    constexpr LoadData3DParamsV2Pro() = default;
    constexpr LoadData3DParamsV2Pro(npukb::of::LoadData3DParamsV2Pro::channelSize channels, bool transpose, bool smallK,
                                    bool sizeW, bool sizeH, bool right, uint64_t ext, uint64_t filter)
        : channelSize(channels),
          enTranspose(transpose),
          enSmallK(smallK),
          filterSizeW(sizeW),
          filterSizeH(sizeH),
          fMatrixCtrl(right),
          extConfig(ext),
          filterConfig(filter) {}
    npukb::of::LoadData3DParamsV2Pro::channelSize channelSize = 0;
    bool enTranspose = false, enSmallK = false, filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
    uint64_t extConfig = 0, filterConfig = 0x10101010101;
};

struct LoadDataRepeatParam {
    constexpr LoadDataRepeatParam() = default;
    constexpr LoadDataRepeatParam(npukb::of::LoadDataRepeatParam::repeatStride stride,
                                  npukb::of::LoadDataRepeatParam::repeatTime times,
                                  npukb::of::LoadDataRepeatParam::repeatMode mode)
        : repeatStride(stride), repeatTime(times), repeatMode(mode) {}
    npukb::of::LoadDataRepeatParam::repeatStride repeatStride = 0;
    npukb::of::LoadDataRepeatParam::repeatTime repeatTime = 1;
    npukb::of::LoadDataRepeatParam::repeatMode repeatMode = 0;
};

// Blocks are 32 bytes in L1 and 512 in L0A and L0B.
template <typename T>
struct InitConstValueParams {
    constexpr InitConstValueParams() = default;
    constexpr InitConstValueParams(npukb::of::InitConstValueParams::repeatTimes repeat,
                                   npukb::of::InitConstValueParams::blockNum blocks,
                                   npukb::of::InitConstValueParams::dstGap gap, T value)
        : repeatTimes(repeat), blockNum(blocks), dstGap(gap), initValue(value) {}
    constexpr InitConstValueParams(npukb::of::InitConstValueParams::repeatTimes repeat, T value)
        : repeatTimes(repeat), blockNum(1), initValue(value) {}
    npukb::of::InitConstValueParams::repeatTimes repeatTimes = 0;
    npukb::of::InitConstValueParams::blockNum blockNum = 0;
    npukb::of::InitConstValueParams::dstGap dstGap = 0;
    T initValue{};
};

struct MmadParams {
    constexpr MmadParams() = default;
    constexpr MmadParams(npukb::of::MmadParams::m mIn, npukb::of::MmadParams::n nIn, npukb::of::MmadParams::k kIn,
                         npukb::of::MmadParams::unitFlag unit, bool fromBias, bool zero)
        : m(mIn), n(nIn), k(kIn), unitFlag(unit), cmatrixSource(fromBias), cmatrixInitVal(zero) {}
    // The older form; what follows isBias is not used on this chip.
    constexpr MmadParams(npukb::of::MmadParams::m mIn, npukb::of::MmadParams::n nIn, npukb::of::MmadParams::k kIn,
                         bool accumulate, int32_t offset, bool sparse, bool winogradA, bool winogradB)
        : m(mIn),
          n(nIn),
          k(kIn),
          isBias(accumulate),
          fmOffset(offset),
          enSsparse(sparse),
          enWinogradA(winogradA),
          enWinogradB(winogradB) {}
    npukb::of::MmadParams::m m = 0;
    npukb::of::MmadParams::n n = 0;
    npukb::of::MmadParams::k k = 0;
    bool isBias = false;
    int32_t fmOffset = 0;
    bool enSsparse = false, enWinogradA = false, enWinogradB = false;
    npukb::of::MmadParams::unitFlag unitFlag = 0;
    bool kDirectionAlign = false, cmatrixSource = false, cmatrixInitVal = true;
};

enum class CO2Layout : uint8_t { NZ, ROW_MAJOR, COLUMN_MAJOR };
struct FixpipeConfig {
    CO2Layout format;
};
inline constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};
inline constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};

// srcStride counts 16 elements, dstStride elements of a row-major matrix or blocks of 32 bytes, srcNdStride 1024 bytes.
struct FixpipeParamsV220 {
    constexpr FixpipeParamsV220() = default;
    constexpr FixpipeParamsV220(npukb::of::FixpipeParamsV220::nSize n, npukb::of::FixpipeParamsV220::mSize m,
                                npukb::of::FixpipeParamsV220::srcStride srcGap, uint32_t dstGap, bool relu)
        : nSize(n), mSize(m), srcStride(srcGap), dstStride(dstGap), reluEn(relu) {}
    constexpr FixpipeParamsV220(npukb::of::FixpipeParamsV220::nSize n, npukb::of::FixpipeParamsV220::mSize m,
                                npukb::of::FixpipeParamsV220::srcStride srcGap, uint32_t dstGap, bool relu,
                                QuantMode_t quant, int64_t scalar, npukb::of::FixpipeParamsV220::ndNum matrices,
                                npukb::of::FixpipeParamsV220::srcNdStride srcMatrix,
                                npukb::of::FixpipeParamsV220::dstNdStride dstMatrix,
                                npukb::of::FixpipeParamsV220::unitFlag unit)
        : nSize(n),
          mSize(m),
          srcStride(srcGap),
          dstStride(dstGap),
          quantPre(quant),
          deqScalar(static_cast<uint64_t>(scalar)),
          ndNum(matrices),
          srcNdStride(srcMatrix),
          dstNdStride(dstMatrix),
          reluEn(relu),
          unitFlag(unit) {}
    npukb::of::FixpipeParamsV220::nSize nSize = 0;
    npukb::of::FixpipeParamsV220::mSize mSize = 0;
    npukb::of::FixpipeParamsV220::srcStride srcStride = 0;
    uint32_t dstStride = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    npukb::of::FixpipeParamsV220::ndNum ndNum = 1;
    npukb::of::FixpipeParamsV220::srcNdStride srcNdStride = 0;
    npukb::of::FixpipeParamsV220::dstNdStride dstNdStride = 0;
    bool reluEn = false;
    npukb::of::FixpipeParamsV220::unitFlag unitFlag = 0;
    bool isChannelSplit = false;
};

struct DataCopyCO12DstParams {
    constexpr DataCopyCO12DstParams() = default;
    constexpr DataCopyCO12DstParams(npukb::of::DataCopyCO12DstParams::nSize n,
                                    npukb::of::DataCopyCO12DstParams::mSize m, uint32_t dstGap,
                                    npukb::of::DataCopyCO12DstParams::srcStride srcGap, QuantMode_t quant,
                                    npukb::of::DataCopyCO12DstParams::reluPre relu, bool split, bool rowMajor)
        : nSize(n),
          mSize(m),
          dstStride(dstGap),
          srcStride(srcGap),
          quantPre(quant),
          reluPre(relu),
          channelSplit(split),
          nz2ndEn(rowMajor) {}
    npukb::of::DataCopyCO12DstParams::sid sid = 0;
    npukb::of::DataCopyCO12DstParams::nSize nSize = 0;
    npukb::of::DataCopyCO12DstParams::mSize mSize = 0;
    uint32_t dstStride = 0;
    npukb::of::DataCopyCO12DstParams::srcStride srcStride = 0;
    npukb::of::DataCopyCO12DstParams::unitFlag unitFlag = 0;
    npukb::of::DataCopyCO12DstParams::clipReluPre clipReluPre = 0;
    npukb::of::DataCopyCO12DstParams::eltWiseOp eltWiseOp = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    npukb::of::DataCopyCO12DstParams::reluPre reluPre = 0;
    bool channelSplit = false, nz2ndEn = false;
};

enum class HF32Mode : uint8_t { DISABLE, ENABLE };
enum class HF32TransMode : uint8_t { NEAREST_EVEN, NEAREST_ZERO };

}  // namespace AscendC
