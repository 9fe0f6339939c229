// Moves between global memory and UB, for those who have more than one to make.
#pragma once
#include "check/operand_check.h"

namespace twin {

using npukb::CopyInstruction;

// From the tensors that `dst` and `src` point to; the pieces are still to be said.
CopyInstruction CopyBetween(const char* name, const void* dst, const void* src, uint32_t element_bytes,
                            uint32_t direction);
// Checks, moves, takes the time.
void RunCopy(const CopyInstruction& copy, const void* pc);
// Where the local end of a copy lies on this core.
MemorySet CopyMemories(const Core& core);

// Where a transfer begins in global memory, and in which tensor, as far as that is known.
struct TimedPlace {
    const void* address;
    const void* origin;
};
// Gives a transfer between global memory and the core to `pipe`: pieces of so many bytes, `stride` bytes from one to
// the next.
void TimeTransfer(Core& core, Pipe pipe, const TimedPlace& place, uint64_t piece_bytes, uint64_t pieces,
                  int64_t stride);

}  // namespace twin
