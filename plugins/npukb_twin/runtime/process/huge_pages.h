// Memory in pages of two megabytes: getting one costs as much as thirty small ones, of which a launch touches a
// thousand. Where the system has none, the memory is there all the same. Tables that are hardly touched get small ones.
#pragma once
#include <stddef.h>

namespace twin {

// The heap of all threads, as far as a launch usually needs it. Called before anything else.
void BeginHeap();

// Zeros that stay; null when there is no memory.
void* HugeZeros(size_t bytes);

// Zeros that stay, in small pages, which cost nothing until they are touched; null when there is no memory. calloc
// takes them from the heap above, and writes every one of them, as long as that has room.
void* LazyZeros(size_t bytes);

}  // namespace twin
