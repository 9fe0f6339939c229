// How many operations a kernel's own code runs (time/scalar_operations.h). The compiler has every piece of code between
// two branches call the runtime. Once a kernel is loaded its machine code is read: each piece counts as the arithmetic
// in it, and as two operations more where it ends in a branch. What only puts values in their places counts nothing:
// unoptimised code is full of it.
//
// Unoptimised code also leaves registers unused, so the calls are then written over with an addition to one of them.
// Whatever leaves the image for the runtime adds the register to the count first.
#pragma once
#include <stdint.h>

#include "verify/list.h"

namespace twin {

// Of the image at `base`, which was loaded from `path` and of which nothing runs. Where calls cannot be written over
// they stay what they are; what is counted is the same. `addresses` says, in order, which instructions only make
// addresses (verify/image.h). On other processors than x86-64 all calls stay, and another image beside this one says
// what they count (time/reference.h).
void CountInRegister(const char* path, uint64_t base, const List<uint64_t>& addresses);

// Calls `entry` of an image.
void CallCounting(void (*entry)(void** arguments), void** arguments);

}  // namespace twin
