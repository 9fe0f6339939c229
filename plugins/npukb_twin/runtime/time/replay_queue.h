// What a replay knows of one core: its pipes, what waits in them, and the signals between cores.
#pragma once
#include "time/program.h"
#include "time/replay.h"
#include "time/cache_fate.h"

namespace twin {
namespace replay {

using npukb::kPipes;

inline constexpr uint32_t kQueueRoom = 64;
inline constexpr uint32_t kRemembered = 256;  // completions of a pipe whose time is known
inline constexpr uint32_t kRecent = 16;       // completions whose result may still be on its way
inline constexpr int kSignals = 4096;
inline constexpr uint32_t kStartFlag = 1u << 31;  // of an event: something begins, instead of ending
inline constexpr int kMostFills = 4;              // that a pipe does not wait for
inline constexpr uint32_t kFillFlag = 1u << 30;   // of a user of memory: nobody waits for it
inline constexpr uint32_t kScalarPipe = 0;
inline constexpr double kNever = 1e300;

// An instruction, or a wait, in the queue of a pipe.
struct QueueEntry {
    TapeEvent event;
    uint64_t address;
    Fate fate;        // Move
    double ready;     // when the scalar unit handed it over
    uint64_t target;  // Hold, Vector: completions of the other pipe, or of its own, that are waited for
    bool blocked;     // Hold: was found waiting
    Path path;        // of the scalar unit
};

// A pipe goes on to its next entry when it is free; what an entry leaves is there for others when it is complete, which
// may be later: transfers and products follow one another faster than each of them takes.
struct PipeQueue {
    QueueEntry entries[kQueueRoom];
    uint32_t head, count;
    uint64_t pushed, done;
    uint64_t barrier;                 // the latest one among the entries, counted from one
    double result_at[kTapeLateBack];  // of an entry alone, whatever those before it do
    double done_at[kRemembered];      // complete
    Path done_path[kRecent];          // to those moments
    double free_at;
    double complete_at;  // all entries so far
    double busy_until;   // what was counted as busy time so far
    Path path;           // to the end of what is running
    bool running, starting;
    double start, own_end, own_s;
    double fixed_s;   // Move: from the last byte's turn to its arrival
    double hidden_s;  // Move: more, as far as the transfer did not have to wait for memory anyway
    int served_by;    // shares that the running transfer still waits for
    double memory_end, l2_end;
    double vector_before,
        held_s;      // of the running transfer: work of the vector unit before it, and what that beside it cost it
    bool held;       // that is known
    double later_s;  // of memory's time: what the running transfer makes it do beyond bringing what is wanted
    int fills;       // such work that is under way
    bool owed;       // the running transfer waits for one of them
    QueueEntry& front() { return entries[head % kQueueRoom]; }
    // When the first `target` entries are complete, all of which are behind the pipe; 0 when that was long ago.
    double DoneAt(uint64_t target) const {
        return target == 0 || done - target >= kRemembered ? 0 : done_at[target % kRemembered];
    }
    const Path& DonePath(uint64_t target) const {
        return done_path[(done - target < kRecent ? target : done) % kRecent];
    }
};

enum class Stop : uint8_t { None, Full, Pipe, All, Until, Signal, Ended };

struct SignalState {
    int64_t name, group;
    uint64_t count;
    bool used;
    double arrived[kSignalDepth];
};

struct CoreState {
    Program program;
    Fates* fates;
    PipeQueue pipes[kPipes];
    double scalar, weight;
    double began;  // the block that runs
    Path path;
    Stop stop;
    TapeEvent event;  // that the scalar unit is at
    uint64_t address;
    bool holds_event;
    uint64_t target;  // of a wait of the scalar unit
    bool waited;
    double vector_s;  // work of the vector unit that is over
    double compute;   // share of the scalar unit's time that is no access to memory
    CoreTime* result;
    int index;
    int64_t group, place;  // a group of blocks that are alike, and the core among those of a block
};

inline bool IsCube(Pipe pipe) { return pipe == Pipe::M || pipe == Pipe::MTE1 || pipe == Pipe::FIX; }

}  // namespace replay

}  // namespace twin
