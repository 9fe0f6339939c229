// What a function of <cmath> costs the scalar unit, which has none of them but the square root.
#pragma once
#include <stdint.h>

namespace twin {

// Operations of the function that a kernel calls by this name; 0 where it is none of <cmath>.
uint32_t PriceOf(const char* name);

// The same of any function that a kernel calls: those of the runtime that are none of <cmath> have times of their own,
// so they are 0; others that are not known count as some.
uint32_t PriceOfImport(const char* name);
uint32_t PriceOfImport(const char* name, const void* function);

}  // namespace twin
