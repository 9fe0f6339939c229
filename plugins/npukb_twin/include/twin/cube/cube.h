// The cube unit: moves into L0A, L0B, the bias table and the fixpipe buffer, Mmad, and the way out of L0C.
#pragma once
#include <type_traits>

#include "../copy.h"
#include "abi.h"
#include "params.h"

namespace npukb {

template <typename T>
inline constexpr bool kFractalType = moves::LoadData<T>;

// What Mmad multiplies, and what it makes of it.
template <typename D, typename A, typename B>
inline constexpr bool kProduct = kSame<A, B> && moves::Mmad<D, A>;

template <typename D, typename S>
inline constexpr bool kWayOut = moves::Fixpipe<D, S>;

}  // namespace npukb

namespace AscendC {

// Fractals of 512 bytes, from L1 or global memory.
template <typename T>
NPUKB_API void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& loadDataParams) {
    static_assert(npukb::kFractalType<T>, "LoadData takes elements of 4 to 32 bits");
    npukb_cube_load(npukb::DTypeOf<T>::value, &dst.npukb_view, &src.npukb_view, 0, &loadDataParams);
}
template <typename T>
NPUKB_API void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& loadDataParams) {
    static_assert(npukb::kFractalType<T> && !npukb::kHalfByte<T>,
                  "LoadData takes elements of 8 to 32 bits from global memory");
    npukb_cube_load(npukb::DTypeOf<T>::value, &dst.npukb_view, &src, 1, &loadDataParams);
}

template <typename T>
NPUKB_API void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                     const LoadData2dTransposeParams& loadDataParams) {
    static_assert(npukb::kFractalType<T>, "LoadDataWithTranspose takes elements of 4 to 32 bits");
    npukb_cube_load_transposed(npukb::DTypeOf<T>::value, &dst.npukb_view, &src.npukb_view, &loadDataParams);
}

// A part of the matrix that im2col makes of a feature map in L1.
template <typename T, const IsResetLoad3dConfig& defaultConfig = IS_RESER_LOAD3D_DEFAULT_CONFIG, typename U = T>
NPUKB_API void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                        const LoadData3DParamsV2<U>& loadDataParams) {
    static_assert(npukb::kSame<T, U>, "LoadData: padValue must have the type of the tensors");
    constexpr int keep = (defaultConfig.isSetFMatrix ? 0 : 1) | (defaultConfig.isSetPadding ? 0 : 2);
    npukb_cube_load_image(npukb::DTypeOf<T>::value, &dst.npukb_view, &src.npukb_view,
                          static_cast<const NpukbImageParams*>(&loadDataParams), &loadDataParams.padValue, keep);
}
template <typename T>
NPUKB_API void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                        const LoadData3DParamsV2Pro& loadDataParams) {
    NpukbImageParams image;
    image.channelSize = loadDataParams.channelSize;
    image.enTranspose = loadDataParams.enTranspose;
    image.filterSizeW = loadDataParams.filterSizeW;
    image.filterSizeH = loadDataParams.filterSizeH;
    image.mStartPt = static_cast<uint16_t>(loadDataParams.extConfig >> 48);
    image.kStartPt = static_cast<uint16_t>(loadDataParams.extConfig >> 32);
    image.mExtension = static_cast<uint16_t>(loadDataParams.extConfig >> 16);
    image.kExtension = static_cast<uint16_t>(loadDataParams.extConfig);
    image.dilationFilterH = static_cast<uint8_t>(loadDataParams.filterConfig >> 40);
    image.dilationFilterW = static_cast<uint8_t>(loadDataParams.filterConfig >> 32);
    image.filterH = static_cast<uint8_t>(loadDataParams.filterConfig >> 24);
    image.filterW = static_cast<uint8_t>(loadDataParams.filterConfig >> 16);
    image.strideH = static_cast<uint8_t>(loadDataParams.filterConfig >> 8);
    image.strideW = static_cast<uint8_t>(loadDataParams.filterConfig);
    npukb_cube_load_image(npukb::DTypeOf<T>::value, &dst.npukb_view, &src.npukb_view, &image, nullptr, 3);
}
NPUKB_API void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& fmatrixMode) {
    npukb_cube_feature_map(l1H, l1W, padList, fmatrixMode != FmatrixMode::FMATRIX_LEFT);
}
NPUKB_API void SetLoadDataBoundary(uint32_t boundaryValue) {
    npukb_cube_register(npukb::CubeRegister::LoadBoundary, boundaryValue);
}
template <typename T>
NPUKB_API void SetLoadDataPaddingValue(const T padValue) {
    npukb_cube_register(npukb::CubeRegister::PaddingValue, npukb::RawBits(padValue));
}
NPUKB_API void SetLoadDataRepeat(const LoadDataRepeatParam& repeatParams) {
    npukb_cube_load_repeat(repeatParams.repeatStride, repeatParams.repeatTime, repeatParams.repeatMode);
}

