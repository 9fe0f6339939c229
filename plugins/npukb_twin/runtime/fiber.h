// Blocks as fibers: a block runs until it ends, breaks a rule, or waits for other blocks.
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

// What blocks tell each other: a count that only grows, and when (in cycles) it grew last. Whoever waits names the count
// to be reached, so that the outcome does not depend on who runs first.
inline constexpr int kSignalDepth = 16;
struct Signal {
    uint64_t count;
    double raised_at[kSignalDepth];  // of the last kSignalDepth raises
    double At(uint64_t nth) const { return raised_at[nth % kSignalDepth]; }
};

// Raises `signal` by one.
void Raise(Signal* signal, double time);

// A place where `expected` blocks meet, again and again; a block may be up to kSignalDepth - 1 meetings ahead of the others.
struct Meeting {
    Signal complete;
    int64_t expected;
    bool whole;  // of all blocks, none of which goes on before all have come: their traffic is compared then
    int64_t arrived[kSignalDepth];
    double latest[kSignalDepth];
};

// Says that the running block has come to its `nth` meeting, counted from 1.
void Arrive(Meeting* meeting, uint64_t nth, double time);

// Where and for what a block waits, for the report of a deadlock.
struct Waiting {
    const char* what;
    const void* pc;
};

// Waits until `signal` has been raised `count` times. When that can never happen, it ends the block with a violation that
// says which blocks wait where, or quietly when another block broke a rule before.
void WaitFor(const Signal* signal, uint64_t count, const Waiting& waiting);

// Lets other blocks run: the running one polls memory for something that they have to write.
void Poll(const Waiting& waiting);
// Whether the running block has had this thread for so long that it should let others run, by Yield.
bool Overdue();
void Yield();

// Where a signal interrupted the program; `context` is the third argument of its handler.
uint64_t ProgramCounter(const void* context);

// Waits until every block with a lower number has ended or waits for the others: what follows happens in block order.
void WaitForLowerBlocks();

// How often the running block has waited for others.
uint64_t MeetingsSoFar();

// Whether `address` lies beyond the end of the running block's stack.
bool InStackGuard(const void* address);

}  // namespace twin
