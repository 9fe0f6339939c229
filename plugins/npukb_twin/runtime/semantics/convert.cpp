// Cast: every documented pair of types under every rounding mode. Integers saturate, NaN becomes 0.
#include "semantics/lanes.h"
#include "semantics/rounding.h"

namespace twin {
namespace {

using npukb::DType;

// Bits of a bfloat16 in storage.
struct Brain {
    uint16_t bits;
    operator float() const { return Bits<float>(static_cast<uint32_t>(bits) << 16); }
};

template <typename D, typename S, typename F>
void Each(const VectorInstruction& v, const Lanes& lanes, F f) {
    ForEachLane<D, S, S>(v, lanes, [f](D& d, const S& a, const S&) { d = f(a); });
}

template <typename D, typename S>
void ToInteger(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    WithMode(mode, [&](auto m) {
        auto convert = [](float a) { return Saturated<D>(Integral<decltype(m)::value>(a)); };
        if constexpr (npukb::kSame<S, half>) {
            ForEachWidened<D, S>(v, lanes, [convert](D& d, float a) { d = convert(a); });
        } else {
            Each<D, S>(v, lanes, [convert](S a) { return convert(static_cast<float>(a)); });
        }
    });
}

template <typename S>
void ToHalf(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    WithMode(mode, [&](auto m) {
        Each<half, S>(v, lanes, [](S a) { return HalfFrom<decltype(m)::value>(static_cast<float>(a)); });
    });
}

template <typename D, typename S>
void Clamp(const VectorInstruction& v, const Lanes& lanes, int64_t low, int64_t high) {
    Each<D, S>(v, lanes, [low, high](S a) {
        int64_t x = a;
        return static_cast<D>(x > high ? high : (x < low ? low : x));
    });
}

// A value as a double that rounds further as the value itself would: integers of more than 53 bits are rounded to odd.
inline double ForRounding(int32_t value) { return value; }
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
        return Each<float, S>(v, lanes, [](S a) { return static_cast<float>(a); });
    }
    Each<float, S>(v, lanes, [mode](S a) {
        return static_cast<float>(RoundToFormat(ForRounding(a), 24, -126, 3.4028234663852886e38, mode));
    });
}

void FromFloat(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    switch (v.dst.dtype) {
        case DType::F16: return ToHalf<float>(v, lanes, mode);
        case DType::BF16:
            return WithMode(mode, [&](auto m) {
                Each<uint16_t, float>(v, lanes, [](float a) { return BrainFrom<decltype(m)::value>(a); });
            });
        case DType::I16: return ToInteger<int16_t, float>(v, lanes, mode);
        case DType::I32: return ToInteger<int32_t, float>(v, lanes, mode);
        case DType::I64: return ToInteger<int64_t, float>(v, lanes, mode);
        default:  // float to float rounds to an integral value; the sign of zero is lost
            return WithMode(mode, [&](auto m) {
                Each<float, float>(v, lanes, [](float a) { return Integral<decltype(m)::value>(a) + 0.0f; });
            });
    }
}

// Sign-extended 4-bit integers, low half of the byte first. Lanes go in pairs, as the documentation asks.
struct Pairs {
    const VectorInstruction& v;
    const Lanes& lanes;

    uint8_t* At(const Operand& o, uint32_t repeat, uint32_t lane) const {
        auto* base = static_cast<uint8_t*>(const_cast<void*>(o.address));
        if (lanes.contiguous) return base + (o.dtype == DType::I4 ? lane / 2 : lane * 2);
        if (o.dtype == DType::F16) return base + ElementOffset(o, repeat, lane, 2);
        return base + (static_cast<uint64_t>(repeat) * o.repeat_stride + lane / 64 * o.block_stride) * 32 +
               lane % 64 / 2;
    }
    void Convert(uint32_t repeat, uint32_t lane, Rounding mode) const {
        uint8_t* d = At(v.dst, repeat, lane);
        const uint8_t* s = At(v.src0, repeat, lane);
        bool upper = lane & 1;
        if (v.src0.dtype == DType::I4) {
            int nibble = upper ? *s >> 4 : *s & 15;
            half h = static_cast<half>(nibble >= 8 ? nibble - 16 : nibble);
            __builtin_memcpy(d, &h, 2);
            return;
        }
        half h;
        __builtin_memcpy(&h, s, 2);
        double rounded = RoundToIntegral(static_cast<double>(static_cast<float>(h)), mode);
        int value = rounded != rounded ? 0 : (rounded > 7 ? 7 : (rounded < -8 ? -8 : static_cast<int>(rounded)));
        *d = static_cast<uint8_t>(upper ? (*d & 0x0f) | (value & 15) << 4 : (*d & 0xf0) | (value & 15));
    }
};

void Nibbles(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    Pairs pairs{v, lanes};
    if (lanes.contiguous) {
        for (int64_t i = 0; i < lanes.total; ++i) pairs.Convert(0, static_cast<uint32_t>(i), mode);
        return;
    }
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        for (uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
            if (lanes.On(r, lane)) pairs.Convert(r, lane, mode);
        }
    }
}

