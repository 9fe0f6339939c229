// Time of a launch: its tapes are run again, all cores side by side, every pipe in order, memory shared by whoever uses
// it at the same time. The same tapes with another decision give the time of another kernel.
#pragma once
#include "cores/core.h"

namespace twin {

// What time is spent on. The parts of a path add up to its length.
enum class Part : uint8_t {
    Scalar,   // the scalar unit's own work
    Issue,    // fixed costs of vector instructions
    Vector,   // elements
    Banks,    // bank conflicts
    Cube,     // M and MTE1
    Latency,  // fixed costs of transfers
    Move,     // bytes, at the core's own pace
    Memory,   // waiting for other users of memory
    L2,       // waiting for other users of the L2 cache
    Flag,     // one pipe telling another
    Barrier,  // barriers inside a core
    Sync,     // other cores
    Rest,     // what did not fit on the tape
    kCount,
};
inline constexpr int kParts = static_cast<int>(Part::kCount);
const char* PartName(int part);

// What a moment had to wait for, from the start of the launch.
struct Path {
    double part[kParts];
    void Add(Part p, double seconds) { part[static_cast<int>(p)] += seconds; }
};

// Decisions that a kernel's author could have taken otherwise. All false: the kernel as it is.
struct Choice {
    bool double_buffer = false;  // every queue has one buffer more
    bool aligned = false;        // all transfers begin at multiples of 512 bytes
    bool no_conflicts = false;   // no bank conflicts
    bool no_barriers = false;    // only flags order the pipes
    bool bypass = false;         // inputs go past the L2 cache
    bool no_scalar_access = false;
    bool staggered = false;  // cores begin at different places of what they all read
    double merge = 1;        // so many iterations are one: fixed costs occur that much more rarely
};

struct PipeTime {
    double busy_s, wait_s;
    uint64_t instructions;
    uint64_t bytes;
};

// One core, or several with equal programs.
struct CoreTime {
    int64_t core;
    CoreKind kind;
    double weight;
    double end_s;
    PipeTime pipes[npukb::kPipes];
    Path path;
    double l2_bytes, hbm_bytes;
    bool truncated;
};

// One line of the kernel, over all cores.
struct LineTime {
    uint32_t pc;
    Pipe pipe;
    uint64_t count;
    double busy_s, wait_s;
    uint64_t bytes;
};

struct TraceEvent {
    int32_t core;
    uint32_t pc;
    double start_s, end_s;
    uint64_t bytes;
    Pipe pipe;
};

inline constexpr int kLineTimes = 1024;

class Replay {
  public:
    Replay(const Launch& launch, const Choice& choice, uint32_t trace_events);
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;
    void Run();

    double end_s() const { return end_s_; }
    double launch_s() const { return launch_s_; }
    const CoreTime* cores() const { return results_; }
    int64_t core_count() const { return core_count_; }
    // The core that ends last.
    const CoreTime& slowest() const { return results_[slowest_]; }
    const LineTime* lines() const { return lines_; }
    const TraceEvent* trace() const { return trace_; }
    uint32_t trace_count() const { return trace_count_; }

  private:
    struct State;
    friend struct State;
    // Finds slots that do the same; fills in `results_`, and who stands for each group.
    int64_t Group(const struct Followed* followed, int64_t slots, int64_t* leaders);
    void Play(struct Followed* followed, const int64_t* leaders);
    const Launch& launch_;
    Choice choice_;
    double end_s_ = 0, launch_s_ = 0;
    int64_t core_count_ = 0, slowest_ = 0;
    CoreTime* results_ = nullptr;
    LineTime* lines_ = nullptr;
    TraceEvent* trace_ = nullptr;
    uint32_t trace_room_, trace_count_ = 0;
};

}  // namespace twin
