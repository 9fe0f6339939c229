// Loads and stores of a kernel's own code, which its compiler announces one by one.
//
// What a kernel may touch is what a core can reach: its stack, the variables of its image, its own memories, global
// memory. The runtime's own memory (tensors' records, diagnostics, the report's token) is not there for it: touching it
// ends the kernel like any other address that is not its own. Accesses to global memory and to the core's memories take
// the scalar unit's time.
#pragma once
#include <stdint.h>

namespace twin {

// From here on an image is being loaded: its constructors run on the stack below `frame`.
void BeginLoading(const void* frame);

// Ends the launch unless the kernel itself may write `bytes` at `address`: where the API puts a result for it. `pc` is
// its line.
void CheckResult(const void* address, uint64_t bytes, const void* pc);

// The same for what the API reads for the kernel and gives back to it.
void CheckSource(const void* address, uint64_t bytes, const void* pc);

// A structure that a kernel gives by its address: read once, and only where the kernel itself may read.
template <typename T>
T Given(const void* address, const void* pc) {
    CheckSource(address, sizeof(T), pc);
    return *static_cast<const T*>(address);
}

// Ends the launch unless a second stack that has grown to `address` is the running block's own, or the loader's: no
// frame of a kernel is larger than the guard below it.
void CheckSeenStack(const void* address, const void* pc);

// Ends the launch: the kernel's instruction at `pc` touched `address`.
[[noreturn]] void RefuseAccess(uint64_t pc, uint64_t address);

}  // namespace twin
