// One core running one block, or its part of one: its memories, its queues and flags, its clock, its diagnostics.
#pragma once
#include <stdarg.h>
#include <stdint.h>

#include "../../include/twin/move_abi.h"
#include "cores/cache_hint.h"
#include "cores/barriers.h"
#include "cube/state.h"
#include "check/diagnostics.h"
#include "time/machine.h"
#include "cores/global_memory.h"
#include "cores/onchip.h"
#include "time/timeline.h"
#include "semantics/vector_state.h"

namespace twin {

inline constexpr int kMaxQueues = 64;
inline constexpr int kMaxBuffers = 64;
inline constexpr int kMaxPools = 32;
inline constexpr int kFlagIds = 8;
inline constexpr int kPositionBuffers = 8;  // tensors alive at one queue position

inline constexpr uint32_t kReadLately = 8;
inline constexpr uint8_t kSharedBlock = 255;  // of pools that lie on top of each other

// The pool that is all of a memory.
constexpr uint32_t WholePool(Memory memory) {
    return memory == Memory::Ub ? 0 : kMaxPools + static_cast<uint32_t>(memory);
}

enum class BufferState : uint8_t { Idle, Allocated, Queued, Dequeued };

struct Buffer {
    uint32_t offset;
    uint32_t bytes;
    uint32_t queue;  // owner, counted from 1
    BufferState state;
    bool used;
    Moment enqueued_at;   // when the producer was done
    Moment freed_at;      // when the consumer was done
    Moment freed_before;  // the same of the use before
    const void* allocated_by;
    bool live;  // given away by InitBuffer and not taken back
    int position;
    uint32_t pool;   // 0 for the pipe itself
    uint32_t notes;  // of the tensor that was enqueued
};

// A part of a memory that is divided again. Number 0 is all of UB; those of the other memories follow the pools that a
// kernel has.
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
    uint32_t next;  // where allocation looks first
    uint32_t fifo[kMaxBuffers];
    uint32_t waiting;
    const char* name;
    const void* object;  // of the kernel, which it was made for
};

// How much is checked. Off: what a crash would come from. Fast: whatever costs the same for every operand, however
// large. Full: every byte of every operand as well.
enum class Checker : uint8_t { Off, Fast, Full };

// How much of a launch's time is reported: nothing, the time and where it goes, or also lines, a trace and what would
// be faster.
enum class Detail : uint8_t { Off, Time, Full };
// Where a compiled kernel lies, so that return addresses become offsets. There is one for every kind of core that it
// runs on.
struct Image {
    uint64_t base;
    uint64_t end;
    uint64_t constants;  // where its read-only data begins: on the device that is global memory
    uint64_t constants_end;

    bool HoldsConstants(uint64_t address, uint64_t bytes) const {
        return address >= constants && address < constants_end && bytes <= constants_end - address;
    }
};

class Chip;
class Journal;

// Whether the type that a kernel declares of itself comes with flags between cores.
enum class FlagSupport : uint8_t { Yes, No, Undeclared };

// Everything the launch shares between cores.
struct Launch {
    Machine machine;
    const Chip* chip;  // what the machine lacks of the tables; null for the chips that they are written for
    GlobalMemory memory;
    int64_t blocks;
    int64_t cores;              // blocks that run at the same time; more than that run in waves
    int per_block[kCoreKinds];  // cores of every kind that a block has: at most one cube core
    MemoryRange memories[kMemories];
    uint32_t arena_bytes;
    uint64_t seed;
    Checker checker;
    bool auto_sync;  // the compiler inserts what is missing between pipes
    bool cold;       // the launch is the first of its kernel
    FlagSupport core_flags;
    CrossCore* cross;
    Detail profile;
    Tape** tapes;                      // of all blocks; null when nothing is reported
    uint64_t order;                    // draws the order in which cores begin: what they do must not depend on it
    bool backward;                     // they begin in the opposite order
    WriteTimes variables[kCoreKinds];  // of the images
    bool variables_written;
    bool late;              // stores to global memory take effect as late as they may
    bool talks;             // cores have waited for each other through plain memory
    bool shares_variables;  // the kernel has variables that all blocks share, through which they may take turns unseen
    uint64_t tiling_key;
    uint64_t system_workspace_bytes;  // of the workspace argument, in front of the kernel's own part
    void* system_workspace;
    const uint8_t* direct;  // the arguments of a direct launch (direct_arguments.h), or null
    uint64_t direct_bytes;
    Journal* journal;  // of instructions, for people who debug a kernel; null otherwise
    Image images[kCoreKinds];
    double copy_in_cycles_per_byte;
    double copy_out_cycles_per_byte;

    int CoresPerBlock() const { return per_block[0] + per_block[1]; }
    int64_t CoreCount() const { return blocks * CoresPerBlock(); }
    // Of core `number`: a block's cube core comes first.
    CoreKind KindOf(int64_t number) const {
        return number % CoresPerBlock() < per_block[static_cast<int>(CoreKind::Cube)] ? CoreKind::Cube
                                                                                      : CoreKind::Vector;
    }
    // Cube and vector cores in one kernel.
    bool Mixed() const { return per_block[0] > 0 && per_block[1] > 0; }
    const MemoryRange& RangeOf(Memory memory) const { return memories[static_cast<int>(memory)]; }
};

// The offset of `address` in the kernel's image, plus kCubeImage for that of the cube cores; 0 when it lies in neither.
uint64_t PlaceOf(const Launch& launch, uint64_t address);

// Pieces of global memory that one transfer or one access reads or writes.
struct Pieces {
    const void* address;
    uint64_t bytes;
    uint64_t count;
    int64_t stride;
};

