// Values for an array whose size a variable says, which clang does not take where the array is declared.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <type_traits>

namespace npukb_host {

// The elements begin with `values`; the others are zero, as in any array that is initialised in part.
template <typename T>
void Store(T* array, size_t bytes, std::initializer_list<std::common_type_t<T>> values) {
    size_t count = bytes / sizeof(T), at = 0;
    // More values than elements would be stored behind the array.
    if (values.size() > count) abort();
    for (const T& value : values) array[at++] = value;
    while (at < count) array[at++] = T();
}

}  // namespace npukb_host
