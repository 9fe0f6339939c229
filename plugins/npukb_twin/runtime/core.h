// One AI core running one block: its unified buffer, its queues and flags, its clock, its diagnostics.
#pragma once
#include <stdarg.h>
#include <stdint.h>

#include "../include/twin/move_abi.h"
#include "crosscore.h"
#include "diagnostics.h"
#include "machine.h"
#include "memory.h"
#include "timeline.h"
#include "vector_state.h"

namespace twin {

inline constexpr int kMaxQueues = 64;
inline constexpr int kMaxBuffers = 64;
inline constexpr int kMaxPools = 32;
inline constexpr int kFlagIds = 8;
inline constexpr int kPositionBuffers = 8;  // tensors alive at one queue position

inline constexpr uint32_t kMaxUbBlocks = 8192;
inline constexpr uint8_t kSharedBlock = 255;  // of pools that lie on top of each other

enum class BufferState : uint8_t { Idle, Allocated, Queued, Dequeued };

struct Buffer {
    uint32_t offset;
    uint32_t bytes;
    uint32_t queue;  // owner, counted from 1
    BufferState state;
    bool used;
    Moment enqueued_at;  // when the producer was done
    Moment freed_at;     // when the consumer was done
    const void* allocated_by;
    bool live;           // given away by InitBuffer and not taken back
    int position;
    uint32_t pool;       // 0 for the pipe itself
    uint32_t notes;      // of the tensor that was enqueued
};

// A part of UB that is divided again. Number 0 is the pipe's own: all of UB.
struct Pool {
    uint32_t offset;
    uint32_t bytes;
    uint32_t used;
    uint32_t parent;
    bool live;
};

struct Queue {
    int position;
    Pipe producer;
    Pipe consumer;
    bool live;
    int depth;
    uint32_t first;  // buffers first … first + count - 1
    uint32_t count;
    uint32_t next;          // where allocation looks first
    uint32_t fifo[kMaxBuffers];
    uint32_t waiting;
    const char* name;
};

// How much is checked. Off: what a crash would come from. Fast: whatever costs the same for every operand, however large.
// Full: every byte of every operand as well.
enum class Checker : uint8_t { Off, Fast, Full };

// Everything the launch shares between cores.
struct Launch {
    Machine machine;
    GlobalMemory memory;
    int64_t blocks;
    int64_t cores;  // that run blocks at the same time; more blocks than that run in waves
    uint64_t seed;
    Checker checker;
    bool auto_sync;  // the compiler inserts what is missing between pipes
    CrossCore* cross;
    bool shares_variables;  // the kernel has variables that all blocks share, through which they may take turns unseen
    uint64_t tiling_key;
    uint64_t system_workspace_bytes;  // of the workspace argument, in front of the kernel's own part
    void* system_workspace;
    uint64_t image_base;  // of the kernel, so that return addresses become offsets
    uint64_t image_end;
    double copy_in_cycles_per_byte;
    double copy_out_cycles_per_byte;
};

class Tracker;

struct Core {
    Launch* launch;
    int64_t block;
    uint8_t* ub;
    bool pipe_alive;
    void* pipe;
    bool counter_mode;
    uint64_t mask[2];
    uint16_t merged[4];  // elements that the last MrgSort took from each queue
    VectorState vector;
    Queue queues[kMaxQueues + 1];
    uint32_t queue_count;
    Buffer buffers[kMaxBuffers + 1];
    uint32_t buffer_count;  // the highest number in use
    Pool pools[kMaxPools + 1];
    struct TensorNotes* notes;  // see tensor.cpp; the first is that of a tensor without any
    uint32_t notes_count;
    uint32_t notes_room;
    npukb::AtomicMode atomic_mode;  // of moves from UB to global memory
    npukb::DType atomic_type;
    uint64_t atomic_turn;  // when it was last this core's turn; see WaitForTurn
    uint64_t address_registers[8][8];
    uint8_t flags[npukb::kPipes][npukb::kPipes];  // bit per event id
    Moment flag_time[npukb::kPipes][npukb::kPipes][kFlagIds];
    const void* flag_set_by[npukb::kPipes][npukb::kPipes];
    uint8_t held_ids[npukb::kPipes][npukb::kPipes];
    CrossCoreState cross;
    const void* polled;  // global memory that was read last
    uint32_t polls;      // how often in a row
    uint64_t bytes_in;
    uint64_t bytes_out;
    Timeline time;
    Tracker* tracker;     // of the full checker; null otherwise
    const void* related;  // another place that the next diagnostic is about
    uint8_t owner[kMaxUbBlocks];  // per 32-byte block of UB: the buffer that it belongs to, 0 for none, or kSharedBlock
    Diagnostics diagnostics;

    void Start(Launch* shared, int64_t index, uint8_t* arena);
    // End of the kernel: what was left behind.
    void Finish();
    uint64_t PcOf(const void* return_address) const;
    // Reports an error and leaves the block for good.
    [[noreturn]] void Violate(const char* rule, const void* pc, const char* remedy, const char* format, ...)
        __attribute__((format(printf, 5, 6)));
    // Reports an error; the block goes on.
    void Fault(const char* rule, const void* pc, const char* remedy, const char* format, ...)
        __attribute__((format(printf, 5, 6)));
    void Warn(const char* rule, const void* pc, const char* remedy, const char* format, ...)
        __attribute__((format(printf, 5, 6)));
    // Takes back what InitBuffer gave away from `pool`, and the pools inside it.
    // Says whose the memory of a buffer is.
    void Own(uint32_t handle);
    void TakeBack(uint32_t pool);
    // What the kernel itself has to say.
    void Note(const char* rule, const void* pc, const char* text);
    bool InUb(const void* address) const {
        auto* p = static_cast<const uint8_t*>(address);
        return p >= ub && p < ub + launch->machine.ub_bytes;
    }
    uint32_t UbOffset(const void* address) const {
        return static_cast<uint32_t>(static_cast<const uint8_t*>(address) - ub);
    }
};

// The core whose block runs on this thread now.
Core& ThisCore();

const char* PipeName(npukb::Pipe pipe);
const char* PositionName(int position);

// Where the candidate called: the innermost return address in its own code, past the API functions that are compiled into the
// runtime. `frame` is a chain of frame pointers, which the runtime is compiled to keep.
const void* CandidatePc(const void* return_address, const void* frame);

#define NPUKB_PC twin::CandidatePc(__builtin_return_address(0), __builtin_frame_address(0))

}  // namespace twin
