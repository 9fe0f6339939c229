// Scalar types, qualifiers and enumerations of Ascend C.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "narrow.h"

#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#ifndef __restrict__
#define __restrict__ __restrict
#endif
// The driver compiles a kernel once per kind of core that runs it: 0 for vector cores, 1 for cube cores.
#ifndef NPUKB_CORE_KIND
#define NPUKB_CORE_KIND 0
#endif
#if NPUKB_CORE_KIND == 1
#define __DAV_C220_CUBE__ 1
#else
#define __DAV_C220_VEC__ 1
#endif
#define __CCE_AICORE__ 220
#define __NPU_ARCH__ 2201
#define ASCENDC_CPU_DEBUG 1
#define ASSERT(...)
#define GM_ADDR uint8_t*

// API wrappers are inlined without a location of their own, so that what they call is attributed to the candidate's
// line.
#if defined(__clang__)
#define NPUKB_API __attribute__((always_inline, nodebug)) inline
#else
#define NPUKB_API __attribute__((always_inline, artificial)) inline
#endif

// The functions that most kernels call are compiled once, into the runtime (process/api_instances.cpp): a kernel sees
// their declarations, and a call costs its compiler a call. What they take is checked by a default template argument.
#define NPUKB_ONCE __attribute__((visibility("default")))
#if defined(NPUKB_INSTANCES)
#define NPUKB_BODY(...) __VA_ARGS__
#else
#define NPUKB_BODY(...) ;
#endif

#if defined(__clang__) || __GNUC__ >= 13
typedef _Float16 half;
#else
#include "half_fallback.h"
#endif
typedef half float16_t;
typedef float float32_t;

// Brain float: a storage type with conversions; the scalar and vector units do no arithmetic in it.
struct NPUKB_ONCE bfloat16_t {
    uint16_t bits;
    bfloat16_t() = default;
    NPUKB_API explicit bfloat16_t(float value) : bits(Nearest(value)) {}
    NPUKB_API explicit bfloat16_t(double value) : bfloat16_t(static_cast<float>(value)) {}
    NPUKB_API bfloat16_t(int value) : bfloat16_t(static_cast<float>(value)) {}
    NPUKB_API explicit bfloat16_t(int64_t value) : bfloat16_t(static_cast<float>(value)) {}
    NPUKB_API explicit bfloat16_t(half value) : bfloat16_t(static_cast<float>(value)) {}
    NPUKB_API operator float() const {
        uint32_t wide = static_cast<uint32_t>(bits) << 16;
        float value;
        __builtin_memcpy(&value, &wide, 4);
        return value;
    }

  private:
    NPUKB_API static uint16_t Nearest(float value) {
        uint32_t wide;
        __builtin_memcpy(&wide, &value, 4);
        if ((wide & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((wide >> 16) | 0x40);
        return static_cast<uint16_t>((wide + 0x7fffu + ((wide >> 16) & 1)) >> 16);
    }
};

// Complex numbers are stored and moved; the vector unit sees their parts.
struct NPUKB_ONCE complex32 {
    half real, imag;
};
struct NPUKB_ONCE complex64 {
    float real, imag;
};
struct NPUKB_ONCE complex128 {
    double real, imag;
};

enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL };
enum pad_t : uint8_t {
    PAD_NONE,
    PAD_MODE1,
    PAD_MODE2,
    PAD_MODE3,
    PAD_MODE4,
    PAD_MODE5,
    PAD_MODE6,
    PAD_MODE7,
    PAD_MODE8
};
enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };
typedef int8_t TEventID;

namespace AscendC {

// Four-bit integers: tensors hold two of them a byte, the first in the low half. Only whole bytes can be addressed.
struct NPUKB_ONCE int4b_t {
    uint8_t bits;
};

}  // namespace AscendC

