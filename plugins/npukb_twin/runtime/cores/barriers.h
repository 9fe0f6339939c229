// What the cores of one launch share to synchronise with each other.
#pragma once
#include "cores/fiber.h"
#include "cores/onchip.h"

namespace twin {

inline constexpr int kCoreFlags = 16;          // flag ids of CrossCoreSetFlag
inline constexpr uint32_t kFreeCoreFlag = 10;  // ids above are taken by the system
inline constexpr int kCoreFlagLimit = 15;      // where the counter of a flag ends
inline constexpr int kCoreFlagModes = 3;
inline constexpr int kMeetings = 64;  // workspaces of software barriers
inline constexpr int kPairs = 4096;   // (workspace, block, event) of IBSet

// A barrier or a flag that lives in global memory at `workspace`.
struct SoftMeeting {
    const void* workspace;
    Meeting meeting;
};
struct PairFlag {
    const void* slot;  // where the flag lies in global memory; null for a free entry
    Signal signal;
};

struct Core;
struct Launch;

// Names of signals on tapes, beside those that follow from their place in CrossCore. See Signal.
inline int64_t CoreFlagName(int64_t place, int id) { return -(1 + place * kCoreFlags + id); }
inline int64_t SharedResultName(int64_t place) { return -(1000 + place); }
inline int64_t TurnName(int64_t core) { return (int64_t{1} << 40) + core; }

// What a signal is called on tapes: where it lies among what cores share, unless it says so itself.
int64_t NameOf(const Launch& launch, const Signal* signal);

struct CrossCore {
    Meeting all;       // SyncAll of the vector cores, or of all when there are no others
    Meeting everyone;  // SyncAll of both kinds
    struct CoreFlags* flags;
    SoftMeeting soft[kMeetings];
    PairFlag pairs[kPairs];
    Signal* turns;                // NotifyNextBlock, one per core
    struct MatmulOrders* orders;  // that vector cores give their cube core, one per core; see matmul/sharing.h
    struct RankServer* ranks;     // null until a task is given; see cores/ranks.h

    void Start(const Launch& launch);
    // The barrier of `expected` blocks at `workspace`, which is made when it is asked for first; null when there are
    // too many.
    SoftMeeting* SoftAt(const void* workspace, int64_t expected);
    PairFlag* PairAt(const void* slot);
};

// How often one core has been through each of them.
struct CrossCoreState {
    uint64_t all;
    uint64_t everyone;
    uint64_t met;  // meetings of all cores of its kind
    bool paired;   // has waited for some of them in another way
    uint64_t flag_sets[kCoreFlagModes][kCoreFlags];
    uint64_t flag_waits[kCoreFlags];
    const void* flag_set_by[kCoreFlags];
    uint32_t flag_awaited;
    uint32_t soft[kMeetings];
    bool order_ready;
    uint64_t turns_waited;
    struct {
        const PairFlag* flag;
        uint64_t waits;
    } pairs[64];  // this core's waits, by flag
    int pair_count;
    uint32_t* heard;  // what it knows of all cores, where nobody tracks more; see cores/core_clock.h
};

// Blocks that wait for each other must all have a core: ends the block with a violation when they run in waves.
void CheckWaves(Core& core, const char* name, const void* pc);

// Flags between cores; see cores/core_flags.cpp.
CoreFlags* NewCoreFlags(const Launch& launch);
// After the last core has ended: flags that are still set, and counters that ran over.
void CheckCoreFlags(Core* const* cores, int64_t count);

}  // namespace twin
