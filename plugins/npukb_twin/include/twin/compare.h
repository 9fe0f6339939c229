// Compare: one result bit per element, least significant bit first. Select: bits choose between two sources.
#pragma once
#include "vector.h"

namespace AscendC {

#define NPUKB_COMPARE_CODE(op) \
    (npukb::kCodeFor<npukb::Op::op, uint8_t, T> | static_cast<uint32_t>(cmpMode) << npukb::kModeShift)

// Counts must fill whole repeats of 256 bytes; the mask of the other forms is ignored by this chip.
template <typename T, typename U>
NPUKB_API void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                       CMPMODE cmpMode, uint32_t count) {
    static_assert(npukb::takes::Compare<U, T>::Check());
    npukb_vector_count(NPUKB_COMPARE_CODE(Compare), static_cast<int32_t>(count), NPUKB_TWO_VIEWS, 0);
}
#define NPUKB_COMPARE(lanes_type, source, lanes)                                                                  \
    template <typename T, typename U, bool isSetMask = true>                                                      \
    NPUKB_API void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,     \
                           CMPMODE cmpMode, lanes_type, npukb::of::Compare::repeatTime repeatTime,                \
                           const BinaryRepeatParams& repeatParams) {                                              \
        static_assert(npukb::takes::Compare<U, T>::Check());                                                      \
        npukb_vector_mask(NPUKB_COMPARE_CODE(Compare), NPUKB_LANES(source, Binary), lanes, NPUKB_TWO_VIEWS,       \
                          &repeatParams, 0);                                                                      \
    }                                                                                                             \
    /* The result goes to the CmpMask register; lanes that are off give 0. */                                     \
    template <typename T, bool isSetMask = true>                                                                  \
    NPUKB_API void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, lanes_type,   \
                           const BinaryRepeatParams& repeatParams) {                                              \
        NPUKB_SUPPORTS(Compare, F16 | F32);                                                                       \
        constexpr uint32_t flag = npukb::ToRegister << npukb::kFlagShift;                                         \
        npukb_vector_mask(NPUKB_COMPARE_CODE(Compare),                                                            \
                          npukb::kShape < isSetMask ? npukb::LaneSource::source : npukb::LaneSource::Register,    \
                          npukb::Strides::Binary > | flag, 1, lanes, nullptr, &src0.npukb_view, &src1.npukb_view, \
                          &repeatParams, 0);                                                                      \
    }
NPUKB_COMPARE(const uint64_t mask[], Bits, reinterpret_cast<uint64_t>(mask))
NPUKB_COMPARE(const uint64_t mask, Count, mask)
#undef NPUKB_COMPARE

#define NPUKB_COMPARES(name)                                                                                        \
    template <typename T, typename U>                                                                               \
    NPUKB_API void name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, \
                        uint32_t count) {                                                                           \
        static_assert(npukb::takes::Compares<U, T>::Check());                                                       \
        npukb_vector_count(NPUKB_COMPARE_CODE(Compares), static_cast<int32_t>(count), &dst.npukb_view,              \
                           &src0.npukb_view, nullptr, npukb::RawBits(src1Scalar));                                  \
    }                                                                                                               \
    template <typename T, typename U, bool isSetMask = true>                                                        \
    NPUKB_API void name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, \
                        const uint64_t mask[], npukb::of::name::repeatTime repeatTime,                              \
                        const UnaryRepeatParams& repeatParams) {                                                    \
        static_assert(npukb::takes::Compares<U, T>::Check());                                                       \
        npukb_vector_mask(NPUKB_COMPARE_CODE(Compares), NPUKB_LANES(Bits, Unary), reinterpret_cast<uint64_t>(mask), \
                          &dst.npukb_view, &src0.npukb_view, nullptr, &repeatParams, npukb::RawBits(src1Scalar));   \
    }                                                                                                               \
    template <typename T, typename U, bool isSetMask = true>                                                        \
    NPUKB_API void name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, \
                        const uint64_t mask, npukb::of::name::repeatTime repeatTime,                                \
                        const UnaryRepeatParams& repeatParams) {                                                    \
        static_assert(npukb::takes::Compares<U, T>::Check());                                                       \
        npukb_vector_mask(NPUKB_COMPARE_CODE(Compares), NPUKB_LANES(Count, Unary), mask, &dst.npukb_view,           \
                          &src0.npukb_view, nullptr, &repeatParams, npukb::RawBits(src1Scalar));                    \
    }
NPUKB_COMPARES(Compares)
NPUKB_COMPARES(CompareScalar)
#undef NPUKB_COMPARES
#undef NPUKB_COMPARE_CODE

// The CmpMask register, 128 bits.
template <typename T>
NPUKB_API void GetCmpMask(const LocalTensor<T>& dst) {
    npukb_compare_mask(sizeof(T), &dst.npukb_view, 1);
}
template <typename T>
NPUKB_API void SetCmpMask(const LocalTensor<T>& src) {
    npukb_compare_mask(sizeof(T), &src.npukb_view, 0);
}

