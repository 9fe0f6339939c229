// Host-side helpers of normalisation and sorting. The device library takes the shape out of the structures and cuts the
// work as it likes, so that the shape is what is filled in.
#pragma once
#include "twin_host/tiling_api.h"

namespace npukb_host {
// A tensor (b, s, h), of which the last `original` of h count.
struct Volume {
    uint32_t b, s, h, original;
};
Volume VolumeOf(const ge::Shape& shape, const ge::Shape& original);

template <class T>
void PutVolume(T& out, const Volume& v) {
    typename Plain<T>::Type plain;
    plain.bLength = v.b, plain.sLength = v.s, plain.hLength = v.h, plain.originalHLength = v.original;
    Put(out, plain);
}
}  // namespace npukb_host

namespace AscendC {

void GetLayerNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse, uint32_t& most,
                               uint32_t& least);
void GetLayerNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse, const bool rstd,
                               const bool only_output, uint32_t& most, uint32_t& least);
void GetLayerNormGradMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse, uint32_t& most,
                                   uint32_t& least);
void GetLayerNormGradBetaMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse,
                                       uint32_t& most, uint32_t& least);
bool GetRmsNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least,
                             const bool basic_block = false);
bool GetBatchNormMaxMinTmpSize(const ge::Shape& shape, const ge::Shape& original, const uint32_t type_size,
                               const bool reuse, uint32_t& most, uint32_t& least, const bool basic_block = false);
bool GetDeepNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse,
                              const bool basic_block, uint32_t& most, uint32_t& least);
void GetGroupNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse,
                               const uint32_t groups, uint32_t& most, uint32_t& least);

template <class T>
void GetLayerNormNDTilingInfo(const ge::Shape& shape, const uint32_t, const uint32_t, const bool, T& out) {
    npukb_host::PutVolume(out, npukb_host::VolumeOf(shape, shape));
}
// The form with separate statistics: rows a, row length r.
template <class T>
void GetLayerNormNDTilingInfo(const ge::Shape& shape, const uint32_t, const uint32_t, const bool, const bool, T& out) {
    const npukb_host::Volume v = npukb_host::VolumeOf(shape, shape);
    typename npukb_host::Plain<T>::Type plain;
    plain.aLength = v.b * v.s, plain.rLength = v.h;
    npukb_host::Put(out, plain);
}
template <class T>
void GetLayerNormNDTillingInfo(const ge::Shape& shape, const uint32_t space, const uint32_t type_size, const bool reuse,
                               T& out) {
    GetLayerNormNDTilingInfo(shape, space, type_size, reuse, out);
}
template <class T>
void GetLayerNormGradNDTilingInfo(const ge::Shape& shape, const uint32_t, const uint32_t, const bool, T& out) {
    npukb_host::PutVolume(out, npukb_host::VolumeOf(shape, shape));
}
template <class T>
void GetLayerNormGradBetaNDTilingInfo(const ge::Shape& shape, const uint32_t, const uint32_t, const bool, T& out) {
    npukb_host::PutVolume(out, npukb_host::VolumeOf(shape, shape));
}
template <class T>
bool GetRmsNormTilingInfo(const ge::Shape& shape, const ge::Shape& original, const uint32_t, const uint32_t, T& out,
                          const bool = false) {
    npukb_host::PutVolume(out, npukb_host::VolumeOf(shape, original));
    return true;
}
template <class T>
bool GetDeepNormTilingInfo(const ge::Shape& shape, const ge::Shape& original, const uint32_t, const uint32_t,
                           const bool, const bool, T& out) {
    npukb_host::PutVolume(out, npukb_host::VolumeOf(shape, original));
    return true;
}
template <class T>
bool GetBatchNormNDTilingInfo(const ge::Shape& shape, const ge::Shape& original, const uint32_t, const uint32_t,
                              const bool, T& out, const bool = false) {
    const npukb_host::Volume v = npukb_host::VolumeOf(shape, original);
    typename npukb_host::Plain<T>::Type plain;
    plain.originalBLength = static_cast<uint32_t>(original.GetDim(0));
    plain.meanVarSize = v.s * v.h;
    npukb_host::Put(out, plain);
    return true;
}
void GetNormalizeMaxMinTmpSize(const ge::Shape& shape, const uint32_t statistic_size, const uint32_t type_size,
                               const bool reuse, const bool rstd, const bool only_output, uint32_t& most,
                               uint32_t& least);
void GetWelfordUpdateMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t statistic_size,
                                   const bool reuse, const bool in_place, uint32_t& most, uint32_t& least);
void GetWelfordFinalizeMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool reuse, uint32_t& most,
                                     uint32_t& least);

// Shape (n, c, h, w): rows of h * w, padded to whole blocks.
template <class T>
void GetGroupNormNDTilingInfo(const ge::Shape& shape, const uint32_t, const uint32_t type_size, const bool,
                              const uint32_t groups, T& out) {
    typename npukb_host::Plain<T>::Type plain;
    const uint32_t lanes = 32 / (type_size == 0 ? 1 : type_size);
    plain.n = static_cast<uint32_t>(shape.GetDim(0)), plain.c = static_cast<uint32_t>(shape.GetDim(1));
    plain.hw = static_cast<uint32_t>(shape.GetDim(2) * shape.GetDim(3));
    plain.g = groups, plain.d = groups == 0 ? 0 : plain.c / groups;
    plain.hwAlignSize = (plain.hw + lanes - 1) / lanes * lanes;
    plain.dhwAlignSize = plain.d * plain.hwAlignSize;
    npukb_host::Put(out, plain);
}

bool GetTopKMaxMinTmpSize(const platform_ascendc::PlatformAscendC& platform, const int32_t inner, const int32_t outer,
                          const bool reuse, const bool with_index, TopKMode mode, const bool largest,
                          const uint32_t type_size, uint32_t& most, uint32_t& least);
template <class T>
bool TopKTilingFunc(const platform_ascendc::PlatformAscendC&, const int32_t inner, const int32_t outer, const int32_t,
                    const uint32_t, const bool, TopKMode, const bool, T& out) {
    typename npukb_host::Plain<T>::Type plain;
    plain.allDataSize = inner * outer, plain.innerDataSize = inner,
    plain.sortRepeat = static_cast<uint32_t>(inner / 32);
    npukb_host::Put(out, plain);
    return true;
}
uint32_t GetSortTmpSize(const platform_ascendc::PlatformAscendC& platform, const uint32_t elements,
                        const uint32_t type_size);
uint32_t GetConcatTmpSize(const platform_ascendc::PlatformAscendC& platform, const uint32_t elements,
                          const uint32_t type_size);

}  // namespace AscendC
