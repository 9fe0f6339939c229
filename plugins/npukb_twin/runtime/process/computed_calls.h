// Calls to computed addresses in a kernel's own code, which its compiler sends through here.
//
// A pointer to a function may lead to the beginning of a function of the kernel's image, or to one of the API's.
// Anything else, such as the middle of a function, where bytes mean something else, ends the kernel.
#pragma once
#include <stdint.h>

namespace twin {

// The file that the image was loaded from, which knows where its functions begin.
void NameImage(const char* path);

// Whether the kernel's code at `pc` belongs to a constructor.
bool InConstructor(const void* pc);

}  // namespace twin