template <typename T, typename U>
NPUKB_API constexpr void NpukbCheckSelect() {
    using namespace npukb::types;
    static_assert(npukb::takes::Select<T>::Check());
    static_assert((npukb::kSetOf<U> & (I8 | U8 | U16 | U32 | U64)) != 0,
                  "Select takes its bits from an unsigned integer tensor");
}

#define NPUKB_SELECT_CODE \
    (npukb::kCodeFor<npukb::Op::Select, T, T> | static_cast<uint32_t>(selMode) << npukb::kModeShift)

template <typename T, typename U>
NPUKB_API void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                      const LocalTensor<T>& src1, SELMODE selMode, uint32_t count) {
    NpukbCheckSelect<T, U>();
    npukb_select_count(NPUKB_SELECT_CODE, static_cast<int32_t>(count), &dst.npukb_view, &selMask.npukb_view,
                       &src0.npukb_view, &src1.npukb_view, 0);
}
template <typename T, typename U>
NPUKB_API void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
                      SELMODE selMode, uint32_t count) {
    NpukbCheckSelect<T, U>();
    npukb_select_count(NPUKB_SELECT_CODE, static_cast<int32_t>(count), &dst.npukb_view, &selMask.npukb_view,
                       &src0.npukb_view, nullptr, npukb::RawBits(src1));
}

// isSetMask is reserved in these forms: they always set the mask.
#define NPUKB_SELECT(lanes_type, source, lanes)                                                                 \
    template <typename T, typename U, bool isSetMask = true>                                                    \
    NPUKB_API void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, \
                          const LocalTensor<T>& src1, SELMODE selMode, lanes_type,                              \
                          npukb::of::Select::repeatTime repeatTime, const BinaryRepeatParams& repeatParams) {   \
        NpukbCheckSelect<T, U>();                                                                               \
        constexpr uint32_t shape = npukb::kShape<npukb::LaneSource::source, npukb::Strides::Binary>;            \
        npukb_select(NPUKB_SELECT_CODE, shape, repeatTime, lanes, &dst.npukb_view, &selMask.npukb_view,         \
                     &src0.npukb_view, &src1.npukb_view, &repeatParams, 0);                                     \
    }                                                                                                           \
    template <typename T, typename U, bool isSetMask = true>                                                    \
    NPUKB_API void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, \
                          T src1, SELMODE selMode, lanes_type, npukb::of::Select::repeatTime repeatTime,        \
                          const BinaryRepeatParams& repeatParams) {                                             \
        NpukbCheckSelect<T, U>();                                                                               \
        constexpr uint32_t shape = npukb::kShape<npukb::LaneSource::source, npukb::Strides::Binary>;            \
        npukb_select(NPUKB_SELECT_CODE, shape, repeatTime, lanes, &dst.npukb_view, &selMask.npukb_view,         \
                     &src0.npukb_view, nullptr, &repeatParams, npukb::RawBits(src1));                           \
    }
NPUKB_SELECT(uint64_t mask[], Bits, reinterpret_cast<uint64_t>(mask))
NPUKB_SELECT(uint64_t mask, Count, mask)
#undef NPUKB_SELECT
#undef NPUKB_SELECT_CODE

// With mask and CmpMask registers. A scalar, or the address of the bits, comes out of SetCmpMask.
template <typename T, SELMODE selMode>
NPUKB_API void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                      npukb::of::Select::repeatTime repeatTime, const BinaryRepeatParams& repeatParams) {
    NpukbCheckSelect<T, uint8_t>();
    static_assert(selMode != SELMODE::VSEL_TENSOR_SCALAR_MODE, "Select of a scalar takes selMask and src0");
    npukb_select(npukb::kCodeFor<npukb::Op::Select, T, T> | static_cast<uint32_t>(selMode) << npukb::kModeShift,
                 npukb::kShape<npukb::LaneSource::Register, npukb::Strides::Binary>, repeatTime, 0, &dst.npukb_view,
                 nullptr, &src0.npukb_view, &src1.npukb_view, &repeatParams, 0);
}
template <typename T, typename U>
NPUKB_API void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                      npukb::of::Select::repeatTime repeatTime, const BinaryRepeatParams& repeatParams) {
    NpukbCheckSelect<T, U>();
    constexpr uint32_t mode = static_cast<uint32_t>(SELMODE::VSEL_TENSOR_SCALAR_MODE) << npukb::kModeShift;
    constexpr uint32_t shape =
        npukb::kShape<npukb::LaneSource::Register, npukb::Strides::Binary, npukb::RegisterScalar>;
    npukb_select(npukb::kCodeFor<npukb::Op::Select, T, T> | mode, shape, repeatTime, 0, &dst.npukb_view,
                 &selMask.npukb_view, &src0.npukb_view, nullptr, &repeatParams, 0);
}

}  // namespace AscendC
