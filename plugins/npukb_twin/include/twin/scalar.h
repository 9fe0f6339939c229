// Functions of single values: bits, conversions, the system's registers, and the small helpers that kernels lean on.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>

#include "both_sides.h"
#include "types.h"

namespace AscendC {

// How many bits of `valueIn` are `countValue`.
template <int countValue>
NPUKB_API int64_t GetBitCount(uint64_t valueIn) {
    static_assert(countValue == 0 || countValue == 1, "GetBitCount counts zeros or ones");
    return __builtin_popcountll(countValue == 1 ? valueIn : ~valueIn);
}
template <int countValue>
NPUKB_API int64_t ScalarGetCountOfValue(uint64_t valueIn) {
    return GetBitCount<countValue>(valueIn);
}
NPUKB_API int64_t CountLeadingZero(uint64_t valueIn) { return valueIn == 0 ? 64 : __builtin_clzll(valueIn); }
NPUKB_API int64_t ScalarCountLeadingZero(uint64_t valueIn) { return CountLeadingZero(valueIn); }
NPUKB_API int64_t CountBitsCntSameAsSignBit(int64_t valueIn) { return __builtin_clrsbll(valueIn); }
// Where the lowest bit that is `countValue` lies; -1 when there is none.
template <int countValue>
NPUKB_API int64_t GetSFFValue(uint64_t valueIn) {
    static_assert(countValue == 0 || countValue == 1, "GetSFFValue looks for zeros or ones");
    return __builtin_ffsll(static_cast<long long>(countValue == 1 ? valueIn : ~valueIn)) - 1;
}
template <int countValue>
NPUKB_API int64_t ScalarGetSFFValue(uint64_t valueIn) {
    return GetSFFValue<countValue>(valueIn);
}

// One value from float to half or int32_t under a rounding mode.
template <typename T, typename U, RoundMode roundMode>
NPUKB_API U Cast(T valueIn) {
    static_assert(npukb::kSame<T, float> && (npukb::kSame<U, half> || npukb::kSame<U, int32_t>),
                  "Cast of a scalar converts float to half or int32_t");
    uint32_t bits = npukb_scalar_cast(valueIn, static_cast<int>(roundMode), npukb::kSame<U, half>);
    U result;
    __builtin_memcpy(&result, &bits, sizeof result);
    return result;
}
template <typename T, typename U, RoundMode roundMode>
NPUKB_API U ScalarCast(T valueIn) {
    return Cast<T, U, roundMode>(valueIn);
}
NPUKB_API float ToFloat(const bfloat16_t& bVal) { return static_cast<float>(bVal); }
NPUKB_API bfloat16_t ToBfloat16(const float& fVal) { return bfloat16_t(fVal); }
NPUKB_API float Cast(const bfloat16_t& bVal) { return static_cast<float>(bVal); }
NPUKB_API bfloat16_t Cast(const float& fVal) { return bfloat16_t(fVal); }

NPUKB_API constexpr int32_t CeilDivision(int32_t num1, int32_t num2) {
    return num2 == 0 ? 0 : (num1 + num2 - 1) / num2;
}
template <typename T, typename U>
NPUKB_API constexpr T DivCeil(T size, U alignValue) {
    return static_cast<T>((size + static_cast<T>(alignValue) - 1) / static_cast<T>(alignValue));
}
template <typename T, typename U>
NPUKB_API constexpr T AlignUp(T size, U alignValue) {
    return static_cast<T>(DivCeil(size, alignValue) * static_cast<T>(alignValue));
}

template <typename A, typename B>
struct IsSameType {
    static constexpr bool value = npukb::kSame<A, B>;
};
template <bool condition, typename A, typename B>
struct Conditional {
    using type = std::conditional_t<condition, A, B>;
};

// The system counter ticks at 50 MHz.
NPUKB_API int64_t GetSystemCycle() { return npukb_system_cycle(); }
NPUKB_API int64_t GetProgramCounter() { return npukb_program_counter(); }
NPUKB_API void GetArchVersion(uint32_t& coreVersion) { coreVersion = 0x2201; }
NPUKB_API constexpr int16_t GetDataBlockSizeInBytes() { return 32; }
NPUKB_API constexpr uint32_t GetUBSizeInBytes() { return 192 * 1024; }
NPUKB_API uint32_t GetRuntimeUBSize() { return 192 * 1024; }
NPUKB_API void Trap() { npukb_trap(); }

// The part of the C++ library that the documentation offers under this name.
namespace Std {
using std::add_const;
using std::add_cv;
using std::add_lvalue_reference;
using std::add_pointer;
using std::add_rvalue_reference;
using std::add_volatile;
using std::conditional;
using std::conditional_t;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::get;
using std::index_sequence;
using std::integer_sequence;
using std::integral_constant;
using std::is_array;
using std::is_base_of;
using std::is_const;
using std::is_convertible;
using std::is_floating_point;
using std::is_integral;
using std::is_pointer;
using std::is_reference;
using std::is_same;
using std::is_same_v;
using std::is_void;
using std::make_index_sequence;
using std::make_integer_sequence;
using std::make_tuple;
using std::remove_const;
using std::remove_cv;
using std::remove_pointer;
using std::remove_reference;
using std::remove_reference_t;
using std::remove_volatile;
using std::true_type;
using std::tuple;
using std::tuple_element;
using std::tuple_size;

template <typename T, typename U>
NPUKB_API constexpr auto min(const T& src0, const U& src1) {
    static_assert(npukb::kSame<T, U>, "Std::min takes two values of one type");
    return src0 < src1 ? src0 : src1;
}
template <typename T, typename U>
NPUKB_API constexpr auto max(const T& src0, const U& src1) {
    static_assert(npukb::kSame<T, U>, "Std::max takes two values of one type");
    return src0 > src1 ? src0 : src1;
}
template <typename T>
NPUKB_API T abs(const T src) {
    return src < T(0) ? static_cast<T>(-src) : src;
}
template <typename T>
NPUKB_API T sqrt(const T src) {
    return static_cast<T>(__builtin_sqrtf(static_cast<float>(src)));
}
}  // namespace Std

}  // namespace AscendC

// Of one type each, so that a kernel's own template of the same name stays unambiguous; the empty pack lets a kernel
// define a plain function for the same types.
#define NPUKB_MINMAX(type)                                                         \
    template <typename... None, typename = std::enable_if_t<sizeof...(None) == 0>> \
    NPUKB_API constexpr type min(type a, type b, None...) {                        \
        return a < b ? a : b;                                                      \
    }                                                                              \
    template <typename... None, typename = std::enable_if_t<sizeof...(None) == 0>> \
    NPUKB_API constexpr type max(type a, type b, None...) {                        \
        return a > b ? a : b;                                                      \
    }
NPUKB_MINMAX(int32_t)
NPUKB_MINMAX(uint32_t)
NPUKB_MINMAX(int64_t)
NPUKB_MINMAX(uint64_t)
NPUKB_MINMAX(float)
#undef NPUKB_MINMAX
