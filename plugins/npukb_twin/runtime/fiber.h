// Blocks as fibers: a block runs until it ends, breaks a rule, or waits for the other blocks.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace twin {

struct Core;
struct Launch;

using Entry = void (*)(void** arguments);

// Runs every block of the launch on `threads` host threads. The result does not depend on the number of threads.
// `finish` is called once per block, in block order, after all have ended.
void RunBlocks(Launch* launch, Entry entry, void** arguments, int threads, void (*finish)(Core*, void*), void* context);

// Leaves the running block for good. Called on a rule violation.
[[noreturn]] void AbandonFiber();

// Waits until every block of the launch has arrived. Returns false when that can never happen, and does not return when
// the reason is a rule that another block broke.
bool WaitForAllBlocks();

// Waits until every block with a lower number has ended or waits for the others: what follows happens in block order.
void WaitForLowerBlocks();

// How often all blocks have met.
uint64_t MeetingsSoFar();

// Whether `address` lies beyond the end of the running block's stack.
bool InStackGuard(const void* address);

}  // namespace twin
