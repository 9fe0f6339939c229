// `half` for host compilers whose C++ has no _Float16 (g++ 11 and 12): conversions and arithmetic through float.
#pragma once
#include <stdint.h>

struct __attribute__((visibility("default"))) half {
    uint16_t bits;
    half() = default;
    template <typename T>
    constexpr half(T value) : bits(Nearest(static_cast<float>(value))) {}
    constexpr operator float() const { return Widen(bits); }
    half& operator+=(float b) { return *this = half(static_cast<float>(*this) + b); }
    half& operator-=(float b) { return *this = half(static_cast<float>(*this) - b); }
    half& operator*=(float b) { return *this = half(static_cast<float>(*this) * b); }
    half& operator/=(float b) { return *this = half(static_cast<float>(*this) / b); }

  private:
    static constexpr uint16_t Nearest(float value) {
        uint32_t f = __builtin_bit_cast(uint32_t, value);
        uint32_t sign = (f >> 16) & 0x8000u;
        uint32_t mag = f & 0x7fffffffu;
        if (mag > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
        if (mag >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
        if (mag < 0x33000001u) return static_cast<uint16_t>(sign);
        int exponent = static_cast<int>(mag >> 23) - 127;
        uint32_t mantissa = (mag & 0x7fffffu) | 0x800000u;
        int shift = exponent < -14 ? 13 + (-14 - exponent) : 13;
        uint32_t kept = mantissa >> shift;
        uint32_t rest = mantissa & ((1u << shift) - 1);
        uint32_t middle = 1u << (shift - 1);
        kept += (rest > middle || (rest == middle && (kept & 1u))) ? 1u : 0u;
        if (exponent < -14) return static_cast<uint16_t>(sign | kept);
        return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent + 14) << 10) + kept));
    }
    static constexpr float Widen(uint16_t h) {
        uint32_t sign = (h & 0x8000u) << 16;
        uint32_t exponent = (h >> 10) & 0x1fu;
        uint32_t mantissa = h & 0x3ffu;
        if (exponent == 31) return __builtin_bit_cast(float, sign | 0x7f800000u | (mantissa << 13));
        if (exponent == 0) {
            float magnitude = static_cast<float>(mantissa) * 5.9604644775390625e-8f;
            return sign ? -magnitude : magnitude;
        }
        return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (mantissa << 13));
    }
};
