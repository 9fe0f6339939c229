// Reductions: over a block, a pair, a repeat, or a whole tensor, under their old and new names.
#pragma once
#include "vector.h"

namespace npukb {

// The packed code of a reduction: `mode` is ReduceOrder or calIndex.
template <Op op, typename T, LaneSource source>
NPUKB_API constexpr uint32_t ReduceCode(uint32_t mode = 0) {
    return kCodeFor<op, T, T> | mode << kModeShift | static_cast<uint32_t>(source) << kReduceLanesShift;
}

}  // namespace npukb

namespace AscendC {

enum class ReduceType : uint8_t { SUM, MAX, MIN };

#define NPUKB_REDUCE_SOURCE(source) (isSetMask ? npukb::LaneSource::source : npukb::LaneSource::Register)
#define NPUKB_REDUCE_STRIDES const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride

// One result per 32-byte block (Block…) or pair (Pair…): the destination's repeat stride counts the results of a
// repeat.
#define NPUKB_REPEAT_FIRST(name, set, lanes_type, source, lanes)                                                \
    template <typename T, bool isSetMask = true>                                                                \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, lanes_type, \
                        NPUKB_REDUCE_STRIDES) {                                                                 \
        NPUKB_SUPPORTS(name, set);                                                                              \
        npukb_reduce(npukb::ReduceCode<npukb::Op::name, T, NPUKB_REDUCE_SOURCE(source)>(), lanes, repeat,       \
                     &dst.npukb_view, &src.npukb_view, dstRepStride, srcBlkStride, srcRepStride);               \
    }
#define NPUKB_REPEATS_FIRST(name, set)                                                           \
    NPUKB_REPEAT_FIRST(name, set, const uint64_t mask[], Bits, reinterpret_cast<uint64_t>(mask)) \
    NPUKB_REPEAT_FIRST(name, set, const int32_t mask, Count, static_cast<uint64_t>(mask))
#include "instructions.def"
#undef NPUKB_REPEAT_FIRST

// One result per repeat. The index of an extreme is bit-cast into the element type.
#define NPUKB_WHOLE(name, set, lanes_type, source, lanes, more, order)                                                 \
    template <typename T, bool isSetMask = true>                                                                       \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, lanes_type, const int32_t repeatTime,    \
                        NPUKB_REDUCE_STRIDES more) {                                                                   \
        NPUKB_SUPPORTS(name, set);                                                                                     \
        npukb_reduce(npukb::ReduceCode<npukb::Op::name, T, NPUKB_REDUCE_SOURCE(source)>(static_cast<uint32_t>(order)), \
                     lanes, repeatTime, &dst.npukb_view, &src.npukb_view, dstRepStride, srcBlkStride, srcRepStride);   \
    }
#define NPUKB_WHOLE_FORMS(name, set, more, order)                                                                  \
    NPUKB_WHOLE(name, set, const uint64_t mask[], Bits, reinterpret_cast<uint64_t>(mask), NPUKB_LIST(more), order) \
    NPUKB_WHOLE(name, set, const int32_t mask, Count, static_cast<uint64_t>(mask), NPUKB_LIST(more), order)
#define NPUKB_ORDER , ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX
#define NPUKB_REPEATS(name, set) NPUKB_WHOLE_FORMS(name, set, , 0)
#define NPUKB_REPEATS_ORDER(name, set) NPUKB_WHOLE_FORMS(name, set, NPUKB_ORDER, order)
#include "instructions.def"
#undef NPUKB_ORDER
#undef NPUKB_WHOLE_FORMS
#undef NPUKB_WHOLE

// RepeatReduceSum: the older name, with the destination's strides around the source's. The block stride of the
// destination has no meaning: there is one result per repeat.
template <typename T, bool isSetMask = true>
NPUKB_API void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,
                               const int32_t elemsInOneRepeat, const int32_t /*dstBlkStride*/,
                               const int32_t srcBlkStride, const int32_t dstRepStride, const int32_t srcRepStride) {
    static_assert(npukb::takes::WholeReduceSum<T>::Check());
    npukb_reduce(npukb::ReduceCode<npukb::Op::WholeReduceSum, T, NPUKB_REDUCE_SOURCE(Count)>(),
                 static_cast<uint64_t>(elemsInOneRepeat), repeatTime, &dst.npukb_view, &src.npukb_view, dstRepStride,
                 srcBlkStride, srcRepStride);
}

