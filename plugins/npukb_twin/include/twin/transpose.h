// Transposing inside the unified buffer: Transpose and TransDataTo5HD.
#pragma once
#include "tensor.h"
#include "tiling_structs.h"

namespace AscendC {

enum class TransposeType : uint8_t {
    TRANSPOSE_TYPE_NONE,
    TRANSPOSE_NZ2ND_0213,
    TRANSPOSE_NZ2NZ_0213,
    TRANSPOSE_NZ2NZ_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITHOUT_N,
    TRANSPOSE_NZ2NZ_012_WITHOUT_N,
    TRANSPOSE_ND2ND_ONLY,
    TRANSPOSE_ND_UB_GM,
    TRANSPOSE_GRAD_ND_UB_GM,
    TRANSPOSE_ND2ND_B16,
    TRANSPOSE_NCHW2NHWC,
    TRANSPOSE_NHWC2NCHW
};

struct TransposeParamsExt {
    constexpr TransposeParamsExt() = default;
    constexpr TransposeParamsExt(npukb::of::TransposeParamsExt::nSize nSizeIn,
                                 npukb::of::TransposeParamsExt::cSize cSizeIn,
                                 npukb::of::TransposeParamsExt::hSize hSizeIn,
                                 npukb::of::TransposeParamsExt::wSize wSizeIn, TransposeType transposeTypeIn)
        : nSize(nSizeIn), cSize(cSizeIn), hSize(hSizeIn), wSize(wSizeIn), transposeType(transposeTypeIn) {}
    npukb::of::TransposeParamsExt::nSize nSize = 0;
    npukb::of::TransposeParamsExt::cSize cSize = 0;
    npukb::of::TransposeParamsExt::hSize hSize = 0;
    npukb::of::TransposeParamsExt::wSize wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};

struct TransDataTo5HDParams {
    constexpr TransDataTo5HDParams() = default;
    constexpr TransDataTo5HDParams(bool dstHighHalfIn, bool srcHighHalfIn,
                                   npukb::of::TransDataTo5HDParams::repeatTimes repeatTimesIn,
                                   npukb::of::TransDataTo5HDParams::dstRepStride dstRepStrideIn,
                                   npukb::of::TransDataTo5HDParams::srcRepStride srcRepStrideIn)
        : dstHighHalf(dstHighHalfIn),
          srcHighHalf(srcHighHalfIn),
          repeatTimes(repeatTimesIn),
          dstRepStride(dstRepStrideIn),
          srcRepStride(srcRepStrideIn) {}
    bool dstHighHalf = false, srcHighHalf = false;
    npukb::of::TransDataTo5HDParams::repeatTimes repeatTimes = 1;
    npukb::of::TransDataTo5HDParams::dstRepStride dstRepStride = 0;
    npukb::of::TransDataTo5HDParams::srcRepStride srcRepStride = 0;
};

inline constexpr uint32_t NCHW_CONV_ADDR_LIST_SIZE = 16;

// A matrix of 16 by 16 elements of 16 bits.
template <typename T>
NPUKB_API void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src) {
    using namespace npukb::types;
    static_assert((npukb::kSetOf<T> & (U16 | I16 | F16)) != 0, "Transpose takes uint16_t, int16_t or half");
    TransposeParamsExt params(0, 0, 16, 16, TransposeType::TRANSPOSE_ND2ND_B16);
    npukb_transpose(sizeof(T), &dst.npukb_view, &src.npukb_view, nullptr, &params);
}
template <typename T>
NPUKB_API void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                         const LocalTensor<uint8_t>& sharedTmpBuffer, const TransposeParamsExt& transposeParams) {
    static_assert(npukb::moves::Transpose<T>, "Transpose takes integers of 8 to 32 bits, half or float");
    npukb_transpose(sizeof(T), &dst.npukb_view, &src.npukb_view, &sharedTmpBuffer.npukb_view, &transposeParams);
}

