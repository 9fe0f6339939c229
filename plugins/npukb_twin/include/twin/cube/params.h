// Parameter structures of cube instructions.
#pragma once
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
    QF322B8_PRE = 24
};

namespace AscendC {

using ::QuantMode_t;

inline constexpr uint32_t PAD_SIZE = 4;
inline constexpr uint32_t BLOCK_CUBE = 16;

// Strides and gaps are counted in fractals of 512 bytes.
struct LoadData2DParams {
    constexpr LoadData2DParams() = default;
    constexpr LoadData2DParams(uint16_t start, uint8_t repeat, uint16_t stride, uint8_t sidIn, uint16_t gap,
                               bool transpose, uint8_t mode)
        : startIndex(start),
          repeatTimes(repeat),
          srcStride(stride),
          sid(sidIn),
          dstGap(gap),
          ifTranspose(transpose),
          addrMode(mode) {}
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0;
    uint8_t sid = 0;
    uint16_t dstGap = 0;
    bool ifTranspose = false;
    uint8_t addrMode = 0;
};
using LoadData2dParams = LoadData2DParams;

// Squares of one, two or four fractals: 16 by 16 elements of 16 and 32 bits, 32 by 32 of 8, 64 by 64 of 4.
struct LoadData2dTransposeParams {
    constexpr LoadData2dTransposeParams() = default;
    constexpr LoadData2dTransposeParams(uint16_t start, uint8_t repeat, uint16_t stride, uint16_t gap, uint16_t fracGap,
                                        uint8_t mode = 0)
        : startIndex(start), repeatTimes(repeat), srcStride(stride), dstGap(gap), dstFracGap(fracGap), addrMode(mode) {}
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0, dstGap = 0, dstFracGap = 0;
    uint8_t addrMode = 0;
};

struct IsResetLoad3dConfig {
    bool isSetFMatrix = true, isSetPadding = true;
};
inline constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};

enum class FmatrixMode : uint8_t { FMATRIX_LEFT, FMATRIX_RIGHT };

// Which part of the matrix that im2col makes of a feature map is loaded.
struct NpukbImageParams {
    uint8_t padList[PAD_SIZE] = {0, 0, 0, 0};
    uint16_t l1H = 0, l1W = 0, channelSize = 0, kExtension = 0, mExtension = 0, kStartPt = 0, mStartPt = 0;
    uint8_t strideW = 1, strideH = 1, filterW = 1, filterH = 1, dilationFilterW = 1, dilationFilterH = 1;
    bool enTranspose = false, enSmallK = false, filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
};

template <typename T>
struct LoadData3DParamsV2 : NpukbImageParams {
    constexpr LoadData3DParamsV2() = default;
    constexpr LoadData3DParamsV2(const uint8_t pad[PAD_SIZE], uint16_t height, uint16_t width, uint16_t channels,
                                 uint16_t kExt, uint16_t mExt, uint16_t kStart, uint16_t mStart, uint8_t sW, uint8_t sH,
                                 uint8_t fW, uint8_t fH, uint8_t dW, uint8_t dH, bool transpose, bool smallK, T padding)
        : padValue(padding) {
        for (uint32_t i = 0; i < PAD_SIZE; ++i) padList[i] = pad[i];
        l1H = height, l1W = width, channelSize = channels, kExtension = kExt, mExtension = mExt, kStartPt = kStart;
        mStartPt = mStart, strideW = sW, strideH = sH, filterW = fW, filterH = fH, dilationFilterW = dW,
        dilationFilterH = dH;
        enTranspose = transpose, enSmallK = smallK;
    }
    constexpr LoadData3DParamsV2(const uint8_t pad[PAD_SIZE], uint16_t height, uint16_t width, uint16_t channels,
                                 uint16_t kExt, uint16_t mExt, uint16_t kStart, uint16_t mStart, uint8_t sW, uint8_t sH,
                                 uint8_t fW, uint8_t fH, uint8_t dW, uint8_t dH, bool transpose, bool smallK, T padding,
                                 bool sizeW, bool sizeH, bool right)
        : LoadData3DParamsV2(pad, height, width, channels, kExt, mExt, kStart, mStart, sW, sH, fW, fH, dW, dH,
                             transpose, smallK, padding) {
        filterSizeW = sizeW, filterSizeH = sizeH, fMatrixCtrl = right;
    }
    T padValue{};
};