// The new names.
#define NPUKB_REDUCE_NEW(name, sum, max, min, lanes_type, source, lanes, more, order)                               \
    template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>                                 \
    NPUKB_API void name(const LocalTensor<T>& dst, const LocalTensor<U>& src, lanes_type, const int32_t repeatTime, \
                        NPUKB_REDUCE_STRIDES more) {                                                                \
        static_assert(npukb::takes::sum<T>::Check());                                                               \
        static_assert(npukb::kSame<T, U>, #name " takes one element type for dst and src");                         \
        constexpr npukb::Op op = reduceType == ReduceType::SUM   ? npukb::Op::sum                                   \
                                 : reduceType == ReduceType::MAX ? npukb::Op::max                                   \
                                                                 : npukb::Op::min;                                  \
        npukb_reduce(npukb::ReduceCode<op, T, NPUKB_REDUCE_SOURCE(source)>(static_cast<uint32_t>(order)), lanes,    \
                     repeatTime, &dst.npukb_view, &src.npukb_view, dstRepStride, srcBlkStride, srcRepStride);       \
    }
#define NPUKB_REDUCE_NEW_FORMS(name, sum, max, min, more, order)                                                    \
    NPUKB_REDUCE_NEW(name, sum, max, min, const uint64_t mask[], Bits, reinterpret_cast<uint64_t>(mask),            \
                     NPUKB_LIST(more), order)                                                                       \
    NPUKB_REDUCE_NEW(name, sum, max, min, const int32_t mask, Count, static_cast<uint64_t>(mask), NPUKB_LIST(more), \
                     order)
#define NPUKB_ORDER , ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX
NPUKB_REDUCE_NEW_FORMS(ReduceDataBlock, BlockReduceSum, BlockReduceMax, BlockReduceMin, , 0)
NPUKB_REDUCE_NEW_FORMS(ReduceRepeat, WholeReduceSum, WholeReduceMax, WholeReduceMin, NPUKB_ORDER,
                       (reduceType == ReduceType::SUM ? ReduceOrder::ORDER_VALUE_INDEX : order))
NPUKB_REDUCE_NEW_FORMS(ReducePairElem, PairReduceSum, PairReduceSum, PairReduceSum, , 0)
#undef NPUKB_ORDER
#undef NPUKB_REDUCE_NEW_FORMS
#undef NPUKB_REDUCE_NEW

// Whole tensors. `sharedTmpBuffer` is scratch: its content is undefined afterwards.
#define NPUKB_TENSOR_OPERANDS const LocalTensor<T>&dst, const LocalTensor<T>&src, const LocalTensor<T>&sharedTmpBuffer
#define NPUKB_TENSOR_VIEWS &dst.npukb_view, &src.npukb_view, &sharedTmpBuffer.npukb_view

template <typename T, bool isSetMask = true>
NPUKB_API void ReduceSum(NPUKB_TENSOR_OPERANDS, const int32_t count) {
    static_assert(npukb::takes::ReduceSum<T>::Check());
    if constexpr (isSetMask) {
        npukb_vector_count(npukb::kCodeFor<npukb::Op::ReduceSum, T, T>, count, NPUKB_TENSOR_VIEWS, 0);
    } else {
        npukb_reduce_tensor(npukb::ReduceCode<npukb::Op::ReduceSum, T, npukb::LaneSource::Register>(), 0, 1,
                            NPUKB_TENSOR_VIEWS, 8);
    }
}
#define NPUKB_TENSOR_SUM(lanes_type, source, lanes)                                                         \
    template <typename T>                                                                                   \
    NPUKB_API void ReduceSum(NPUKB_TENSOR_OPERANDS, lanes_type, const int32_t repeatTime,                   \
                             const int32_t srcRepStride) {                                                  \
        static_assert(npukb::takes::ReduceSum<T>::Check());                                                 \
        npukb_reduce_tensor(npukb::ReduceCode<npukb::Op::ReduceSum, T, npukb::LaneSource::source>(), lanes, \
                            repeatTime, NPUKB_TENSOR_VIEWS, srcRepStride);                                  \
    }
NPUKB_TENSOR_SUM(const uint64_t mask[], Bits, reinterpret_cast<uint64_t>(mask))
NPUKB_TENSOR_SUM(const int32_t mask, Count, static_cast<uint64_t>(mask))
#undef NPUKB_TENSOR_SUM

#define NPUKB_TENSOR_EXTREME_FORM(name, set, lanes_type, source, lanes)                                          \
    template <typename T>                                                                                        \
    NPUKB_API void name(NPUKB_TENSOR_OPERANDS, lanes_type, const int32_t repeatTime, const int32_t srcRepStride, \
                        bool calIndex = false) {                                                                 \
        NPUKB_SUPPORTS(name, set);                                                                               \
        npukb_reduce_tensor(npukb::ReduceCode<npukb::Op::name, T, npukb::LaneSource::source>(calIndex), lanes,   \
                            repeatTime, NPUKB_TENSOR_VIEWS, srcRepStride);                                       \
    }
#define NPUKB_TENSOR_EXTREME(name, set)                                                                                \
    template <typename T>                                                                                              \
    NPUKB_API void name(NPUKB_TENSOR_OPERANDS, const int32_t count, bool calIndex = false) {                           \
        NPUKB_SUPPORTS(name, set);                                                                                     \
        constexpr uint32_t code = npukb::kCodeFor<npukb::Op::name, T, T>;                                              \
        npukb_vector_count(code | static_cast<uint32_t>(calIndex) << npukb::kModeShift, count, NPUKB_TENSOR_VIEWS, 0); \
    }                                                                                                                  \
    NPUKB_TENSOR_EXTREME_FORM(name, set, const uint64_t mask[], Bits, reinterpret_cast<uint64_t>(mask))                \
    NPUKB_TENSOR_EXTREME_FORM(name, set, const int32_t mask, Count, static_cast<uint64_t>(mask))
#include "instructions.def"
#undef NPUKB_TENSOR_EXTREME_FORM
#undef NPUKB_TENSOR_VIEWS
#undef NPUKB_TENSOR_OPERANDS
#undef NPUKB_REDUCE_STRIDES
#undef NPUKB_REDUCE_SOURCE

// What the last reduction left in registers: 0 the sum, 1 the extreme, 2 its index.
template <typename T>
NPUKB_API T NpukbRegisterAs(int which) {
    uint64_t bits = npukb_vector_register(which);
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
template <typename T>
NPUKB_API T GetReduceRepeatSumSpr() {
    return NpukbRegisterAs<T>(0);
}
template <typename T>
NPUKB_API T GetAccVal() {
    return NpukbRegisterAs<T>(0);
}
NPUKB_API int64_t GetAccVal() { return static_cast<int64_t>(npukb_vector_register(0)); }

#define NPUKB_EXTREME_REGISTER(name)                      \
    template <typename T>                                 \
    NPUKB_API void name(T& maxMinValue, T& maxMinIndex) { \
        maxMinValue = NpukbRegisterAs<T>(1);              \
        maxMinIndex = NpukbRegisterAs<T>(2);              \
    }                                                     \
    template <typename T>                                 \
    NPUKB_API void name(T& maxMinValue) {                 \
        maxMinValue = NpukbRegisterAs<T>(1);              \
    }
NPUKB_EXTREME_REGISTER(GetReduceMaxMinCount)
NPUKB_EXTREME_REGISTER(GetReduceRepeatMaxMinSpr)
#undef NPUKB_EXTREME_REGISTER

}  // namespace AscendC

// The register of the last extreme: its value, and its index above it.
NPUKB_API int64_t get_max_min_cnt() {
    return static_cast<int64_t>((npukb_vector_register(1) & 0xffffffffu) | npukb_vector_register(2) << 32);
}
