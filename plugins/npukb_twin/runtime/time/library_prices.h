// What a function of <cmath> costs the scalar unit, which has none of them but the square root.
#pragma once
#include <stdint.h>

namespace twin {

// Operations of the function that a kernel calls by this name; 0 where it is none of <cmath>.
uint32_t PriceOf(const char* name);

}  // namespace twin
