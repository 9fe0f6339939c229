// Parameters that the device keeps in 8 or 16 bits. C++ cuts a number that does not fit without a word: 256 repeats are
// none. So each of them has a type of its own name, npukb::of::Add::repeatTime: the compiler hands the runtime the type
// into which a value has lost bits, as it is written here (runtime/process/compiler_checks.cpp). To everything else
// they are plain integers.
#pragma once
#include <stdint.h>

namespace npukb::of {

#define NPUKB_INSTRUCTION(name, ...) \
    namespace name {                 \
    typedef uint8_t repeatTime;      \
    }
#include "instructions.def"

// Functions that are no rows of the table, and what rows have beside repeats.
namespace BilinearInterpolation {
typedef uint8_t hRepeat, vRepeat;
typedef uint16_t dstBlkStride, vROffset;
}  // namespace BilinearInterpolation
namespace CreateVecIndex {
typedef uint16_t dstBlkStride;
typedef uint8_t dstRepStride;
}  // namespace CreateVecIndex
namespace Duplicate {
typedef uint16_t dstBlockStride;
typedef uint8_t dstRepeatStride;
}  // namespace Duplicate
namespace Gather {
typedef uint8_t repeatTime;
typedef uint16_t dstRepStride;
}  // namespace Gather
namespace Gatherb {
typedef uint8_t repeatTime;
}  // namespace Gatherb
namespace FusedMulAddRelu {
typedef uint8_t repeatTime;
}  // namespace FusedMulAddRelu
namespace CastDeq {
typedef uint8_t repeatTime;
}  // namespace CastDeq
namespace CompareScalar {
typedef uint8_t repeatTime;
}  // namespace CompareScalar
namespace MrgSort {
typedef uint16_t validBit;
}  // namespace MrgSort
// The compiler's own functions on addresses.
namespace intrinsic {
typedef uint8_t repeat, unitFlag;
typedef uint16_t nBurst, lenBurst, baseIdx, indexID, ndNum, nValue, dValue, m, k, n, MSize, NSize;
}  // namespace intrinsic

// Structures of parameters.
namespace BinaryRepeatParams {
typedef uint8_t dstBlkStride, src0BlkStride, src1BlkStride, dstRepStride, src0RepStride, src1RepStride;
}  // namespace BinaryRepeatParams
namespace UnaryRepeatParams {
typedef uint8_t dstRepStride, srcRepStride;
typedef uint16_t dstBlkStride, srcBlkStride;
}  // namespace UnaryRepeatParams
namespace CopyRepeatParams {
typedef uint16_t dstStride, srcStride, dstRepeatSize, srcRepeatSize;
}  // namespace CopyRepeatParams
namespace BrcbRepeatParams {
typedef uint16_t dstBlkStride, dstRepStride;
}  // namespace BrcbRepeatParams
namespace DataCopyParams {
typedef uint16_t blockCount, blockLen, srcStride, srcGap, dstStride, dstGap;
}  // namespace DataCopyParams
namespace DataCopyExtParams {
typedef uint16_t blockCount;
}  // namespace DataCopyExtParams
namespace DataCopyPadParams {
typedef uint8_t leftPadding, rightPadding;
}  // namespace DataCopyPadParams
namespace DataCopyPadExtParams {
typedef uint8_t leftPadding, rightPadding;
}  // namespace DataCopyPadExtParams
namespace GatherRepeatParams {
typedef uint8_t dstBlkStride, dstRepStride;
}  // namespace GatherRepeatParams
namespace GatherMaskParams {
typedef uint8_t src0BlockStride, src1RepeatStride;
typedef uint16_t repeatTimes, src0RepeatStride;
}  // namespace GatherMaskParams
namespace TransposeParamsExt {
typedef uint16_t nSize, cSize, hSize, wSize;
}  // namespace TransposeParamsExt
namespace TransDataTo5HDParams {
typedef uint8_t repeatTimes;
typedef uint16_t dstRepStride, srcRepStride;
}  // namespace TransDataTo5HDParams
namespace Nd2NzParams {
typedef uint16_t ndNum, nValue, dValue, srcNdMatrixStride, srcDValue, dstNzC0Stride, dstNzNStride, dstNzMatrixStride;
}  // namespace Nd2NzParams
namespace PadParams {
typedef uint16_t leftPad, rightPad;
}  // namespace PadParams
namespace UnPadParams {
typedef uint16_t leftPad, rightPad;
}  // namespace UnPadParams
namespace MrgSort4Info {
typedef uint16_t validBit, repeatTimes, elementLengths;
}  // namespace MrgSort4Info
namespace LoadData2DParams {
typedef uint8_t repeatTimes, sid, addrMode;
typedef uint16_t startIndex, srcStride, dstGap;
}  // namespace LoadData2DParams
namespace LoadData2dTransposeParams {
typedef uint8_t repeatTimes, addrMode;
typedef uint16_t startIndex, srcStride, dstGap, dstFracGap;
}  // namespace LoadData2dTransposeParams
namespace LoadData3DParamsV2 {
typedef uint8_t strideW, strideH, filterW, filterH, dilationFilterW, dilationFilterH;
typedef uint16_t l1H, l1W, channelSize, kExtension, mExtension, kStartPt, mStartPt;
}  // namespace LoadData3DParamsV2
namespace LoadData3DParamsV2Pro {
typedef uint16_t channelSize;
}  // namespace LoadData3DParamsV2Pro
namespace LoadDataRepeatParam {
typedef uint8_t repeatTime, repeatMode;
typedef uint16_t repeatStride;
}  // namespace LoadDataRepeatParam
namespace InitConstValueParams {
typedef uint16_t repeatTimes, blockNum, dstGap;
}  // namespace InitConstValueParams
namespace MmadParams {
typedef uint8_t unitFlag;
typedef uint16_t m, n, k;
}  // namespace MmadParams
namespace FixpipeParamsV220 {
typedef uint8_t unitFlag;
typedef uint16_t nSize, mSize, srcStride, ndNum, srcNdStride, dstNdStride;
}  // namespace FixpipeParamsV220
namespace DataCopyCO12DstParams {
typedef uint8_t sid, unitFlag, clipReluPre, eltWiseOp, reluPre;
typedef uint16_t nSize, mSize, srcStride;
}  // namespace DataCopyCO12DstParams

}  // namespace npukb::of
