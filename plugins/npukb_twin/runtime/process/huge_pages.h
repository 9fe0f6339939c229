// Memory in pages of two megabytes: getting one costs as much as thirty small ones, of which a launch touches a
// thousand. Where the system has none, the memory is there all the same.
#pragma once
#include <stddef.h>

namespace twin {

// The heap of all threads, as far as a launch usually needs it. Called before anything else.
void BeginHeap();

// Zeros that stay; null when there is no memory.
void* HugeZeros(size_t bytes);

}  // namespace twin
