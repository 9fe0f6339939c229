// Arithmetic of tiling functions in operator repositories, which no page of the documentation describes: written from
// its use. A divisor of 0 gives what is divided.
#pragma once
#include <cstdint>
#include <type_traits>

namespace Ops::Base {

template <class T, class U>
constexpr auto FloorDiv(T a, U b) -> decltype(a / b) {
    return b == 0 ? static_cast<decltype(a / b)>(a) : a / b;
}
template <class T, class U>
constexpr auto CeilDiv(T a, U b) -> decltype(a / b) {
    return b == 0 ? static_cast<decltype(a / b)>(a) : (a + b - 1) / b;
}
// The nearest multiple of b that is not below a, or not above it.
template <class T, class U>
constexpr auto CeilAlign(T a, U b) -> decltype(a / b) {
    return b == 0 ? static_cast<decltype(a / b)>(a) : CeilDiv(a, b) * b;
}
template <class T, class U>
constexpr auto FloorAlign(T a, U b) -> decltype(a / b) {
    return b == 0 ? static_cast<decltype(a / b)>(a) : a / b * b;
}

}  // namespace Ops::Base
