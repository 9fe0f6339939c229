// Cast between element types, and the registers that steer it.
#pragma once
#include "vector.h"

namespace AscendC {

// casts.def has the pairs.
template <typename T, typename U>
NPUKB_API constexpr bool NpukbCastSupported() {
    return npukb::Takes<T, U>(npukb::types::Casts);
}

#define NPUKB_CAST_CHECK \
    static_assert(NpukbCastSupported<T, U>(), "Cast does not convert between these element types on this core")
#define NPUKB_CAST_CODE (npukb::kCodeFor<npukb::Op::Cast, T, U> | static_cast<uint32_t>(roundMode) << npukb::kModeShift)

template <typename T, typename U, typename = typename npukb::takes::Cast<T, U>::ok>
NPUKB_ONCE void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
                     const uint32_t count) NPUKB_BODY(
    { npukb_vector_count(NPUKB_CAST_CODE, static_cast<int32_t>(count), &dst.npukb_view, &src.npukb_view, nullptr, 0); })
template <typename T, typename U, typename = typename npukb::takes::Cast<T, U>::no, int = 0>
NPUKB_API void Cast(const LocalTensor<T>&, const LocalTensor<U>&, const RoundMode&, const uint32_t) {
    NPUKB_CAST_CHECK;
}
template <typename T, typename U, bool isSetMask = true>
NPUKB_API void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
                    const uint64_t mask[], const npukb::of::Cast::repeatTime repeatTime,
                    const UnaryRepeatParams& repeatParams) {
    NPUKB_CAST_CHECK;
    npukb_vector_mask(NPUKB_CAST_CODE, NPUKB_LANES(Bits, Unary), reinterpret_cast<uint64_t>(mask), &dst.npukb_view,
                      &src.npukb_view, nullptr, &repeatParams, 0);
}
template <typename T, typename U, bool isSetMask = true>
NPUKB_API void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
                    const uint64_t mask, const npukb::of::Cast::repeatTime repeatTime,
                    const UnaryRepeatParams& repeatParams) {
    NPUKB_CAST_CHECK;
    npukb_vector_mask(NPUKB_CAST_CODE, NPUKB_LANES(Count, Unary), mask, &dst.npukb_view, &src.npukb_view, nullptr,
                      &repeatParams, 0);
}
#undef NPUKB_CAST_CODE
#undef NPUKB_CAST_CHECK

// DEQSCALE. Of int32_t to half, a half; of CastDequant, scale, offset and sign, once or sixteen times.
inline constexpr uint8_t VDEQ_TENSOR_SIZE = 16;
struct VdeqInfo {
    VdeqInfo() = default;
    VdeqInfo(const float scale[VDEQ_TENSOR_SIZE], const int16_t offset[VDEQ_TENSOR_SIZE],
             const bool sign[VDEQ_TENSOR_SIZE]) {
        for (int i = 0; i < VDEQ_TENSOR_SIZE; ++i) {
            vdeqScale[i] = scale[i];
            vdeqOffset[i] = offset[i];
            vdeqSignMode[i] = sign[i];
        }
    }
    float vdeqScale[VDEQ_TENSOR_SIZE] = {};
    int16_t vdeqOffset[VDEQ_TENSOR_SIZE] = {};
    bool vdeqSignMode[VDEQ_TENSOR_SIZE] = {};
};

NPUKB_API void SetDeqScale(half scale) { npukb_deq_scale(npukb::RawBits(scale)); }
NPUKB_API void SetDeqScale(float scale, int16_t offset, bool signMode) {
    npukb_deq_scale(npukb::RawBits(scale) | static_cast<uint64_t>(offset & 0x1ff) << 37 |
                    static_cast<uint64_t>(signMode) << 46);
}
template <typename T>
NPUKB_API void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& vdeqInfo) {
    static_assert(npukb::kSame<T, uint64_t>, "SetDeqScale takes a tensor of uint64_t");
    npukb_deq_scale_vector(&vdeq.npukb_view, &vdeqInfo);
}

// Saturating mode: results that are infinite become the largest half, NaN becomes 0. It is off when a kernel starts.
enum class SaturationMode : uint8_t { FLOAT, CAST };
template <SaturationMode mode>
NPUKB_API void SetSaturationFlag(bool enableSat) {
    npukb_saturation(1, enableSat);
}
template <SaturationMode mode>
NPUKB_API bool GetSaturationFlag() {
    return npukb_saturation(0, 0) != 0;
}

// Bits of the control register: of those that are documented for this chip, 48 switches saturating mode off.
template <int8_t startBit, int8_t endBit>
NPUKB_API void SetCtrlSpr(int64_t value) {
    static_assert(startBit == 48 && endBit == 48, "SetCtrlSpr: this chip documents bit 48 only");
    npukb_saturation(1, value == 0);
}
template <int8_t startBit, int8_t endBit>
NPUKB_API int64_t GetCtrlSpr() {
    static_assert(startBit == 48 && endBit == 48, "GetCtrlSpr: this chip documents bit 48 only");
    return npukb_saturation(0, 0) == 0;
}
template <int8_t startBit, int8_t endBit>
NPUKB_API void ResetCtrlSpr() {
    SetCtrlSpr<startBit, endBit>(1);
}

}  // namespace AscendC