// A matrix of which two elements in four were left out, and the places of those that are there.
template <typename T = int8_t, typename U = uint8_t>
NPUKB_API void LoadDataWithSparse(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<U>& idx,
                                  const LoadData2DParams& loadDataParam) {
    static_assert(npukb::moves::LoadDataWithSparse<T> && npukb::kSame<U, uint8_t>,
                  "LoadDataWithSparse takes int8_t and an index of uint8_t");
    npukb_cube_load_sparse(&dst.npukb_view, &src.npukb_view, &idx.npukb_view, &loadDataParam);
}

template <typename T, typename U = T>
NPUKB_API void Fill(const LocalTensor<T>& dst, const InitConstValueParams<U>& initConstValueParams) {
    using namespace npukb::types;
    static_assert((npukb::kSetOf<T> & (I16 | U16 | F16 | BF16 | I32 | U32 | F32)) != 0,
                  "Fill takes elements of 16 and 32 bits");
    static_assert(npukb::kSame<T, U>, "Fill: initValue must have the type of the tensor");
    npukb_cube_fill(npukb::DTypeOf<T>::value, &dst.npukb_view, &initConstValueParams,
                    npukb::RawBits(initConstValueParams.initValue));
}
template <typename T, typename U = T>
NPUKB_API void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<U>& initConstValueParams) {
    Fill<T, U>(dst, initConstValueParams);
}

// dst = fm · filter, added to what dst, the bias table or nothing holds.
template <typename T, typename U, typename S>
NPUKB_API void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter,
                    const MmadParams& mmadParams) {
    static_assert(npukb::kProduct<T, U, S>,
                  "Mmad multiplies half, bfloat16_t or float into float, and int8_t or int4b_t into int32_t");
    npukb_cube_multiply(npukb::kTypes<npukb::DTypeOf<T>::value, npukb::DTypeOf<U>::value, npukb::DTypeOf<S>::value>,
                        &dst.npukb_view, &fm.npukb_view, &filter.npukb_view, nullptr, &mmadParams, 0);
}
template <typename T, typename U, typename S, typename V>
NPUKB_API void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter,
                    const LocalTensor<V>& bias, const MmadParams& mmadParams) {
    static_assert(npukb::kProduct<T, U, S> && !npukb::kHalfByte<U>,
                  "Mmad with a bias multiplies half, bfloat16_t or float into float, and int8_t into int32_t");
    static_assert(npukb::kSame<T, V>, "Mmad: the bias must have the type of the result");
    npukb_cube_multiply(npukb::kTypes<npukb::DTypeOf<T>::value, npukb::DTypeOf<U>::value, npukb::DTypeOf<S>::value,
                                      npukb::DTypeOf<V>::value>,
                        &dst.npukb_view, &fm.npukb_view, &filter.npukb_view, &bias.npukb_view, &mmadParams, 0);
}
template <typename T = int32_t, typename U = int8_t>
NPUKB_API void MmadWithSparse(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<U>& filter,
                              const MmadParams& mmadParams) {
    static_assert(npukb::moves::MmadWithSparse<T, U>, "MmadWithSparse multiplies int8_t into int32_t");
    npukb_cube_multiply(npukb::kTypes<npukb::DType::I32, npukb::DType::I8, npukb::DType::I8>, &dst.npukb_view,
                        &fm.npukb_view, &filter.npukb_view, nullptr, &mmadParams, 1);
}
NPUKB_API void SetHF32Mode(HF32Mode mode) { npukb_cube_register(npukb::CubeRegister::Hf32, mode == HF32Mode::ENABLE); }
NPUKB_API void SetHF32Mode(bool hf32Mode) { npukb_cube_register(npukb::CubeRegister::Hf32, hf32Mode); }
NPUKB_API void SetHF32TransMode(HF32TransMode mode) {
    npukb_cube_register(npukb::CubeRegister::Hf32Away, mode == HF32TransMode::NEAREST_ZERO);
}
NPUKB_API void SetHF32TransMode(bool hf32TransMode) {
    npukb_cube_register(npukb::CubeRegister::Hf32Away, hf32TransMode);
}
// Which way the unit goes through its result: no result depends on it.
NPUKB_API void SetMMLayoutTransform(bool mmLayoutMode) {
    npukb_cube_register(npukb::CubeRegister::RowMajor, mmLayoutMode);
}
NPUKB_API void SetMMRowMajor() { SetMMLayoutTransform(true); }
NPUKB_API void SetMMColumnMajor() { SetMMLayoutTransform(false); }

