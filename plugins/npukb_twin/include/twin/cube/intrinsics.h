// Intrinsics of the cube core, as kernels call them directly: pointers instead of tensors, every number spelled out.
#pragma once
#include "cube.h"

enum addr_cal_mode_t { inc, dec };

namespace npukb {

// What is known of a raw pointer: no memory of a cube core is larger.
NPUKB_API BufferView Beyond(const void* address) { return {const_cast<void*>(address), 1u << 19, 0, 0}; }
NPUKB_API GlobalView Anywhere(const void* address) { return {const_cast<void*>(address), 0, nullptr}; }

}  // namespace npukb

NPUKB_API void copy_gm_to_cbuf(void* dst, const void* src, uint8_t /*sid*/, npukb::of::intrinsic::nBurst nBurst,
                               npukb::of::intrinsic::lenBurst lenBurst, uint16_t srcGap, uint16_t dstGap,
                               pad_t = pad_t::PAD_NONE) {
    npukb_copy_raw(npukb::kIn, dst, src, nBurst, lenBurst, srcGap, dstGap);
}
NPUKB_API void copy_cbuf_to_gm(void* dst, const void* src, uint8_t /*sid*/, npukb::of::intrinsic::nBurst nBurst,
                               npukb::of::intrinsic::lenBurst lenBurst, uint16_t srcGap, uint16_t dstGap) {
    npukb_copy_raw(npukb::kOut, dst, src, nBurst, lenBurst, srcGap, dstGap);
}

#define NPUKB_ND2NZ(name, bytes)                                                                                       \
    NPUKB_API void name(void* dst, const void* src, uint8_t /*sid*/, npukb::of::intrinsic::ndNum ndNum,                \
                        npukb::of::intrinsic::nValue nValue, npukb::of::intrinsic::dValue dValue,                      \
                        uint16_t srcNdMatrixStride, uint16_t srcDValue, uint16_t dstNzC0Stride, uint16_t dstNzNStride, \
                        uint16_t dstNzMatrixStride) {                                                                  \
        AscendC::Nd2NzParams params(ndNum, nValue, dValue, srcNdMatrixStride, srcDValue, dstNzC0Stride, dstNzNStride,  \
                                    dstNzMatrixStride);                                                                \
        npukb::BufferView to = npukb::Beyond(dst);                                                                     \
        npukb::GlobalView from = npukb::Anywhere(src);                                                                 \
        npukb_copy_nd2nz(bytes, &to, &from, &params);                                                                  \
    }
NPUKB_ND2NZ(copy_gm_to_cbuf_multi_nd2nz_b8, 1)
NPUKB_ND2NZ(copy_gm_to_cbuf_multi_nd2nz_b16, 2)
NPUKB_ND2NZ(copy_gm_to_cbuf_multi_nd2nz_b32s, 4)
#undef NPUKB_ND2NZ

#define NPUKB_LOAD(name, from_global)                                                                               \
    template <typename T>                                                                                           \
    NPUKB_API void name(T* dst, T* src, npukb::of::intrinsic::baseIdx baseIdx, npukb::of::intrinsic::repeat repeat, \
                        uint16_t srcStride, uint16_t dstGap, uint8_t sid, bool transpose,                           \
                        addr_cal_mode_t mode = addr_cal_mode_t::inc) {                                              \
        AscendC::LoadData2DParams params(baseIdx, repeat, srcStride, sid, dstGap, transpose,                        \
                                         static_cast<uint8_t>(mode));                                               \
        npukb::BufferView to = npukb::Beyond(dst), local = npukb::Beyond(src);                                      \
        npukb::GlobalView global = npukb::Anywhere(src);                                                            \
        const void* from = from_global ? static_cast<const void*>(&global) : &local;                                \
        npukb_cube_load(npukb::DTypeOf<T>::value, &to, from, from_global, &params);                                 \
    }
NPUKB_LOAD(load_cbuf_to_ca, 0)
NPUKB_LOAD(load_cbuf_to_cb, 0)
NPUKB_LOAD(load_gm_to_ca, 1)
NPUKB_LOAD(load_gm_to_cb, 1)
NPUKB_LOAD(load_gm_to_cbuf, 1)
#undef NPUKB_LOAD

