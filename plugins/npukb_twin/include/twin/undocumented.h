// Names that kernels of public repositories use and that no page of the documentation describes. They are written from
// their use and their name. The driver includes this where a kernel mentions one of them and does not define it itself,
// and says which of them become part of AscendC or of the global namespace (borrowed_names.py).
#pragma once
#include "cube/cube.h"

namespace npukb_undocumented {

// How many pieces of size b cover a; 0 for b = 0.
// The empty pack makes a kernel's own function of the name the better one for the same call.
template <typename T, typename U, typename... None, typename = std::enable_if_t<sizeof...(None) == 0>>
NPUKB_API constexpr auto CeilDiv(T a, U b, None...) -> decltype(a / b) {
    static_assert(std::is_integral_v<T> && std::is_integral_v<U>, "CeilDiv divides integers");
    using Both = decltype(a / b);
    if (b == 0) return 0;
    return static_cast<Both>(static_cast<Both>(a) + static_cast<Both>(b) - 1) / static_cast<Both>(b);
}
template <typename T, typename U, typename = std::enable_if_t<std::is_integral_v<T> && std::is_integral_v<U>>>
NPUKB_API constexpr auto Ceil(T a, U b) -> decltype(a / b) {
    return CeilDiv(a, b);
}
// The smallest multiple of b that is not below a.
template <typename T, typename U>
NPUKB_API constexpr auto CeilAlign(T a, U b) -> decltype(a / b) {
    return CeilDiv(a, b) * b;
}

template <typename T, typename U>
NPUKB_API constexpr auto Align(T a, U b) -> decltype(a / b) {
    return CeilAlign(a, b);
}

// What a test of a type's members answers.
struct TrueType {};
struct FalseType {};

// The bits of an element, as an integer of its size.
template <typename T>
NPUKB_API auto GetScalarBitcodeValue(T value) {
    using Bits = std::conditional_t<sizeof(T) == 1, uint8_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;
    static_assert(sizeof(T) <= sizeof(uint32_t), "GetScalarBitcodeValue takes elements of up to four bytes");
    return __builtin_bit_cast(Bits, value);
}

// A mask with every bit, and what DataCopy does without parameters.
inline constexpr uint64_t FULL_MASK = ~uint64_t{0};
inline constexpr uint16_t DEFAULT_DATA_COPY_NBURST = 1;
inline constexpr uint16_t DEFAULT_DATA_COPY_STRIDE = 0;

// Elements of four bytes, in a block and in a repeat.
inline constexpr uint32_t B32_BYTE_SIZE = 4;
inline constexpr uint32_t B32_DATA_NUM_PER_BLOCK = 8;
inline constexpr uint32_t B32_DATA_NUM_PER_REPEAT = 64;

// What kernels divide by to halve.
inline constexpr uint32_t HALF_FACTOR = 2;

// Flags between cores above those that pages give to kernels. Which number is whose is not known.
inline constexpr uint16_t SYNC_AIC_FLAG = 11;
inline constexpr uint16_t SYNC_AIV_FLAG = 12;
inline constexpr uint16_t SYNC_AIC_AIV_FLAG = 13;
inline constexpr uint16_t SYNC_AIV_ONLY_ALL = 14;

// Bytes of one row of a fractal, and of the memories of a core.
inline constexpr uint32_t DEFAULT_C0_SIZE = 32;
inline constexpr uint32_t TOTAL_UB_SIZE = 192 * 1024;
inline constexpr uint32_t TOTAL_L1_SIZE = 512 * 1024;
inline constexpr uint32_t TOTAL_L0A_SIZE = 64 * 1024;
inline constexpr uint32_t TOTAL_L0B_SIZE = 64 * 1024;
inline constexpr uint32_t TOTAL_L0C_SIZE = 128 * 1024;

// Bits of float values: kernels read them through a pointer to float.
inline constexpr uint32_t F32_INF = 0x7f800000;
inline constexpr uint32_t F32_NEG_INF = 0xff800000;

// How Fixpipe was told on earlier chips. Kernels for several chips name it; a call is an error here.
template <typename T>
struct FixpipeParams {
    struct Matrices {
        bool nz2ndEn = false;
        uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0, originalNSize = 0;
    };
    struct Quantization {
        QuantMode_t quantPre = QuantMode_t::NoQuant;
        uint64_t deqScalar = 0;
    };
    constexpr FixpipeParams() = default;
    constexpr FixpipeParams(uint16_t count, uint16_t length, uint16_t srcGap, uint32_t dstGap)
        : cburstNum(count), burstLen(length), srcStride(srcGap), dstStride(dstGap) {}
    uint16_t cburstNum = 0, burstLen = 0, srcStride = 0;
    uint32_t dstStride = 0;
    Quantization quantParams;
    bool reluEn = false;
    uint8_t unitFlag = 0;
    Matrices nz2ndParams;
};
// Where flags between cores lie. The twin's lie nowhere, so the address has no effect.
NPUKB_API void SetSyncBaseAddr(uint64_t) {}
NPUKB_API void set_ffts_base_addr(uint64_t) {}

// Other names of CrossCoreWaitFlag and CrossCoreSetFlag. Mode and flag are packed into one word.
NPUKB_API void WaitEvent(uint16_t flagId) { npukb_core_flag_wait(0, flagId); }
NPUKB_API void wait_flag_dev(uint16_t flagId) { npukb_core_flag_wait(0, flagId); }
// Between the cores of one group.
template <pipe_t pipe>
NPUKB_API void NotifyEvent(uint16_t flagId) {
    npukb_core_flag_set(2, static_cast<npukb::Pipe>(pipe), flagId);
}
NPUKB_API constexpr uint16_t GetffstMsg(uint16_t mode, uint16_t flagId) {
    return static_cast<uint16_t>(1 | (mode << 4) | (flagId << 8));
}
NPUKB_API void ffts_cross_core_sync(pipe_t pipe, uint64_t config) {
    npukb_core_flag_set((config >> 4) & 3, static_cast<npukb::Pipe>(pipe), (config >> 8) & 15);
}

NPUKB_API int64_t clz(uint64_t value) { return value == 0 ? 64 : __builtin_clzll(value); }
NPUKB_API void icache_preload(int64_t) { npukb_cache_hint(1); }
NPUKB_API void PRELOAD(int64_t) { npukb_cache_hint(1); }

// Another name of SetLoadDataPaddingValue: the bits of the element.
NPUKB_API void set_padding(uint64_t bits) { npukb_cube_register(npukb::CubeRegister::PaddingValue, bits); }

// Reads as the number of blocks, beside block_idx.
struct BlockCount {
    NPUKB_API operator int64_t() const { return npukb_block_num(); }
};
inline constexpr BlockCount block_num{};

// Element types of other chips: one that is named has its size, one that is used is an error.
#define NPUKB_OTHER_CHIPS(name) \
    struct name {               \
        name() = delete;        \
        uint8_t bits;           \
    };
NPUKB_OTHER_CHIPS(fp8_e4m3fn_t)
NPUKB_OTHER_CHIPS(fp8_e5m2_t)
NPUKB_OTHER_CHIPS(fp8_e8m0_t)
NPUKB_OTHER_CHIPS(hifloat8_t)
NPUKB_OTHER_CHIPS(fp4x2_e2m1_t)
NPUKB_OTHER_CHIPS(fp4x2_e1m2_t)
NPUKB_OTHER_CHIPS(int4x2_t)
#undef NPUKB_OTHER_CHIPS

}  // namespace npukb_undocumented

namespace AscendC {
// Not defined: what calls one does not link.
template <typename To, typename From, typename T>
void Fixpipe(const To& dst, const From& src, const npukb_undocumented::FixpipeParams<T>& params);
template <typename To, typename From, typename Scales, typename T>
void Fixpipe(const To& dst, const From& src, const Scales& scales, const npukb_undocumented::FixpipeParams<T>& params);
}  // namespace AscendC
