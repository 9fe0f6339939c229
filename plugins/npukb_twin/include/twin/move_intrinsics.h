// Intrinsics of data movement and transposition, as kernels call them directly: pointers instead of tensors, every
// number spelled out. The lanes of vector_dup come from the mask register.
#pragma once
#include "copy.h"
#include "transpose.h"
#include "vector.h"

// Address registers: two neighbours hold the sixteen addresses of one operand.
enum ub_addr8_t { VA0, VA1, VA2, VA3, VA4, VA5, VA6, VA7 };

#define NPUKB_BURSTS(name, direction)                                                                     \
    NPUKB_API void name(void* dst, const void* src, uint8_t /*sid*/, npukb::of::intrinsic::nBurst nBurst, \
                        npukb::of::intrinsic::lenBurst lenBurst, uint16_t srcGap, uint16_t dstGap) {      \
        npukb_copy_raw(direction, dst, src, nBurst, lenBurst, srcGap, dstGap);                            \
    }
NPUKB_BURSTS(copy_gm_to_ubuf, npukb::kIn)
NPUKB_BURSTS(copy_ubuf_to_gm, npukb::kOut)
NPUKB_BURSTS(copy_ubuf_to_ubuf, npukb::kInside)
#undef NPUKB_BURSTS

// Bursts of bytes. Padding is counted in elements and has no value.
#define NPUKB_ALIGNED(name, bytes, direction)                                                                       \
    NPUKB_API void name(void* dst, const void* src, uint8_t /*sid*/, npukb::of::intrinsic::nBurst nBurst,           \
                        uint32_t lenBurst, uint8_t leftPaddingNum, uint8_t rightPaddingNum, uint32_t srcGap,        \
                        uint32_t dstGap) {                                                                          \
        npukb_copy_raw_align(bytes, direction, dst, src, nBurst, lenBurst, leftPaddingNum, rightPaddingNum, srcGap, \
                             dstGap);                                                                               \
    }
NPUKB_ALIGNED(copy_gm_to_ubuf_align_b8, 1, npukb::kIn)
NPUKB_ALIGNED(copy_gm_to_ubuf_align_b16, 2, npukb::kIn)
NPUKB_ALIGNED(copy_gm_to_ubuf_align_b32, 4, npukb::kIn)
NPUKB_ALIGNED(copy_ubuf_to_gm_align_b8, 1, npukb::kOut)
NPUKB_ALIGNED(copy_ubuf_to_gm_align_b16, 2, npukb::kOut)
NPUKB_ALIGNED(copy_ubuf_to_gm_align_b32, 4, npukb::kOut)
#undef NPUKB_ALIGNED

template <typename T>
NPUKB_API void vector_dup(T* dst, std::common_type_t<T> value, npukb::of::intrinsic::repeat repeat,
                          uint16_t dstBlockStride, uint16_t /*srcBlockStride*/, uint8_t dstRepeatStride,
                          uint8_t /*srcRepeatStride*/) {
    using namespace npukb::types;
    static_assert((npukb::kSetOf<T> & (F16 | BF16 | I16 | U16 | F32 | I32 | U32)) != 0,
                  "vector_dup takes elements of 16 and 32 bits");
    npukb::VectorInstruction v = npukb::Masked(npukb::Op::Duplicate, nullptr, repeat, false);
    v.scalar = npukb::RawBits(value);
    npukb::BufferView rest;
    npukb_ub_rest(&rest, dst);
    npukb::Issue(v, npukb::Operand{dst, rest.bytes, dstBlockStride, dstRepeatStride, npukb::DTypeOf<T>::value},
                 npukb::Operand{});
}

NPUKB_API void set_va_reg_sb(ub_addr8_t va, uint64_t* addresses) { npukb_address_registers(va, addresses); }
NPUKB_API void scatter_vnchwconv_b16(ub_addr8_t dst, ub_addr8_t src, npukb::of::intrinsic::repeat repeat,
                                     uint16_t dstStride, uint16_t srcStride) {
    AscendC::TransDataTo5HDParams params(false, false, repeat, dstStride, srcStride);
    npukb_transpose_registers(2, dst, src, &params);
}
NPUKB_API void scatter_vnchwconv_b32(ub_addr8_t dst, ub_addr8_t src, npukb::of::intrinsic::repeat repeat,
                                     uint16_t dstStride, uint16_t srcStride) {
    AscendC::TransDataTo5HDParams params(false, false, repeat, dstStride, srcStride);
    npukb_transpose_registers(4, dst, src, &params);
}
NPUKB_API void scatter_vnchwconv_b8(ub_addr8_t dst, ub_addr8_t src, npukb::of::intrinsic::repeat repeat,
                                    uint16_t dstStride, uint16_t srcStride, bool dstHighHalf, bool srcHighHalf) {
    AscendC::TransDataTo5HDParams params(dstHighHalf, srcHighHalf, repeat, dstStride, srcStride);
    npukb_transpose_registers(1, dst, src, &params);
}
template <typename T>
NPUKB_API void vtranspose(T* dst, T* src) {
    static_assert(sizeof(T) == 2, "vtranspose takes elements of 16 bits");
    npukb::BufferView to, from;
    npukb_ub_rest(&to, dst);
    npukb_ub_rest(&from, src);
    AscendC::TransposeParamsExt params(0, 0, 16, 16, AscendC::TransposeType::TRANSPOSE_ND2ND_B16);
    npukb_transpose(2, &to, &from, nullptr, &params);
}

#define NPUKB_ATOMIC_MODE(name, mode) \
    NPUKB_API void name() { npukb_atomic(npukb::AtomicMode::mode, static_cast<npukb::DType>(npukb_atomic_state(1))); }
NPUKB_ATOMIC_MODE(set_atomic_none, None)
NPUKB_ATOMIC_MODE(set_atomic_add, Add)
NPUKB_ATOMIC_MODE(set_atomic_max, Max)
NPUKB_ATOMIC_MODE(set_atomic_min, Min)
#undef NPUKB_ATOMIC_MODE
#define NPUKB_ATOMIC_TYPE(name, type) \
    NPUKB_API void name() { npukb_atomic_type(npukb::DType::type); }
NPUKB_ATOMIC_TYPE(set_atomic_f32, F32)
NPUKB_ATOMIC_TYPE(set_atomic_f16, F16)
NPUKB_ATOMIC_TYPE(set_atomic_bf16, BF16)
NPUKB_ATOMIC_TYPE(set_atomic_s32, I32)
NPUKB_ATOMIC_TYPE(set_atomic_s16, I16)
NPUKB_ATOMIC_TYPE(set_atomic_s8, I8)
#undef NPUKB_ATOMIC_TYPE