#define NPUKB_LOAD_TRANSPOSED(name)                                                                                 \
    template <typename T>                                                                                           \
    NPUKB_API void name(T* dst, T* src, npukb::of::intrinsic::indexID indexID, npukb::of::intrinsic::repeat repeat, \
                        uint16_t srcStride, uint16_t dstGap, bool addrmode, uint16_t dstFracGap) {                  \
        AscendC::LoadData2dTransposeParams params(indexID, repeat, srcStride, dstGap, dstFracGap, addrmode);        \
        npukb::BufferView to = npukb::Beyond(dst), from = npukb::Beyond(src);                                       \
        npukb_cube_load_transposed(npukb::DTypeOf<T>::value, &to, &from, &params);                                  \
    }
NPUKB_LOAD_TRANSPOSED(load_cbuf_to_ca_transpose)
NPUKB_LOAD_TRANSPOSED(load_cbuf_to_cb_transpose)
#undef NPUKB_LOAD_TRANSPOSED

template <typename C, typename T>
NPUKB_API void mad(C* c, T* a, T* b, npukb::of::intrinsic::m m, npukb::of::intrinsic::k k, npukb::of::intrinsic::n n,
                   npukb::of::intrinsic::unitFlag unitFlag, bool kDirectionAlign, bool cmatrixSource,
                   bool cmatrixInitVal) {
    static_assert(npukb::kProduct<C, T, T>,
                  "mad multiplies half, bfloat16_t or float into float, and int8_t into int32_t");
    AscendC::MmadParams params(m, n, k, unitFlag, cmatrixSource, cmatrixInitVal);
    params.kDirectionAlign = kDirectionAlign;
    npukb::BufferView to = npukb::Beyond(c), left = npukb::Beyond(a), right = npukb::Beyond(b);
    npukb_cube_multiply(npukb::kTypes<npukb::DTypeOf<C>::value, npukb::DTypeOf<T>::value, npukb::DTypeOf<T>::value>,
                        &to, &left, &right, nullptr, &params, 0);
}
template <typename C, typename T>
NPUKB_API void mad(C* c, T* a, T* b, npukb::of::intrinsic::m m, npukb::of::intrinsic::k k, npukb::of::intrinsic::n n,
                   bool init_val_controlC) {
    mad(c, a, b, m, k, n, 0, false, false, init_val_controlC);
}

#define NPUKB_WAY_OUT(name, flags, view)                                                                              \
    template <typename D, typename S>                                                                                 \
    NPUKB_API void name(D* dst, S* src, uint8_t /*sid*/, npukb::of::intrinsic::NSize NSize,                           \
                        npukb::of::intrinsic::MSize MSize, uint32_t dstStride_dst_D, uint16_t srcStride,              \
                        uint8_t UnitFlagMode, uint64_t QuantPRE, uint8_t ReLUPRE, bool channelSplit, bool NZ2ND_EN) { \
        static_assert(npukb::kWayOut<D, S>, #name ": there is no way from this element type of L0C to that of dst");  \
        AscendC::DataCopyCO12DstParams params(NSize, MSize, dstStride_dst_D, srcStride,                               \
                                              static_cast<QuantMode_t>(QuantPRE), ReLUPRE, channelSplit, NZ2ND_EN);   \
        params.unitFlag = UnitFlagMode;                                                                               \
        auto to = npukb::view(dst);                                                                                   \
        npukb::BufferView from = npukb::Beyond(src);                                                                  \
        npukb_cube_copy_out(npukb::kTypes<npukb::DTypeOf<D>::value, npukb::DTypeOf<S>::value>, flags, &to, &from,     \
                            &params);                                                                                 \
    }
NPUKB_WAY_OUT(copy_matrix_cc_to_gm, 0, Anywhere)
NPUKB_WAY_OUT(copy_matrix_cc_to_cbuf, npukb::kStoreLocal, Beyond)
#undef NPUKB_WAY_OUT

NPUKB_API void set_nd_para(uint64_t config) { npukb_cube_register(npukb::CubeRegister::NzToNd, config); }
NPUKB_API void set_quant_pre(uint64_t config) { npukb_cube_register(npukb::CubeRegister::PreQuant, config); }