// TransDataTo5HD: sixteen blocks of 32 bytes become columns. Addresses are tensors, numbers, or numbers that lie in UB.
#define NPUKB_TRANSDATA_TYPES \
    static_assert(npukb::moves::TransDataTo5HD<T>, "TransDataTo5HD takes integers of 8 to 32 bits, half or float")
template <typename T>
NPUKB_API void TransDataTo5HD(const LocalTensor<T> (&dstLocalList)[NCHW_CONV_ADDR_LIST_SIZE],
                              const LocalTensor<T> (&srcLocalList)[NCHW_CONV_ADDR_LIST_SIZE],
                              const TransDataTo5HDParams& nchwconvParams) {
    NPUKB_TRANSDATA_TYPES;
    npukb_transpose_blocks(sizeof(T), dstLocalList, srcLocalList, 0, &nchwconvParams);
}
template <typename T>
NPUKB_API void TransDataTo5HD(uint64_t dstList[NCHW_CONV_ADDR_LIST_SIZE], uint64_t srcList[NCHW_CONV_ADDR_LIST_SIZE],
                              const TransDataTo5HDParams& nchwconvParams) {
    NPUKB_TRANSDATA_TYPES;
    npukb_transpose_blocks(sizeof(T), dstList, srcList, 1, &nchwconvParams);
}
template <typename T>
NPUKB_API void TransDataTo5HD(const LocalTensor<uint64_t>& dstLocal, const LocalTensor<uint64_t>& srcLocal,
                              const TransDataTo5HDParams& nchwconvParams) {
    NPUKB_TRANSDATA_TYPES;
    npukb_transpose_blocks(sizeof(T), &dstLocal, &srcLocal, 2, &nchwconvParams);
}
template <typename T>
NPUKB_API void TransDataTo5HDImpl(__ubuf__ T* dstList[NCHW_CONV_ADDR_LIST_SIZE],
                                  __ubuf__ T* srcList[NCHW_CONV_ADDR_LIST_SIZE],
                                  const TransDataTo5HDParams& nchwconvParams) {
    NPUKB_TRANSDATA_TYPES;
    npukb_transpose_blocks(sizeof(T), dstList, srcList, 1, &nchwconvParams);
}
#undef NPUKB_TRANSDATA_TYPES

}  // namespace AscendC

#pragma GCC visibility push(default)
extern "C" {
void npukb_rearrange(uint32_t element_bytes, AscendC::TransposeType type, const npukb::BufferView* dst,
                     const npukb::BufferView* src, const npukb::BufferView* tmp,
                     const ConfusionTransposeTiling* tiling);
}
#pragma GCC visibility pop

namespace AscendC {

// Transpose of the library, and its older name: swaps axes, splits or joins the last one, between NZ and ND.
#define NPUKB_REARRANGE(name)                                                                                    \
    template <typename T>                                                                                        \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                    \
                        const LocalTensor<uint8_t>& sharedTmpBuffer, TransposeType transposeType,                \
                        ConfusionTransposeTiling& tiling) {                                                      \
        using namespace npukb::types;                                                                            \
        static_assert((npukb::kSetOf<T> & (I16 | U16 | F16 | I32 | U32 | F32)) != 0,                             \
                      #name " takes integers of 16 and 32 bits, half or float");                                 \
        npukb_rearrange(sizeof(T), transposeType, &dst.npukb_view, &src.npukb_view, &sharedTmpBuffer.npukb_view, \
                        &tiling);                                                                                \
    }                                                                                                            \
    template <typename T>                                                                                        \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, TransposeType transposeType,       \
                        ConfusionTransposeTiling& tiling) {                                                      \
        using namespace npukb::types;                                                                            \
        static_assert((npukb::kSetOf<T> & (I16 | U16 | F16 | I32 | U32 | F32)) != 0,                             \
                      #name " takes integers of 16 and 32 bits, half or float");                                 \
        npukb_rearrange(sizeof(T), transposeType, &dst.npukb_view, &src.npukb_view, nullptr, &tiling);           \
    }
NPUKB_REARRANGE(Transpose)
NPUKB_REARRANGE(ConfusionTranspose)
#undef NPUKB_REARRANGE

}  // namespace AscendC
