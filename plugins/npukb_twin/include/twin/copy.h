// Data movement between global memory and the unified buffer.
#pragma once
#include "tensor.h"

namespace AscendC {

// DataCopy by element count: the runtime rounds the length down to 32-byte blocks, as the hardware does.
#define NPUKB_DATA_COPY(dst_tensor, src_tensor, direction)                                                          \
    template <typename T>                                                                                           \
    NPUKB_ONCE void DataCopy(const dst_tensor<T>& dst, const src_tensor<T>& src, const uint32_t count) NPUKB_BODY({ \
        npukb_copy_count(sizeof(T), direction, &dst, &src, npukb::kHalfByte<T> ? count / 2 : count);                \
    }) template <typename T>                                                                                        \
    NPUKB_ONCE void DataCopy(const dst_tensor<T>& dst, const src_tensor<T>& src, const DataCopyParams& params)      \
        NPUKB_BODY({ npukb_copy_blocks(sizeof(T), direction, &dst, &src, &params); })
NPUKB_DATA_COPY(LocalTensor, GlobalTensor, npukb::kIn)
NPUKB_DATA_COPY(GlobalTensor, LocalTensor, npukb::kOut)
NPUKB_DATA_COPY(LocalTensor, LocalTensor, npukb::kInside)
#undef NPUKB_DATA_COPY

// What older chips do to the data on its way out of the cube unit's memory. On the paths of the vector core it has no
// effect.
enum class BlockMode : uint8_t {
    BLOCK_MODE_NORMAL,
    BLOCK_MODE_MATRIX,
    BLOCK_MODE_VECTOR,
    BLOCK_MODE_SMALL_CHANNEL,
    BLOCK_MODE_DEPTHWISE
};
enum class DeqScale : uint8_t { DEQ_NONE, DEQ, VDEQ, DEQ8, VDEQ8, DEQ16, VDEQ16 };
struct DataCopyEnhancedParams {
    constexpr DataCopyEnhancedParams() = default;
    constexpr DataCopyEnhancedParams(BlockMode blockModeIn, DeqScale deqScaleIn, uint64_t deqValueIn,
                                     uint8_t sidStoreModeIn, bool isReluIn, pad_t padModeIn, uint64_t padValueIn)
        : blockMode(blockModeIn),
          deqScale(deqScaleIn),
          deqValue(deqValueIn),
          sidStoreMode(sidStoreModeIn),
          isRelu(isReluIn),
          padMode(padModeIn),
          padValue(padValueIn) {}
    BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
    DeqScale deqScale = DeqScale::DEQ_NONE;
    uint64_t deqValue = 0;
    uint8_t sidStoreMode = 0;
    bool isRelu = false;
    pad_t padMode = pad_t::PAD_NONE;
    uint64_t padValue = 0;
};
#define NPUKB_DATA_COPY(dst_tensor, src_tensor, direction)                                                         \
    template <typename T>                                                                                          \
    NPUKB_API void DataCopy(const dst_tensor<T>& dst, const src_tensor<T>& src, const DataCopyParams& intriParams, \
                            const DataCopyEnhancedParams&) {                                                       \
        npukb_copy_blocks(sizeof(T), direction, &dst, &src, &intriParams);                                         \
    }
NPUKB_DATA_COPY(LocalTensor, GlobalTensor, npukb::kIn)
NPUKB_DATA_COPY(GlobalTensor, LocalTensor, npukb::kOut)
NPUKB_DATA_COPY(LocalTensor, LocalTensor, npukb::kInside)
#undef NPUKB_DATA_COPY
// From one type to another on the way is for other chips: kernels for several chips name it.
template <typename T, typename U>
NPUKB_API void DataCopy(const LocalTensor<T>&, const LocalTensor<U>&, const DataCopyParams&,
                        const DataCopyEnhancedParams&) {
    static_assert(npukb::kSame<T, U>,
                  "DataCopy of this chip keeps the element type; to convert on the way is for "
                  "chips whose cube unit writes to the unified buffer");
}

// Part of a dimension: bursts of burstLen blocks, `stride` elements between one and the next. Dimension 0 is the
// innermost.
struct SliceInfo {
    constexpr SliceInfo() = default;
    constexpr SliceInfo(uint32_t startIndexIn, uint32_t endIndexIn, uint32_t strideIn, uint32_t burstLenIn,
                        uint32_t shapeValueIn = 0)
        : startIndex(startIndexIn),
          endIndex(endIndexIn),
          stride(strideIn),
          burstLen(burstLenIn),
          shapeValue(shapeValueIn) {}
    uint32_t startIndex = 0, endIndex = ONE_BLK_SIZE - 1, stride = 0, burstLen = ONE_BLK_SIZE, shapeValue = 0;
};

template <typename T>
NPUKB_API void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dstSliceInfo[],
                        const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1) {
    npukb_copy_slices(sizeof(T), npukb::kIn, &dst, &src, dstSliceInfo, srcSliceInfo, dimValue);
}
template <typename T>
NPUKB_API void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dstSliceInfo[],
                        const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1) {
    npukb_copy_slices(sizeof(T), npukb::kOut, &dst, &src, dstSliceInfo, srcSliceInfo, dimValue);
}

