// What the cores of one launch share to synchronise with each other.
#pragma once
#include "fiber.h"

namespace twin {

inline constexpr int kCoreFlags = 16;      // flag ids of CrossCoreSetFlag
inline constexpr uint32_t kFreeCoreFlag = 10;  // ids above are taken by the system
inline constexpr int kCoreFlagLimit = 15;  // sets of one flag that nobody has waited for yet
inline constexpr int kMeetings = 64;       // workspaces of software barriers
inline constexpr int kPairs = 4096;        // (workspace, block, event) of IBSet

// A barrier or a flag that lives in global memory at `workspace`.
struct SoftMeeting {
    const void* workspace;
    Meeting meeting;
};
struct PairFlag {
    const void* slot;  // where the flag lies in global memory; null for a free entry
    Signal signal;
};

struct CrossCore {
    Meeting all;                // SyncAll
    Meeting flags[kCoreFlags];  // CrossCoreSetFlag, mode 0
    SoftMeeting soft[kMeetings];
    PairFlag pairs[kPairs];
    Signal* turns;  // NotifyNextBlock, one per block

    void Start(int64_t blocks);
    // The barrier of `expected` blocks at `workspace`, which is made when it is asked for first; null when there are too many.
    SoftMeeting* SoftAt(const void* workspace, int64_t expected);
    PairFlag* PairAt(const void* slot);
};

// How often one core has been through each of them.
struct CrossCoreState {
    uint64_t all;
    uint64_t flag_sets[kCoreFlags];
    uint64_t flag_waits[kCoreFlags];
    const void* flag_set_by[kCoreFlags];
    uint32_t soft[kMeetings];
    bool order_ready;
    uint64_t turns_waited;
    struct {
        const PairFlag* flag;
        uint64_t waits;
    } pairs[64];  // this core's waits, by flag
    int pair_count;
};

struct Core;
// End of a kernel: cross-core flags that are still set.
void FinishCrossCore(Core& core);

}  // namespace twin