class DataCache;
class Edges;
struct Sums;
class LateStores;
class PipeOrder;
class Tracker;
struct MatmulCore;
struct RankCore;

struct Core {
    Launch* launch;
    CoreKind kind;
    int64_t number;     // among all cores of the launch; a block's cube core comes first
    int64_t block;      // that it belongs to
    int64_t sub_block;  // among the block's vector cores
    int64_t index;      // what GetBlockIdx gives: counts the cores of one kind
    uint8_t* ub;        // the arena, which begins with UB
    bool pipe_alive;
    bool ended;  // the kernel came to its end
    void* pipe;
    bool pipe_inside;  // an object that it is a part of
    bool counter_mode;
    const void* counter_set_by;  // SetMaskCount, whichever was last
    uint64_t mask[2];
    bool mask_counts;    // it holds a number of elements, for the counter mode
    uint16_t merged[4];  // elements that the last MrgSort took from each queue
    VectorState vector;
    CubeState cube;
    Queue queues[kMaxQueues + 1];
    uint32_t queue_count;
    Buffer buffers[kMaxBuffers + 1];
    uint32_t buffer_count;  // the highest number in use
    Pool pools[kMaxPools + kMemories];
    struct TensorNotes* notes;  // see cores/tensor.cpp; the first is that of a tensor without any
    uint32_t notes_count;
    uint32_t notes_room;
    npukb::AtomicMode atomic_mode;  // of moves from UB to global memory
    npukb::DType atomic_type;
    uint64_t pad_value;  // of SetPadValue, and of the last DataCopyPad that named one
    bool pad_value_given;
    uint64_t atomic_turn;  // when it was last this core's turn; see WaitForTurn
    uint64_t address_registers[8][8];
    uint8_t flags[npukb::kPipes][npukb::kPipes];  // bit per event id
    Moment flag_time[npukb::kPipes][npukb::kPipes][kFlagIds];
    const void* flag_set_by[npukb::kPipes][npukb::kPipes];
    uint8_t held_ids[npukb::kPipes][npukb::kPipes];
    CrossCoreState cross;
    const void* polled;                  // global memory that was read last
    uint32_t polls;                      // how often in a row
    uint32_t yields;                     // to others in between
    uint64_t announced_bytes;            // of one number at most, at the place that follows
    uint64_t announced;                  // where the kernel's next load or store goes that has been paid for already
    uint64_t read_lately[kReadLately];   // shared memory, through raw pointers
    double written_before[kReadLately];  // by others, when it was read last
    uint32_t next_read;
    double polled_cycles;  // of reading the same again: paid for when it turns out to be no waiting
    uint32_t ub_used;      // the most that its buffers took
    uint64_t bytes_in;
    uint64_t bytes_out;
    CacheHints hints;
    Timeline time;
    PipeOrder* order;             // of its pipes; null when nothing is checked
    DataCache* cache;             // of its scalar unit; null until that touches what the kernel may write
    Edges* edges;                 // of what its transfers write; null until one ends inside of a cache line
    Sums* sums;                   // of what its transfers store and add; null until they do
    LateStores* late;             // to global memory; null unless they take effect late
    Tracker* tracker;             // of the full checker; null otherwise
    MatmulCore* matmul;           // objects that multiply matrices; see matmul/sharing.h
    RankCore* ranks;              // tasks for other ranks; null until there is one; see cores/ranks.h
    const void* related;          // another place that the next diagnostic is about
    uint8_t owner[kArenaBlocks];  // per 32-byte block of the arena: the buffer that it belongs to, 0 for none, or
                                  // kSharedBlock
    Diagnostics diagnostics;

    // Of a core that is full of zeros.
    void Start(Launch* shared, int64_t core, uint8_t* arena);
    // End of the kernel: what was left behind.
    void Finish();
    uint64_t PcOf(const void* return_address) const;
    // The scalar unit's time for a load or store of global memory.
    void PayGlobal(const void* address);
    // This core has written: the pieces are there for others when `pipe` is through with what it was given.
    void Wrote(Pipe pipe, const Pieces& pieces);
    // This core has read, and goes on no earlier than others had written the pieces.
    void AwaitWriters(Pipe pipe, const Pieces& pieces);
    // The same for [begin, end) of whatever `writes` is about. Returns when others had written it.
    double AwaitUntilWritten(Pipe pipe, const WriteTimes& writes, uint64_t begin, uint64_t end);
    void PayPolls();
    // What is issued from now on belongs to this line.
    void Place(const void* pc) {
        uint64_t offset = PcOf(pc);
        time.Place(static_cast<uint32_t>(offset) | (offset >= kCubeImage ? kTapeCubeImage : 0));
    }
    void Report(Severity severity, const char* rule, const void* pc, const char* remedy, const char* format,
                va_list arguments);
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
    // Which memory `address` belongs to, on this core or, by its place, on one of the other kind.
    Memory Holding(const void* address) const;
    // From the beginning of the arena, which is that of UB; OffsetIn from the beginning of the memory.
    uint32_t OffsetIn(Memory memory, const void* address) const {
        return UbOffset(address) - launch->RangeOf(memory).offset;
    }
    uint32_t UbOffset(const void* address) const {
        return static_cast<uint32_t>(static_cast<const uint8_t*>(address) - ub);
    }
};

// The core whose block runs on this thread now.
Core& ThisCore();

const char* PipeName(npukb::Pipe pipe);
const char* PositionName(int position);

// Where the candidate called: the innermost return address in its own code, past the API functions that are compiled
// into the runtime. `frame` is a chain of frame pointers, which the runtime is compiled to keep.
const void* CandidatePc(const void* return_address, const void* frame);

#define NPUKB_PC twin::CandidatePc(__builtin_return_address(0), __builtin_frame_address(0))

}  // namespace twin