// Row-major matrices into columns of 32 bytes, the last one filled up with zeros.
struct Nd2NzParams {
    constexpr Nd2NzParams() = default;
    constexpr Nd2NzParams(npukb::of::Nd2NzParams::ndNum ndNumIn, npukb::of::Nd2NzParams::nValue nValueIn,
                          npukb::of::Nd2NzParams::dValue dValueIn,
                          npukb::of::Nd2NzParams::srcNdMatrixStride srcNdMatrixStrideIn,
                          npukb::of::Nd2NzParams::srcDValue srcDValueIn,
                          npukb::of::Nd2NzParams::dstNzC0Stride dstNzC0StrideIn,
                          npukb::of::Nd2NzParams::dstNzNStride dstNzNStrideIn,
                          npukb::of::Nd2NzParams::dstNzMatrixStride dstNzMatrixStrideIn)
        : ndNum(ndNumIn),
          nValue(nValueIn),
          dValue(dValueIn),
          srcNdMatrixStride(srcNdMatrixStrideIn),
          srcDValue(srcDValueIn),
          dstNzC0Stride(dstNzC0StrideIn),
          dstNzNStride(dstNzNStrideIn),
          dstNzMatrixStride(dstNzMatrixStrideIn) {}
    npukb::of::Nd2NzParams::ndNum ndNum = 0;
    npukb::of::Nd2NzParams::nValue nValue = 0;
    npukb::of::Nd2NzParams::dValue dValue = 0;
    npukb::of::Nd2NzParams::srcNdMatrixStride srcNdMatrixStride = 0;
    npukb::of::Nd2NzParams::srcDValue srcDValue = 0;
    npukb::of::Nd2NzParams::dstNzC0Stride dstNzC0Stride = 0;
    npukb::of::Nd2NzParams::dstNzNStride dstNzNStride = 0;
    npukb::of::Nd2NzParams::dstNzMatrixStride dstNzMatrixStride = 0;
};

template <typename T>
NPUKB_API void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& params) {
    npukb_copy_nd2nz(sizeof(T), &dst, &src, &params);
}

// DataCopyPad: gaps are bytes on the GM side and 32-byte blocks on the UB side, where each piece starts on a block.
template <typename T>
NPUKB_ONCE void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params,
                            const DataCopyPadExtParams<T>& pad) NPUKB_BODY(
    { npukb_copy_pad_in(sizeof(T), &dst, &src, &params, &pad, &pad.paddingValue); })
template <typename T>
NPUKB_ONCE void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
                            const DataCopyPadParams& pad) NPUKB_BODY(
    {
        DataCopyExtParams wide(params.blockCount, params.blockLen, params.srcStride, params.dstStride, 0);
        npukb_copy_pad_in(sizeof(T), &dst, &src, &wide, &pad, &pad.paddingValue);
    })
template <typename T>
NPUKB_ONCE void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& params)
    NPUKB_BODY(
        { npukb_copy_pad_out(sizeof(T), &dst, &src, &params); })
template <typename T>
NPUKB_ONCE void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params)
    NPUKB_BODY(
        {
            DataCopyExtParams wide(params.blockCount, params.blockLen, params.srcStride, params.dstStride, 0);
            npukb_copy_pad_out(sizeof(T), &dst, &src, &wide);
        })
// What DataCopyPad fills in where its parameters ask for padding and name no value of their own (isPad is false).
template <typename T, TPosition pos = TPosition::MAX>
NPUKB_API void SetPadValue(T paddingValue) {
    static_assert(pos == TPosition::MAX || pos == TPosition::VECIN || pos == TPosition::VECOUT,
                  "SetPadValue: the position is VECIN, VECOUT or MAX");
    npukb_pad_value(npukb::RawBits(paddingValue));
}
template <typename T>
NPUKB_API void DataCopyUB2GMImpl(__gm__ T* dst, __ubuf__ T* src, const DataCopyParams& params) {
    npukb_copy_raw(npukb::kOut, dst, src, params.blockCount, params.blockLen, params.srcStride, params.dstStride);
}

