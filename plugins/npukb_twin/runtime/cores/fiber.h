// Cores as fibers: a core runs its block, or its part of it, until it ends, breaks a rule, or waits for other cores.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace twin {

struct Core;
struct Launch;

inline constexpr int kMaxArguments = 64;

using Entry = void (*)(void** arguments);

// Runs every block of the launch on `threads` host threads, each of its cores by the entry for its kind. The result
// does not depend on the number of threads. `finish` is called once per core, in their order, after all have ended.
void RunBlocks(Launch* launch, const Entry* entries, void** arguments, int threads, void (*finish)(Core*, void*),
               void* context);

// Leaves the running block for good. Called on a rule violation.
[[noreturn]] void AbandonFiber();
// Ends the running core's part of the kernel, as if its entry had returned.
[[noreturn]] void EndFiber();

// What blocks tell each other: a count that only grows, and when (in cycles) it grew last. Whoever waits names the
// count to be reached, so that the outcome does not depend on who runs first.
inline constexpr int kSignalDepth = 16;
inline constexpr int64_t kUntimed = INT64_MIN;  // name of a signal that has no part in times
struct Signal {
    uint64_t count;
    int64_t name;  // on tapes: below zero among the cores of a block; 0: it is known by where it lies in CrossCore
    double raised_at[kSignalDepth];  // of the last kSignalDepth raises
    uint32_t* known[kSignalDepth];   // what whoever raised it knew; see cores/core_clock.h
    double At(uint64_t nth) const { return raised_at[nth % kSignalDepth]; }
};

// Raises `signal` by one; whoever waits for it learns `known`. The running core's own is everything that it has begun.
void Raise(Signal* signal, double time, const uint32_t* known);
void Raise(Signal* signal, double time);

// A place where `expected` blocks meet, again and again; a block may be up to kSignalDepth - 1 meetings ahead of the
// others.
struct Meeting {
    Signal complete;
    int64_t expected;
    bool whole;  // of all cores, none of which goes on before all have come: their traffic is compared then
    int64_t arrived[kSignalDepth];
    double latest[kSignalDepth];
    uint32_t* known[kSignalDepth];
};

// Says that the running block has come to its `nth` meeting, counted from 1.
void Arrive(Meeting* meeting, uint64_t nth, double time);

// Where and for what a block waits, for the report of a deadlock. `explain` says why that may be, behind "wait here for
// ever".
struct Waiting {
    const char* what;
    const void* pc;
    void (*explain)(const Core& core, char* text, size_t size) = nullptr;
};

// Waits until `signal` has been raised `count` times. When that can never happen, it ends the block with a violation
// that says which blocks wait where, or quietly when another block broke a rule before.
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

// The core of the running block, null outside of blocks; asking is no sign of life. Whether memory lies on its stack,
// or where that would grow to.
Core* RunningCore();
bool OnOwnStack(uint64_t address, uint64_t bytes);
// Whether memory lies on the running block's stack of return addresses, where arguments lie that a kernel may read.
bool OnReturnStack(uint64_t address, uint64_t bytes);

}  // namespace twin
