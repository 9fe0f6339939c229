// The memory an instruction touches, checked in one place for every instruction.
#pragma once
#include "core.h"

namespace twin {

// Part of the unified buffer that one operand spans.
struct LocalRegion {
    const char* instruction;  // as the candidate calls it
    const char* role;         // dst, src0, sharedTmpBuffer, …
    const void* address;
    uint64_t bytes;          // from the first to one past the last byte touched
    uint32_t tensor_bytes;   // from `address` to the end of the tensor it was taken from
    uint32_t alignment;
    bool write;
};

// Ends the block with a violation when the region is not in UB or misaligned; warns when it leaves its tensor.
void CheckLocal(Core& core, const LocalRegion& region, const void* pc);

// Part of global memory that one operand spans.
struct GlobalRegion {
    const char* instruction;
    const void* address;
    uint64_t bytes;
    uint32_t element_bytes;
    bool write;
    const void* origin = nullptr;  // where the tensor begins that the address was computed from, when that is known
};

void CheckGlobal(Core& core, const GlobalRegion& region, const void* pc);

}  // namespace twin