void FromHalf(const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    switch (v.dst.dtype) {
        case DType::I4: return Nibbles(v, lanes, mode);
        case DType::I8: return ToInteger<int8_t, half>(v, lanes, mode);
        case DType::U8: return ToInteger<uint8_t, half>(v, lanes, mode);
        case DType::I16: return ToInteger<int16_t, half>(v, lanes, mode);
        case DType::I32: return ToInteger<int32_t, half>(v, lanes, mode);
        default: return Each<float, half>(v, lanes, [](half a) { return static_cast<float>(a); });
    }
}

void FromWord(const Core& core, const VectorInstruction& v, const Lanes& lanes, Rounding mode) {
    switch (v.dst.dtype) {
        case DType::F32: return ToFloat<int32_t>(v, lanes, mode);
        case DType::I16: return Clamp<int16_t, int32_t>(v, lanes, INT16_MIN, INT16_MAX);
        case DType::F16: {
            auto scale =
                static_cast<double>(static_cast<float>(Bits<half>(static_cast<uint16_t>(core.vector.deq_scale))));
            return Each<half, int32_t>(v, lanes, [scale](int32_t a) { return HalfFromDouble(a * scale); });
        }
        default: return Each<int64_t, int32_t>(v, lanes, [](int32_t a) { return static_cast<int64_t>(a); });
    }
}

constexpr uint32_t ModeBit(Rounding mode) { return 1u << static_cast<int>(mode); }

struct Pair {
    DType dst, src;
    uint32_t modes;
};
constexpr uint32_t Exact = ModeBit(Rounding::None), Odd = ModeBit(Rounding::Odd),
                   Five = (ModeBit(Rounding::Odd) - 1) & ~ModeBit(Rounding::None);
constexpr Pair kPairs[] = {
#define NPUKB_CAST(dst, src, modes) {DType::dst, DType::src, modes},
#include "../../include/twin/casts.def"
};

// Two int4b_t share a byte, which is converted as a whole.
void CheckPairs(Core& core, const Lanes& lanes, const void* pc) {
    constexpr uint64_t kLower = 0x5555555555555555u;
    auto split = [](uint64_t mask) { return ((mask ^ mask >> 1) & kLower) != 0; };
    bool by_number = lanes.contiguous || lanes.counted;
    if (by_number ? lanes.total % 2 == 0 : !split(lanes.mask[0]) && !split(lanes.mask[1])) return;
    core.Violate("limit_exceeded", pc, "Convert an even number of elements: two of them share a byte.",
                 "Cast: int4b_t elements come in pairs, and the %s",
                 by_number ? "count is odd" : "mask has one without the other");
}

// Whether the documentation lists this mode for this pair of types.
bool Documented(DType dst, DType src, Rounding mode) {
    for (const Pair& pair : kPairs) {
        if (pair.dst == dst && pair.src == src) return mode <= Rounding::Odd && (pair.modes & ModeBit(mode)) != 0;
    }
    return false;
}

}  // namespace

void ExecuteCast(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    if (v.dst.dtype == DType::I4 || v.src0.dtype == DType::I4) CheckPairs(core, lanes, pc);
    auto mode = static_cast<Rounding>(v.mode);
    if (!Documented(v.dst.dtype, v.src0.dtype, mode)) {
        core.Warn("cast_mode", pc, "Use a rounding mode that the Cast documentation lists for these types.",
                  "Cast does not document rounding mode %d for this pair of types; the results are undefined", v.mode);
        core.vector.undefined = true;
        mode = Rounding::Nearest;
    }
    switch (v.src0.dtype) {
        case DType::F32: return FromFloat(v, lanes, mode);
        case DType::F16: return FromHalf(v, lanes, mode);
        case DType::BF16:
            if (v.dst.dtype == DType::I32) return ToInteger<int32_t, Brain>(v, lanes, mode);
            return Each<float, Brain>(v, lanes, [](Brain a) { return static_cast<float>(a); });
        case DType::I4: return Nibbles(v, lanes, mode);
        case DType::I8: return ToHalf<int8_t>(v, lanes, Rounding::None);
        case DType::U8: return ToHalf<uint8_t>(v, lanes, Rounding::None);
        case DType::I16:
            return v.dst.dtype == DType::F16
                       ? ToHalf<int16_t>(v, lanes, mode)
                       : Each<float, int16_t>(v, lanes, [](int16_t a) { return static_cast<float>(a); });
        case DType::I32: return FromWord(core, v, lanes, mode);
        case DType::I64:
            return v.dst.dtype == DType::F32 ? ToFloat<int64_t>(v, lanes, mode)
                                             : Clamp<int32_t, int64_t>(v, lanes, INT32_MIN, INT32_MAX);
        default: return;
    }
}

}  // namespace twin
