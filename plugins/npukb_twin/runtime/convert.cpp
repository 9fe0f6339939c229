// Cast: every documented pair of types under every rounding mode. Integers saturate, NaN becomes 0.
#include "lanes.h"
#include "numeric.h"

namespace twin {
namespace {

using npukb::DType;

template <typename T>
struct IntegerRange;
template <> struct IntegerRange<int8_t> { static constexpr double low = -128, high = 127; };
template <> struct IntegerRange<uint8_t> { static constexpr double low = 0, high = 255; };
template <> struct IntegerRange<int16_t> { static constexpr double low = -32768, high = 32767; };
template <> struct IntegerRange<int32_t> { static constexpr double low = -2147483648.0, high = 2147483647.0; };
template <> struct IntegerRange<int64_t> {
    static constexpr double low = -9223372036854775808.0, high = 9223372036854774784.0;
};

template <typename T>
inline T Saturate(double rounded) {
    if (rounded != rounded) return 0;
    if (rounded >= IntegerRange<T>::high) {
        return npukb::kSame<T, int64_t> && rounded > IntegerRange<T>::high ? static_cast<T>(INT64_MAX)
                                                                          : static_cast<T>(IntegerRange<T>::high);
    }
    return rounded <= IntegerRange<T>::low ? static_cast<T>(IntegerRange<T>::low) : static_cast<T>(rounded);
}

template <typename D, typename S>
void ToInteger(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    ForEachLane<D, S, S>(v, lanes, [mode](D& d, const S& a, const S&) {
        d = Saturate<D>(RoundToIntegral(static_cast<double>(static_cast<float>(a)), mode));
    });
}

template <typename D, typename S>
void BetweenIntegers(const VectorInstruction& v, const Lanes& lanes) {
    ForEachLane<D, S, S>(v, lanes, [](D& d, const S& a, const S&) { d = Saturate<D>(static_cast<double>(a)); });
}

template <typename S>
void ToHalf(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    if (mode == Rounding::None || mode == Rounding::Nearest) {
        return ForEachLane<half, S, S>(v, lanes, [](half& d, const S& a, const S&) { d = static_cast<half>(static_cast<float>(a)); });
    }
    ForEachLane<half, S, S>(v, lanes, [mode](half& d, const S& a, const S&) {
        d = static_cast<half>(static_cast<float>(RoundToFormat(static_cast<double>(a), 11, -14, 65504.0, mode)));
    });
}

void FloatToBrain(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    if (mode == Rounding::None || mode == Rounding::Nearest) {
        return ForEachLane<uint16_t, float, float>(
            v, lanes, [](uint16_t& d, const float& a, const float&) { d = BrainFromFloat(a); });
    }
    ForEachLane<uint16_t, float, float>(v, lanes, [mode](uint16_t& d, const float& a, const float&) {
        d = BrainFromFloat(static_cast<float>(RoundToFormat(a, 8, -126, 3.3895313892515355e38, mode)));
    });
}

// A value as a double that rounds further as the value itself would: integers of more than 53 bits are rounded to odd.
template <typename S>
inline double ForRounding(S value) {
    return static_cast<double>(value);
}
inline double ForRounding(int64_t value) {
    auto magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (magnitude >> 53 == 0) return static_cast<double>(value);
    uint64_t kept = magnitude >> 11 | ((magnitude & 0x7ff) != 0 ? 1 : 0);
    double result = static_cast<double>(kept) * 2048.0;
    return value < 0 ? -result : result;
}

template <typename S>
void ToFloat(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    if (mode == Rounding::None || mode == Rounding::Nearest) {
        return ForEachLane<float, S, S>(v, lanes, [](float& d, const S& a, const S&) { d = static_cast<float>(a); });
    }
    ForEachLane<float, S, S>(v, lanes, [mode](float& d, const S& a, const S&) {
        d = static_cast<float>(RoundToFormat(ForRounding(a), 24, -126, 3.4028234663852886e38, mode));
    });
}

void FromFloat(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    switch (v.dst.dtype) {
        case DType::F16: return ToHalf<float>(v, lanes, mode);
        case DType::BF16: return FloatToBrain(v, lanes, mode);
        case DType::I16: return ToInteger<int16_t, float>(v, lanes, mode);
        case DType::I32: return ToInteger<int32_t, float>(v, lanes, mode);
        case DType::I64: return ToInteger<int64_t, float>(v, lanes, mode);
        default:  // float to float rounds to an integral value; the sign of zero is lost
            return ForEachLane<float, float, float>(v, lanes, [mode](float& d, const float& a, const float&) {
                d = static_cast<float>(RoundToIntegral(a, mode)) + 0.0f;
            });
    }
}

void FromHalf(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    switch (v.dst.dtype) {
        case DType::I8: return ToInteger<int8_t, half>(v, lanes, mode);
        case DType::U8: return ToInteger<uint8_t, half>(v, lanes, mode);
        case DType::I16: return ToInteger<int16_t, half>(v, lanes, mode);
        case DType::I32: return ToInteger<int32_t, half>(v, lanes, mode);
        default: return ToFloat<half>(v, lanes, Rounding::None);
    }
}

void FromBrain(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    auto widen = [](uint16_t bits) { return Bits<float>(static_cast<uint32_t>(bits) << 16); };
    if (v.dst.dtype == DType::F32) {
        return ForEachLane<float, uint16_t, uint16_t>(
            v, lanes, [widen](float& d, const uint16_t& a, const uint16_t&) { d = widen(a); });
    }
    ForEachLane<int32_t, uint16_t, uint16_t>(v, lanes, [widen, mode](int32_t& d, const uint16_t& a, const uint16_t&) {
        d = Saturate<int32_t>(RoundToIntegral(static_cast<double>(widen(a)), mode));
    });
}

// Whether the documentation lists this mode for this pair of types. Exact widenings take CAST_NONE only.
bool Documented(DType dst, DType src, Rounding mode) {
    bool odd = mode == Rounding::Odd;
    switch (src) {
        case DType::F32: return dst == DType::F16 ? true : (!odd && mode != Rounding::None);
        case DType::F16: return dst == DType::F32 ? mode == Rounding::None : (dst == DType::I8 || dst == DType::U8 ? !odd : !odd && mode != Rounding::None);
        case DType::I16: return dst == DType::F16 ? !odd : mode == Rounding::None;
        case DType::BF16: return dst == DType::F32 ? mode == Rounding::None : !odd && mode != Rounding::None;
        case DType::I32: return dst == DType::F32 ? !odd : mode == Rounding::None;
        case DType::I64: return dst == DType::F32 ? !odd && mode != Rounding::None : mode == Rounding::None;
        default: return mode == Rounding::None;
    }
}

}  // namespace

void ExecuteCast(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    auto mode = static_cast<Rounding>(v.mode);
    if (!Documented(v.dst.dtype, v.src0.dtype, mode)) {
        core.Warn("cast_mode", pc, "Use a rounding mode that the Cast documentation lists for these types.",
                  "Cast does not document rounding mode %d for this pair of types; the twin rounds to nearest even", v.mode);
        mode = Rounding::Nearest;
    }
    switch (v.src0.dtype) {
        case DType::F32: return FromFloat(v, lanes, mode);
        case DType::F16: return FromHalf(v, lanes, mode);
        case DType::BF16: return FromBrain(v, lanes, mode);
        case DType::I8: return ToHalf<int8_t>(v, lanes, Rounding::None);
        case DType::U8: return ToHalf<uint8_t>(v, lanes, Rounding::None);
        case DType::I16: return v.dst.dtype == DType::F16 ? ToHalf<int16_t>(v, lanes, mode) : ToFloat<int16_t>(v, lanes, mode);
        case DType::I32:
            if (v.dst.dtype == DType::F32) return ToFloat<int32_t>(v, lanes, mode);
            return v.dst.dtype == DType::I16 ? BetweenIntegers<int16_t, int32_t>(v, lanes)
                                             : ForEachLane<int64_t, int32_t, int32_t>(v, lanes, [](int64_t& d, const int32_t& a, const int32_t&) { d = a; });
        case DType::I64:
            return v.dst.dtype == DType::F32 ? ToFloat<int64_t>(v, lanes, mode) : BetweenIntegers<int32_t, int64_t>(v, lanes);
        default: return;
    }
}

}  // namespace twin
