// The event loop: the pipe that can go on first does, until all tapes are at their end. Cores that did the same are
// played once.
#include "time/replay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <new>

#include "time/replay_state.h"

namespace twin {

const char* PartName(int part) {
    static const char* const names[] = {"scalar", "issue", "vector", "banks",   "cube", "latency", "move",
                                        "memory", "l2",    "flag",   "barrier", "sync", "rest"};
    return names[part];
}

Replay::Replay(const Launch& launch, const Choice& choice, uint32_t trace_events)
    : launch_(launch), choice_(choice), trace_room_(trace_events) {}

Replay::~Replay() {
    free(results_);
    free(lines_);
    free(trace_);
}

namespace {

// Whether two slots, of `per_block` cores each, do the same.
bool Alike(const Followed* a, const Followed* b, int64_t per_block) {
    for (int64_t i = 0; i < per_block; ++i) {
        if (memcmp(a[i].digest, b[i].digest, sizeof a[i].digest) != 0) return false;
    }
    return true;
}

template <typename T>
T* Zeros(int64_t count) {
    auto* memory = static_cast<T*>(calloc(static_cast<size_t>(count > 0 ? count : 1), sizeof(T)));
    if (memory == nullptr) abort();
    return memory;
}

// Right from the system, as memory of the heap would be cleared: a megabyte of which few pages are ever touched.
constexpr size_t kSignalBytes = kSignals * sizeof(SignalState);

SignalState* FreshSignals() {
    void* memory = mmap(nullptr, kSignalBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return static_cast<SignalState*>(memory);
}

}  // namespace

int64_t Replay::Group(const Followed* followed, int64_t slots, int64_t* leaders) {
    int64_t per_block = launch_.CoresPerBlock(), groups = 0;
    for (int64_t slot = 0; slot < slots; ++slot) {
        int64_t g = 0;
        while (g < groups && !Alike(followed + leaders[g] * per_block, followed + slot * per_block, per_block)) ++g;
        if (g == groups) leaders[groups++] = slot;
        for (int64_t place = 0; place < per_block; ++place) results_[g * per_block + place].weight += 1;
    }
    for (int64_t c = 0; c < groups * per_block; ++c)
        results_[c].core = leaders[c / per_block] * per_block + c % per_block;
    return groups;
}

void Replay::Play(Followed* followed, const int64_t* leaders) {
    int64_t per_block = launch_.CoresPerBlock();
    auto* state = new (malloc(sizeof(State))) State(*this);
    state->cores = Zeros<CoreState>(core_count_);
    state->signals = FreshSignals();
    state->count = core_count_;
    auto room = static_cast<uint32_t>(core_count_ * 24 + 16);
    state->events.Open(room);
    state->memory.Open(room);
    state->l2.Open(room);
    for (int64_t c = 0; c < core_count_; ++c) {
        CoreState& core = state->cores[c];
        int64_t first = leaders[c / per_block] * per_block + c % per_block;
        core.program.Open(launch_.tapes, first, launch_.cores * per_block, launch_.CoreCount());
        core.fates = &followed[first].fates;
        core.fates->Rewind();
        core.weight = results_[c].weight;
        core.result = &results_[c];
        core.index = static_cast<int>(c);
        core.group = c / per_block;
        core.place = c % per_block;
        core.scalar = core.began = launch_.machine.start_s;
        core.path.Add(Part::Scalar, core.scalar);
        core.result->pipes[kScalarPipe].busy_s += core.scalar;
        const Tape* tape = launch_.tapes[first];
        core.compute = tape == nullptr ? 1 : 1 - tape->AccessShare();
    }
    state->Loop();
    state->events.Close();
    state->memory.Close();
    state->l2.Close();
    free(state->cores);
    munmap(state->signals, kSignalBytes);
    state->~State();
    free(state);
}

void Replay::Run() {
    int64_t slots = launch_.blocks < launch_.cores ? launch_.blocks : launch_.cores,
            per_block = launch_.CoresPerBlock();
    int64_t used = slots * per_block;
    auto* followed = Zeros<Followed>(used);
    auto* leaders = Zeros<int64_t>(slots);
    results_ = Zeros<CoreTime>(used);
    lines_ = Zeros<LineTime>(kLineTimes);
    trace_ = Zeros<TraceEvent>(trace_room_);
    FollowTransfers(launch_, used, choice_.bypass, followed);
    core_count_ = Group(followed, slots, leaders) * per_block;
    Play(followed, leaders);
    for (int64_t c = 0; c < core_count_; ++c) {
        results_[c].kind =
            c % per_block < launch_.per_block[static_cast<int>(CoreKind::Cube)] ? CoreKind::Cube : CoreKind::Vector;
        if (results_[c].end_s <= end_s_) continue;
        end_s_ = results_[c].end_s;
        slowest_ = c;
    }
    constexpr double kMixedFactor = 1.3;  // documented guess: the other kind of core starts, too
    const Machine& m = launch_.machine;
    launch_s_ =
        m.launch_s + (launch_.cold ? m.launch_cold_per_core_s : m.launch_per_core_s) * static_cast<double>(used);
    if (launch_.Mixed() && !launch_.cold) launch_s_ *= kMixedFactor;
    free(leaders);
    for (int64_t c = 0; c < used; ++c) followed[c].~Followed();
    free(followed);
}

}  // namespace twin