namespace npukb {

template <typename A, typename B>
inline constexpr bool kSame = false;
template <typename A>
inline constexpr bool kSame<A, A> = true;

template <typename T>
struct DTypeOf;
#define NPUKB_DTYPE(type, tag)                     \
    template <>                                    \
    struct DTypeOf<type> {                         \
        static constexpr DType value = DType::tag; \
    }
NPUKB_DTYPE(half, F16);
NPUKB_DTYPE(bfloat16_t, BF16);
NPUKB_DTYPE(float, F32);
NPUKB_DTYPE(int8_t, I8);
NPUKB_DTYPE(uint8_t, U8);
NPUKB_DTYPE(bool, U8);
NPUKB_DTYPE(int16_t, I16);
NPUKB_DTYPE(uint16_t, U16);
NPUKB_DTYPE(int32_t, I32);
NPUKB_DTYPE(uint32_t, U32);
NPUKB_DTYPE(int64_t, I64);
NPUKB_DTYPE(uint64_t, U64);
NPUKB_DTYPE(AscendC::int4b_t, I4);
#undef NPUKB_DTYPE

// Sets of element types, as written in instructions.def.
namespace types {
inline constexpr uint32_t F16 = 1u << 0, BF16 = 1u << 1, F32 = 1u << 2, I8 = 1u << 3, U8 = 1u << 4, I16 = 1u << 5,
                          U16 = 1u << 6, I32 = 1u << 7, U32 = 1u << 8, I64 = 1u << 9, U64 = 1u << 10, I4 = 1u << 11;

// For each type of dst the set of types that its sources may have.
struct Pairs {
    uint32_t sources[12];
};
NPUKB_API constexpr Pairs Into(uint32_t dst, uint32_t src) {
    Pairs pairs{};
    for (uint32_t type = 0; type < 12; ++type) pairs.sources[type] = (dst >> type & 1) != 0 ? src : 0;
    return pairs;
}
NPUKB_API constexpr Pairs operator|(Pairs a, const Pairs& b) {
    for (uint32_t type = 0; type < 12; ++type) a.sources[type] |= b.sources[type];
    return a;
}

// The pairs of casts.def.
struct CastPairs {};
inline constexpr CastPairs Casts{};
}  // namespace types

template <typename T>
inline constexpr uint32_t kSetOf = 1u << static_cast<uint32_t>(DTypeOf<T>::value);

template <>
inline constexpr uint32_t kSetOf<double> = 0;  // stored and moved, like complex numbers

// Whether the types column of a row has T for dst and U for the sources.
template <typename T, typename U>
NPUKB_API constexpr bool Takes(uint32_t set) {
    return kSame<T, U> && (kSetOf<T> & set) != 0;
}
template <typename T, typename U>
NPUKB_API constexpr bool Takes(const types::Pairs& pairs) {
    return kSetOf<T> != 0 && (pairs.sources[__builtin_ctz(kSetOf<T>)] & kSetOf<U>) != 0;
}

// Whether casts.def has a pair. Looked up by name: an expression over all rows costs every kernel that casts
// milliseconds per pair of types.
template <DType to, DType from>
inline constexpr bool kCasts = false;
#define NPUKB_CAST(dst, src, modes) \
    template <>                     \
    inline constexpr bool kCasts<DType::dst, DType::src> = true;
#include "casts.def"
template <typename T, typename U>
NPUKB_API constexpr bool Takes(const types::CastPairs&) {
    return kCasts<DTypeOf<T>::value, DTypeOf<U>::value>;
}

// Whether a move takes the element types T of dst and U of its source: one constant per row of the table.
namespace moves {
using namespace types;
#define NPUKB_INSTRUCTION(...)
#define NPUKB_MOVE(name, operands, set, ...) \
    template <typename T, typename U = T>    \
    inline constexpr bool name = Takes<T, U>(set);
#include "instructions.def"
}  // namespace moves

template <typename T>
NPUKB_API uint64_t RawBits(const T& value) {
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
}

}  // namespace npukb

