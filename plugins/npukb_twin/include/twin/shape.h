// Library functions that change the shape of a tensor: Broadcast, Pad, UnPad.
#pragma once
#include "tensor.h"
#include "tiling_structs.h"

namespace AscendC {

struct PadParams {
    npukb::of::PadParams::leftPad leftPad = 0;
    npukb::of::PadParams::rightPad rightPad = 0;
    int32_t padValue = 0;
};
struct UnPadParams {
    npukb::of::UnPadParams::leftPad leftPad = 0;
    npukb::of::UnPadParams::rightPad rightPad = 0;
};

// Repeats the axis that has one element in src and more in dst.
#define NPUKB_BROADCAST(name)                                                                                         \
    template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>                                      \
    NPUKB_API void name(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dstShape[dim], \
                        const uint32_t srcShape[dim], LocalTensor<uint8_t>& sharedTmpBuffer) {                        \
        NPUKB_BROADCAST_TYPES(name);                                                                                  \
        npukb_broadcast(npukb::DTypeOf<T>::value, &dstLocal.npukb_view, &srcLocal.npukb_view,                         \
                        &sharedTmpBuffer.npukb_view, dstShape, srcShape,                                              \
                        static_cast<uint32_t>(dim) << 8 | static_cast<uint32_t>(axis));                               \
    }                                                                                                                 \
    template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>                                      \
    NPUKB_API void name(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dstShape[dim], \
                        const uint32_t srcShape[dim]) {                                                               \
        NPUKB_BROADCAST_TYPES(name);                                                                                  \
        npukb_broadcast(npukb::DTypeOf<T>::value, &dstLocal.npukb_view, &srcLocal.npukb_view, nullptr, dstShape,      \
                        srcShape, static_cast<uint32_t>(dim) << 8 | static_cast<uint32_t>(axis));                     \
    }
#define NPUKB_BROADCAST_TYPES(name)                                                                                \
    using namespace npukb::types;                                                                                  \
    static_assert((npukb::kSetOf<T> & (I8 | U8 | F16 | F32)) != 0, #name " takes int8_t, uint8_t, half or float"); \
    static_assert(dim == 1 || dim == 2, #name " takes tensors of one or two dimensions");                          \
    static_assert(axis >= 0 && axis < dim, #name ": the axis must be one of the dimensions")
NPUKB_BROADCAST(Broadcast)
NPUKB_BROADCAST(BroadCast)
#undef NPUKB_BROADCAST
#undef NPUKB_BROADCAST_TYPES

// Pad widens rows to a multiple of 32 bytes; UnPad cuts columns off on the right.
#define NPUKB_PAD(name, function, params_type, tiling_type)                                                           \
    template <typename T>                                                                                             \
    NPUKB_API void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, params_type& params,        \
                        const LocalTensor<uint8_t>& sharedTmpBuffer, tiling_type& tiling) {                           \
        using namespace npukb::types;                                                                                 \
        static_assert((npukb::kSetOf<T> & (I16 | U16 | F16 | I32 | U32 | F32)) != 0,                                  \
                      #name " takes elements of 16 and 32 bits");                                                     \
        function(npukb::DTypeOf<T>::value, &dstTensor.npukb_view, &srcTensor.npukb_view, &sharedTmpBuffer.npukb_view, \
                 &params, &tiling);                                                                                   \
    }                                                                                                                 \
    template <typename T>                                                                                             \
    NPUKB_API void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, params_type& params,        \
                        tiling_type& tiling) {                                                                        \
        using namespace npukb::types;                                                                                 \
        static_assert((npukb::kSetOf<T> & (I16 | U16 | F16 | I32 | U32 | F32)) != 0,                                  \
                      #name " takes elements of 16 and 32 bits");                                                     \
        function(npukb::DTypeOf<T>::value, &dstTensor.npukb_view, &srcTensor.npukb_view, nullptr, &params, &tiling);  \
    }
NPUKB_PAD(Pad, npukb_pad, PadParams, PadTiling)
NPUKB_PAD(UnPad, npukb_unpad, UnPadParams, UnPadTiling)
#undef NPUKB_PAD

}  // namespace AscendC