// Fills global memory with one value. The value may have any type that converts, as the literal 0 does for bfloat16_t.
template <typename T, typename V = T>
NPUKB_API void InitOutput(GlobalTensor<T> gmWorkspaceAddr, uint32_t size, V value = V(0)) {
    npukb_copy_init(sizeof(T), &gmWorkspaceAddr, size, npukb::RawBits(static_cast<T>(value)));
}
template <typename T, typename V>
NPUKB_API void Fill(GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const V value) {
    npukb_copy_init(sizeof(T), &gmWorkspaceAddr, size, npukb::RawBits(static_cast<T>(value)));
}

template <typename T>
NPUKB_API void InitGlobalMemory(GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value) {
    Fill(gmWorkspaceAddr, size, value);
}

// Moves from UB to global memory that come later add to what is there, or keep the larger or smaller value.
#define NPUKB_ATOMIC(name, mode)                                                           \
    template <typename T>                                                                  \
    NPUKB_API void name() {                                                                \
        using namespace npukb::types;                                                      \
        static_assert((npukb::kSetOf<T> & (I8 | I16 | F16 | BF16 | I32 | F32)) != 0,       \
                      #name " takes int8_t, int16_t, half, bfloat16_t, int32_t or float"); \
        npukb_atomic(npukb::AtomicMode::mode, npukb::DTypeOf<T>::value);                   \
    }
NPUKB_ATOMIC(SetAtomicAdd, Add)
NPUKB_ATOMIC(SetAtomicMax, Max)
NPUKB_ATOMIC(SetAtomicMin, Min)
#undef NPUKB_ATOMIC
template <typename T>
NPUKB_API void SetAtomicType() {
    npukb_atomic_type(npukb::DTypeOf<T>::value);
}
NPUKB_API void SetAtomicNone() { npukb_atomic(npukb::AtomicMode::None, npukb::DType::F32); }
NPUKB_API void DisableDmaAtomic() { SetAtomicNone(); }
// What a core's state is when a kernel begins: no atomic moves, a full mask in normal mode.
NPUKB_API void InitSocState() {
    SetAtomicNone();
    npukb_mask_mode(0);
    npukb_mask_set(~0ull, ~0ull);
}

enum class AtomicDtype { ATOMIC_NONE, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };
enum class AtomicOp { ATOMIC_SUM };

template <AtomicDtype type, AtomicOp op>
NPUKB_API void SetStoreAtomicConfig() {
    constexpr npukb::DType types[] = {npukb::DType::F32, npukb::DType::F32, npukb::DType::F16, npukb::DType::I16,
                                      npukb::DType::I32, npukb::DType::I8,  npukb::DType::BF16};
    npukb_atomic(type == AtomicDtype::ATOMIC_NONE ? npukb::AtomicMode::None : npukb::AtomicMode::Add,
                 types[static_cast<int>(type)]);
}
NPUKB_API void GetStoreAtomicConfig(uint16_t& atomicType, uint16_t& atomicOp) {
    constexpr uint16_t types[] = {2, 6, 1, 5, 5, 3, 3, 4, 4, 0, 0, 0};
    atomicType = npukb_atomic_state(0) == 0 ? 0 : types[npukb_atomic_state(1)];
    atomicOp = 0;
}

enum class CacheLine : uint64_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };

// The data cache of the scalar unit. Other destinations than global memory are reserved: nothing happens.
template <typename T, CacheLine entireType, DcciDst dcciDst>
NPUKB_API void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst) {
    if constexpr (dcciDst == DcciDst::CACHELINE_ALL || dcciDst == DcciDst::CACHELINE_OUT) {
        npukb_cache_clean(&dst, entireType == CacheLine::ENTIRE_DATA_CACHE);
    } else {
        npukb_cache_hint(entireType == CacheLine::SINGLE_CACHE_LINE ? 8 : 512);
    }
}
template <typename T, CacheLine entireType, DcciDst dcciDst>
NPUKB_API void DataCacheCleanAndInvalid(const LocalTensor<T>&) {
    npukb_cache_hint(entireType == CacheLine::SINGLE_CACHE_LINE ? 8 : 512);
}
template <typename T, CacheLine entireType>
NPUKB_API void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst) {
    npukb_cache_clean(&dst, entireType == CacheLine::ENTIRE_DATA_CACHE);
}
template <typename T>
NPUKB_API void DataCachePreload(const GlobalTensor<uint64_t>&, const T) {
    npukb_cache_hint(1);
}
NPUKB_API void ICachePreLoad(const int64_t) { npukb_cache_hint(1); }
// Whether the last preload is still under way; it is always over.
NPUKB_API int64_t GetICachePreloadStatus() { return 0; }

}  // namespace AscendC