// From L0C to global memory or L1, changed on the way.
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
NPUKB_API void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& intriParams) {
    static_assert(npukb::kWayOut<T, U>,
                  "Fixpipe: there is no way from this element type of L0C to that of the destination");
    static_assert(config.format != CO2Layout::COLUMN_MAJOR, "Fixpipe: column-major results are for other chips");
    npukb_cube_fixpipe(npukb::kTypes<npukb::DTypeOf<T>::value, npukb::DTypeOf<U>::value>,
                       config.format == CO2Layout::ROW_MAJOR ? npukb::kStoreRowMajor : 0, &dst, &src.npukb_view,
                       nullptr, &intriParams);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR, typename S = uint64_t>
NPUKB_API void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& cbufWorkspace,
                       const FixpipeParamsV220& intriParams) {
    static_assert(npukb::kWayOut<T, U>,
                  "Fixpipe: there is no way from this element type of L0C to that of the destination");
    static_assert(npukb::kSame<S, uint64_t>, "Fixpipe: scales are of uint64_t");
    npukb_cube_fixpipe(npukb::kTypes<npukb::DTypeOf<T>::value, npukb::DTypeOf<U>::value>,
                       config.format == CO2Layout::ROW_MAJOR ? npukb::kStoreRowMajor : 0, &dst, &src.npukb_view,
                       &cbufWorkspace.npukb_view, &intriParams);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
NPUKB_API void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& intriParams) {
    static_assert(npukb::kWayOut<T, U> && sizeof(T) < 4, "Fixpipe: results in L1 have 8 or 16 bits");
    npukb_cube_fixpipe(npukb::kTypes<npukb::DTypeOf<T>::value, npukb::DTypeOf<U>::value>, npukb::kStoreLocal,
                       &dst.npukb_view, &src.npukb_view, nullptr, &intriParams);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR, typename S = uint64_t>
NPUKB_API void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& cbufWorkspace,
                       const FixpipeParamsV220& intriParams) {
    static_assert(npukb::kWayOut<T, U> && sizeof(T) < 4, "Fixpipe: results in L1 have 8 or 16 bits");
    static_assert(npukb::kSame<S, uint64_t>, "Fixpipe: scales are of uint64_t");
    npukb_cube_fixpipe(npukb::kTypes<npukb::DTypeOf<T>::value, npukb::DTypeOf<U>::value>, npukb::kStoreLocal,
                       &dst.npukb_view, &src.npukb_view, &cbufWorkspace.npukb_view, &intriParams);
}

template <typename T, typename U>
NPUKB_API void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                        const DataCopyCO12DstParams& intriParams) {
    static_assert(npukb::kWayOut<T, U>,
                  "DataCopy: there is no way from this element type of L0C to that of the destination");
    npukb_cube_copy_out(npukb::kTypes<npukb::DTypeOf<T>::value, npukb::DTypeOf<U>::value>, 0, &dst, &src.npukb_view,
                        &intriParams);
}
template <typename T, typename U>
NPUKB_API void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                        const DataCopyCO12DstParams& intriParams) {
    static_assert(npukb::kWayOut<T, U> && sizeof(T) < 4, "DataCopy: results in L1 have 8 or 16 bits");
    npukb_cube_copy_out(npukb::kTypes<npukb::DTypeOf<T>::value, npukb::DTypeOf<U>::value>, npukb::kStoreLocal,
                        &dst.npukb_view, &src.npukb_view, &intriParams);
}
// From L1 to the bias table, where half becomes float.
template <typename T, typename U, std::enable_if_t<!npukb::kSame<T, U>, int> = 0>
NPUKB_API void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& repeatParams) {
    static_assert(npukb::kSame<T, float> && npukb::kSame<U, half>,
                  "DataCopy between two element types makes float of half");
    npukb_cube_copy_convert(npukb::kTypes<npukb::DTypeOf<T>::value, npukb::DTypeOf<U>::value>, &dst.npukb_view,
                            &src.npukb_view, &repeatParams);
}

NPUKB_API void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride, uint16_t dstNdStride) {
    npukb_cube_register(npukb::CubeRegister::NzToNd,
                        ndNum | static_cast<uint64_t>(srcNdStride) << 16 | static_cast<uint64_t>(dstNdStride) << 32);
}
NPUKB_API void SetFixpipePreQuantFlag(uint64_t config) { npukb_cube_register(npukb::CubeRegister::PreQuant, config); }
template <typename T>
NPUKB_API void SetFixPipeConfig(const LocalTensor<T>&, const LocalTensor<T>& quantPre, bool isUnitFlag = false) {
    npukb_cube_fixpipe_config(&quantPre.npukb_view, isUnitFlag);
}
template <typename T, bool setRelu = false>
NPUKB_API void SetFixPipeConfig(const LocalTensor<T>& preData, bool isUnitFlag = false) {
    static_assert(!setRelu, "SetFixPipeConfig takes scales of quantisation only");
    npukb_cube_fixpipe_config(&preData.npukb_view, isUnitFlag);
}

}  // namespace AscendC
