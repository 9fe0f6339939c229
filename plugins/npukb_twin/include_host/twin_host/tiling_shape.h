// Host-side helpers of quantisation, selection and of what changes a tensor's shape.
#pragma once
#include "twin_host/tiling_norm.h"

namespace AscendC {

void GetAscendQuantMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least);
void GetAscendQuantTmpBufferFactorSize(const uint32_t type_size, uint32_t& times, uint32_t& extra);
void GetAscendDequantMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least);
void GetAscendDequantTmpBufferFactorSize(const uint32_t type_size, uint32_t& times, uint32_t& extra);
void GetAscendAntiQuantMaxMinTmpSize(const ge::Shape& shape, const ge::Shape& scale, bool transposed, ge::DataType from,
                                     ge::DataType to, uint32_t& most, uint32_t& least);
void GetAscendAntiQuantTmpBufferFactorSize(const ge::Shape& shape, const ge::Shape& scale, bool transposed,
                                           ge::DataType from, ge::DataType to, uint32_t& times, uint32_t& extra);
void GetDropOutMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse, uint32_t& most,
                             uint32_t& least);
void GetSelectWithBytesMaskMaxMinTmpSize(const ge::Shape& first, const ge::Shape& second, const uint32_t type_size,
                                         const ge::Shape& mask, const uint32_t mask_type_size, const bool reuse_mask,
                                         uint32_t& most, uint32_t& least);
#define NPUKB_SELECT_SIZE(name, size)                                                                                 \
    inline uint32_t name(const ge::Shape& first, const ge::Shape& second, const uint32_t type_size,                   \
                         const ge::Shape& mask, const uint32_t mask_type_size, const bool reuse_mask) {               \
        uint32_t most = 0, least = 0;                                                                                 \
        GetSelectWithBytesMaskMaxMinTmpSize(first, second, type_size, mask, mask_type_size, reuse_mask, most, least); \
        return size;                                                                                                  \
    }
NPUKB_SELECT_SIZE(GetSelectWithBytesMaskMinTmpSize, least)
NPUKB_SELECT_SIZE(GetSelectWithBytesMaskMaxTmpSize, most)
#undef NPUKB_SELECT_SIZE
void GetSelectMaxMinTmpSize(const ge::Shape& first, const ge::Shape& second, const uint32_t type_size,
                            const ge::Shape& mask, const uint32_t mask_type_size, const bool reuse_mask, uint32_t& most,
                            uint32_t& least);
void GetClampMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse, uint32_t& most,
                           uint32_t& least);
void GetClampTmpBufferFactorSize(const uint32_t type_size, uint32_t& times, uint32_t& extra);
void GetMeanTmpBufferFactorSize(const uint32_t type_size, uint32_t& times, uint32_t& extra);
// Arithmetic progressions need no temporary space.
void GetArithProgressionMaxMinTmpSize(uint32_t& most, uint32_t& least);
void GetArangeMaxMinTmpSize(uint32_t& most, uint32_t& least);

void GetPadMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least);
void GetUnPadMaxMinTmpSize(const platform_ascendc::PlatformAscendC& platform, const ge::Shape& shape,
                           const uint32_t type_size, uint32_t& most, uint32_t& least);
template <class T>
void PadTilingFunc(const ge::Shape shape, const ge::Shape original, const uint32_t, const uint32_t, T& out) {
    typename npukb_host::Plain<T>::Type plain;
    const npukb_host::Volume v = npukb_host::VolumeOf(shape, original);
    plain.srcHeight = v.b * v.s, plain.srcWidth = v.h, plain.srcOriWidth = v.original;
    npukb_host::Put(out, plain);
}
template <class T>
void UnPadTilingFunc(const ge::Shape shape, const uint32_t, const uint32_t, T& out) {
    typename npukb_host::Plain<T>::Type plain;
    const npukb_host::Volume v = npukb_host::VolumeOf(shape, shape);
    plain.srcHeight = v.b * v.s, plain.srcWidth = v.h;
    npukb_host::Put(out, plain);
}

// The library's Transpose. Its tensor is (b, n, s, h / n), or (h, w) for the plain one of two axes.
void GetTransposeMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t kind, uint32_t& most,
                               uint32_t& least);
void GetConfusionTransposeMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t kind,
                                        uint32_t& most, uint32_t& least);
template <class T>
void GetTransposeTilingInfo(const ge::Shape& shape, const uint32_t, const uint32_t, const uint32_t, T& out) {
    typename npukb_host::Plain<T>::Type plain;
    uint32_t axes[4] = {1, 1, 1, 1};
    size_t rank = shape.GetDimNum();
    for (size_t i = 0; i < 4 && i < rank; ++i) axes[3 - i] = static_cast<uint32_t>(shape.GetDim(rank - 1 - i));
    plain.param0 = axes[0], plain.param1 = axes[1], plain.param2 = axes[2], plain.param3 = axes[3];
    npukb_host::Put(out, plain);
}
template <class T>
void GetConfusionTransposeTilingInfo(const ge::Shape& shape, const uint32_t space, const uint32_t type_size,
                                     const uint32_t kind, T& out) {
    GetTransposeTilingInfo(shape, space, type_size, kind, out);
}
template <class T>
void GetConfusionTransposeOnlyTilingInfo(const ge::Shape& shape, const uint32_t space, const uint32_t type_size,
                                         T& out) {
    GetTransposeTilingInfo(shape, space, type_size, 7, out);
}

// False where the library does not convert between these formats.
bool GetTransDataMaxMinTmpSize(const platform_ascendc::PlatformAscendC& platform, const ge::Shape& src,
                               const ge::Shape& dst, const ge::DataType type, const TransDataConfig& config,
                               uint32_t& most, uint32_t& least);

}  // namespace AscendC
