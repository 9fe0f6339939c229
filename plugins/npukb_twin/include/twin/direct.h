// Arguments of a direct launch: what a host function passes, packed for the kernel.
//
// A number of arguments (four bytes, then four unused); for each its kind and its size (four bytes each) and its bytes,
// filled up to a multiple of eight. Integers and pointers have eight bytes, floating-point numbers are doubles.
#pragma once
#include <stdint.h>
#include <type_traits>

namespace npukb {

enum class DirectKind : int { kBytes = 0, kInteger = 1, kReal = 2, kPointer = 3 };

template <typename T>
constexpr DirectKind DirectKindOf() {
    if constexpr (std::is_pointer<T>::value || std::is_null_pointer<T>::value) {
        return DirectKind::kPointer;
    } else if constexpr (std::is_same<T, float>::value || std::is_same<T, double>::value) {
        return DirectKind::kReal;
    } else if constexpr (std::is_integral<T>::value || std::is_enum<T>::value) {
        return DirectKind::kInteger;
    } else {
        return DirectKind::kBytes;
    }
}

}  // namespace npukb