// The same, packed into two words; the feature map comes from SetFmatrix.
struct LoadData3DParamsV2Pro {
    constexpr LoadData3DParamsV2Pro() = default;
    constexpr LoadData3DParamsV2Pro(uint16_t channels, bool transpose, bool smallK, bool sizeW, bool sizeH, bool right,
                                    uint64_t ext, uint64_t filter)
        : channelSize(channels),
          enTranspose(transpose),
          enSmallK(smallK),
          filterSizeW(sizeW),
          filterSizeH(sizeH),
          fMatrixCtrl(right),
          extConfig(ext),
          filterConfig(filter) {}
    uint16_t channelSize = 0;
    bool enTranspose = false, enSmallK = false, filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
    uint64_t extConfig = 0, filterConfig = 0x10101010101;
};

struct LoadDataRepeatParam {
    constexpr LoadDataRepeatParam() = default;
    constexpr LoadDataRepeatParam(uint16_t stride, uint8_t times, uint8_t mode)
        : repeatStride(stride), repeatTime(times), repeatMode(mode) {}
    uint16_t repeatStride = 0;
    uint8_t repeatTime = 1, repeatMode = 0;
};

// Blocks are 32 bytes in L1 and 512 in L0A and L0B.
template <typename T>
struct InitConstValueParams {
    constexpr InitConstValueParams() = default;
    constexpr InitConstValueParams(uint16_t repeat, uint16_t blocks, uint16_t gap, T value)
        : repeatTimes(repeat), blockNum(blocks), dstGap(gap), initValue(value) {}
    constexpr InitConstValueParams(uint16_t repeat, T value) : repeatTimes(repeat), blockNum(1), initValue(value) {}
    uint16_t repeatTimes = 0, blockNum = 0, dstGap = 0;
    T initValue{};
};

struct MmadParams {
    constexpr MmadParams() = default;
    constexpr MmadParams(uint16_t mIn, uint16_t nIn, uint16_t kIn, uint8_t unit, bool fromBias, bool zero)
        : m(mIn), n(nIn), k(kIn), unitFlag(unit), cmatrixSource(fromBias), cmatrixInitVal(zero) {}
    // The older form; what follows isBias is not used on this chip.
    constexpr MmadParams(uint16_t mIn, uint16_t nIn, uint16_t kIn, bool accumulate, int32_t offset, bool sparse,
                         bool winogradA, bool winogradB)
        : m(mIn),
          n(nIn),
          k(kIn),
          isBias(accumulate),
          fmOffset(offset),
          enSsparse(sparse),
          enWinogradA(winogradA),
          enWinogradB(winogradB) {}
    uint16_t m = 0, n = 0, k = 0;
    bool isBias = false;
    int32_t fmOffset = 0;
    bool enSsparse = false, enWinogradA = false, enWinogradB = false;
    uint8_t unitFlag = 0;
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
    constexpr FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t srcGap, uint32_t dstGap, bool relu)
        : nSize(n), mSize(m), srcStride(srcGap), dstStride(dstGap), reluEn(relu) {}
    constexpr FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t srcGap, uint32_t dstGap, bool relu, QuantMode_t quant,
                                int64_t scalar, uint16_t matrices, uint16_t srcMatrix, uint16_t dstMatrix, uint8_t unit)
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
    uint16_t nSize = 0, mSize = 0, srcStride = 0;
    uint32_t dstStride = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;
    bool reluEn = false;
    uint8_t unitFlag = 0;
    bool isChannelSplit = false;
};

struct DataCopyCO12DstParams {
    constexpr DataCopyCO12DstParams() = default;
    constexpr DataCopyCO12DstParams(uint16_t n, uint16_t m, uint32_t dstGap, uint16_t srcGap, QuantMode_t quant,
                                    uint8_t relu, bool split, bool rowMajor)
        : nSize(n),
          mSize(m),
          dstStride(dstGap),
          srcStride(srcGap),
          quantPre(quant),
          reluPre(relu),
          channelSplit(split),
          nz2ndEn(rowMajor) {}
    uint8_t sid = 0;
    uint16_t nSize = 0, mSize = 0;
    uint32_t dstStride = 0;
    uint16_t srcStride = 0;
    uint8_t unitFlag = 0, clipReluPre = 0, eltWiseOp = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint8_t reluPre = 0;
    bool channelSplit = false, nz2ndEn = false;
};

enum class HF32Mode : uint8_t { DISABLE, ENABLE };
enum class HF32TransMode : uint8_t { NEAREST_EVEN, NEAREST_ZERO };

}  // namespace AscendC
