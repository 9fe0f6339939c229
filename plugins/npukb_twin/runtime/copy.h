// Moves between global memory and UB, for those who have more than one to make.
#pragma once
#include "region.h"

namespace twin {

using npukb::CopyInstruction;

// From the tensors that `dst` and `src` point to; the pieces are still to be said.
CopyInstruction CopyBetween(const char* name, const void* dst, const void* src, uint32_t element_bytes, uint32_t direction);
// Checks, moves, takes the time.
void RunCopy(const CopyInstruction& copy, const void* pc);

}  // namespace twin