namespace AscendC {

using ::TEventID;

enum class TPosition : uint8_t {
#define NPUKB_POSITION(name) name,
#define NPUKB_POSITION_AS(other, name) other = name,
#include "positions.def"
#undef NPUKB_POSITION
#undef NPUKB_POSITION_AS
    C2PIPE2GM,
    C2PIPE2LOCAL,
    MAX
};
using QuePosition = TPosition;

enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class RoundMode : uint8_t { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class MaskMode : uint8_t { NORMAL, COUNTER };

enum class HardEvent : uint8_t {
    S_V,
    S_MTE2,
    S_MTE3,
    V_S,
    V_MTE2,
    V_MTE3,
    MTE2_S,
    MTE2_V,
    MTE2_MTE3,
    MTE3_S,
    MTE3_V,
    MTE3_MTE2,
    // Events of cube cores, and those of chips whose cores have all pipes.
    M_MTE1,
    M_MTE2,
    M_FIX,
    MTE1_M,
    MTE1_MTE2,
    MTE1_MTE3,
    MTE1_FIX,
    MTE2_M,
    MTE2_MTE1,
    MTE2_FIX,
    MTE3_MTE1,
    FIX_M,
    FIX_MTE1,
    FIX_MTE2,
    FIX_MTE3,
    FIX_S,
    M_S,
    M_V,
    V_M,
    V_V,
    MTE1_V,
    V_MTE1,
    MAX
};

}  // namespace AscendC

namespace npukb {

// The pipes of every event, first and second, four bits each.
inline constexpr uint8_t kEvents[] = {0x01, 0x04, 0x05, 0x10, 0x14, 0x15, 0x40, 0x41, 0x45, 0x50, 0x51, 0x54,
                                      0x23, 0x24, 0x26, 0x32, 0x34, 0x35, 0x36, 0x42, 0x43, 0x46, 0x53, 0x62,
                                      0x63, 0x64, 0x65, 0x60, 0x20, 0x21, 0x12, 0x11, 0x31, 0x13};
static_assert(sizeof kEvents == static_cast<int>(AscendC::HardEvent::MAX), "every event has its pipes");
NPUKB_API constexpr Pipe FromPipe(AscendC::HardEvent event) {
    return static_cast<Pipe>(kEvents[static_cast<int>(event)] >> 4);
}
NPUKB_API constexpr Pipe ToPipe(AscendC::HardEvent event) {
    return static_cast<Pipe>(kEvents[static_cast<int>(event)] & 15);
}
// Of an event that is known when a kernel is compiled: looking its pipes up is no work of the kernel.
template <AscendC::HardEvent event>
constexpr Pipe kFromPipe = FromPipe(event);
template <AscendC::HardEvent event>
constexpr Pipe kToPipe = ToPipe(event);

}  // namespace npukb

namespace AscendC {

struct BinaryRepeatParams {
    constexpr BinaryRepeatParams() = default;
    NPUKB_API constexpr BinaryRepeatParams(npukb::of::BinaryRepeatParams::dstBlkStride dstBlk,
                                           npukb::of::BinaryRepeatParams::src0BlkStride src0Blk,
                                           npukb::of::BinaryRepeatParams::src1BlkStride src1Blk,
                                           npukb::of::BinaryRepeatParams::dstRepStride dstRep,
                                           npukb::of::BinaryRepeatParams::src0RepStride src0Rep,
                                           npukb::of::BinaryRepeatParams::src1RepStride src1Rep)
        : dstBlkStride(dstBlk),
          src0BlkStride(src0Blk),
          src1BlkStride(src1Blk),
          dstRepStride(dstRep),
          src0RepStride(src0Rep),
          src1RepStride(src1Rep) {}
    npukb::of::BinaryRepeatParams::dstBlkStride dstBlkStride = 1;
    npukb::of::BinaryRepeatParams::src0BlkStride src0BlkStride = 1;
    npukb::of::BinaryRepeatParams::src1BlkStride src1BlkStride = 1;
    npukb::of::BinaryRepeatParams::dstRepStride dstRepStride = 8;
    npukb::of::BinaryRepeatParams::src0RepStride src0RepStride = 8;
    npukb::of::BinaryRepeatParams::src1RepStride src1RepStride = 8;
};

struct UnaryRepeatParams {
    constexpr UnaryRepeatParams() = default;
    NPUKB_API constexpr UnaryRepeatParams(npukb::of::UnaryRepeatParams::dstBlkStride dstBlk,
                                          npukb::of::UnaryRepeatParams::srcBlkStride srcBlk,
                                          npukb::of::UnaryRepeatParams::dstRepStride dstRep,
                                          npukb::of::UnaryRepeatParams::srcRepStride srcRep)
        : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep), srcRepStride(srcRep) {}
    npukb::of::UnaryRepeatParams::dstBlkStride dstBlkStride = 1;
    npukb::of::UnaryRepeatParams::srcBlkStride srcBlkStride = 1;
    npukb::of::UnaryRepeatParams::dstRepStride dstRepStride = 8;
    npukb::of::UnaryRepeatParams::srcRepStride srcRepStride = 8;
};

struct CopyRepeatParams {
    constexpr CopyRepeatParams() = default;
    NPUKB_API constexpr CopyRepeatParams(npukb::of::CopyRepeatParams::dstStride dstStrideIn,
                                         npukb::of::CopyRepeatParams::srcStride srcStrideIn,
                                         npukb::of::CopyRepeatParams::dstRepeatSize dstRep,
                                         npukb::of::CopyRepeatParams::srcRepeatSize srcRep)
        : dstStride(dstStrideIn), srcStride(srcStrideIn), dstRepeatSize(dstRep), srcRepeatSize(srcRep) {}
    npukb::of::CopyRepeatParams::dstStride dstStride = 1;
    npukb::of::CopyRepeatParams::srcStride srcStride = 1;
    npukb::of::CopyRepeatParams::dstRepeatSize dstRepeatSize = 8;
    npukb::of::CopyRepeatParams::srcRepeatSize srcRepeatSize = 8;
};

struct BrcbRepeatParams {
    constexpr BrcbRepeatParams() = default;
    NPUKB_API constexpr BrcbRepeatParams(npukb::of::BrcbRepeatParams::dstBlkStride dstBlk,
                                         npukb::of::BrcbRepeatParams::dstRepStride dstRep)
        : dstBlkStride(dstBlk), dstRepStride(dstRep) {}
    npukb::of::BrcbRepeatParams::dstBlkStride dstBlkStride = 1;
    npukb::of::BrcbRepeatParams::dstRepStride dstRepStride = 8;
};

struct DataCopyParams {
    constexpr DataCopyParams() = default;
    NPUKB_API constexpr DataCopyParams(npukb::of::DataCopyParams::blockCount count,
                                       npukb::of::DataCopyParams::blockLen len,
                                       npukb::of::DataCopyParams::srcStride srcGap,
                                       npukb::of::DataCopyParams::dstStride dstGap)
        : blockCount(count), blockLen(len), srcStride(srcGap), dstStride(dstGap) {}
    npukb::of::DataCopyParams::blockCount blockCount = 1;
    npukb::of::DataCopyParams::blockLen blockLen = 0;
    union {
        npukb::of::DataCopyParams::srcStride srcStride = 0;
        npukb::of::DataCopyParams::srcGap srcGap;
    };
    union {
        npukb::of::DataCopyParams::dstStride dstStride = 0;
        npukb::of::DataCopyParams::dstGap dstGap;
    };
};

struct DataCopyExtParams {
    constexpr DataCopyExtParams() = default;
    NPUKB_API constexpr DataCopyExtParams(npukb::of::DataCopyExtParams::blockCount count, uint32_t len, uint32_t srcGap,
                                          uint32_t dstGap, uint32_t reserved)
        : blockCount(count), blockLen(len), srcStride(srcGap), dstStride(dstGap), rsv(reserved) {}
    npukb::of::DataCopyExtParams::blockCount blockCount = 1;
    uint32_t blockLen = 0, srcStride = 0, dstStride = 0, rsv = 0;
};

struct DataCopyPadParams {
    constexpr DataCopyPadParams() = default;
    NPUKB_API constexpr DataCopyPadParams(bool pad, npukb::of::DataCopyPadParams::leftPadding left,
                                          npukb::of::DataCopyPadParams::rightPadding right, uint64_t value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
    bool isPad = false;
    npukb::of::DataCopyPadParams::leftPadding leftPadding = 0;
    npukb::of::DataCopyPadParams::rightPadding rightPadding = 0;
    uint64_t paddingValue = 0;
};

template <typename T>
struct DataCopyPadExtParams {
#if defined(__clang__)
    // Clears bytes: storing a half makes the compiler leave its fast path.
    NPUKB_API constexpr DataCopyPadExtParams() {
        if (__builtin_is_constant_evaluated()) {
            paddingValue = T{};
        } else {
            __builtin_memset(&paddingValue, 0, sizeof(T));
        }
    }
#else
    constexpr DataCopyPadExtParams() : paddingValue{} {}
#endif
    template <typename V>
    NPUKB_API constexpr DataCopyPadExtParams(bool pad, npukb::of::DataCopyPadExtParams::leftPadding left,
                                             npukb::of::DataCopyPadExtParams::rightPadding right, V value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(static_cast<T>(value)) {}
    bool isPad = false;
    npukb::of::DataCopyPadExtParams::leftPadding leftPadding = 0;
    npukb::of::DataCopyPadExtParams::rightPadding rightPadding = 0;
    T paddingValue{};
};
template <typename V>
DataCopyPadExtParams(bool, uint8_t, uint8_t, V) -> DataCopyPadExtParams<V>;

inline constexpr uint32_t ONE_BLK_SIZE = 32;
inline constexpr uint32_t ONE_BLK_HALF_NUM = 16;
inline constexpr uint32_t ONE_BLK_FLOAT_NUM = 8;
inline constexpr uint32_t ONE_REPEAT_BYTE_SIZE = 256;
inline constexpr int32_t DEFAULT_BLK_NUM = 8;
inline constexpr uint8_t DEFAULT_BLK_STRIDE = 1;
inline constexpr uint8_t DEFAULT_REPEAT_STRIDE = 8;
inline constexpr uint8_t HALF_DEFAULT_REPEAT_STRIDE = 4;
inline constexpr int32_t MAX_REPEAT_TIMES = 255;
inline constexpr uint32_t BRCB_BROADCAST_NUMBER = 8;
inline constexpr uint64_t MASK_PLACEHOLDER = 0;

NPUKB_API int64_t GetBlockIdx() { return npukb_block_idx(); }
NPUKB_API int64_t GetBlockNum() { return npukb_block_num(); }
NPUKB_API int64_t GetSubBlockIdx() { return npukb_sub_block(0); }
NPUKB_API int64_t GetSubBlockNum() { return npukb_sub_block(1); }
NPUKB_API int64_t GetTaskRation() { return npukb_sub_block(1); }
NPUKB_API int64_t GetTaskRatio() { return npukb_sub_block(1); }

}  // namespace AscendC
