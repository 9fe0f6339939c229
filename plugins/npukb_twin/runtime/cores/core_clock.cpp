// Clocks of cores are vectors of counters: joining two takes the larger of each.
#include "cores/core_clock.h"

#include <stdlib.h>

#include "cores/core.h"
#include "check/tracker.h"

namespace twin {
namespace {

constexpr Pipe kPipes[kClockPipes] = {Pipe::S, Pipe::MTE2, Pipe::MTE3, Pipe::FIX};

void Make(const Core& core, Clock* clock) {
    if (*clock != nullptr) return;
    *clock = static_cast<Clock>(calloc(ClockWords(core), sizeof(uint32_t)));
    if (*clock == nullptr) abort();
}

}  // namespace

int ClockPipe(Pipe pipe) {
    for (int i = 0; i < kClockPipes; ++i) {
        if (kPipes[i] == pipe) return i;
    }
    return 0;
}

size_t ClockWords(const Core& core) { return static_cast<size_t>(core.launch->CoreCount()) * kClockPipes; }

void JoinClocks(const Core& core, const uint32_t* from, Clock* into) {
    if (from == nullptr) return;
    Make(core, into);
    for (size_t i = 0; i < ClockWords(core); ++i) {
        if ((*into)[i] < from[i]) (*into)[i] = from[i];
    }
}

void Publish(const Core& core, Pipe pipe, Clock* into) {
    if (core.tracker == nullptr) return;
    core.tracker->ToldOthers();
    JoinClocks(core, core.tracker->Known(), into);
    Make(core, into);
    uint32_t* own = *into + core.number * kClockPipes;
    Knowledge known = pipe == Pipe::All ? Knowledge{} : core.time.At(pipe).known;
    for (int i = 0; i < kClockPipes; ++i) {
        // the scalar unit's stores are on their way when it goes on
        bool whole = pipe == Pipe::All || kPipes[i] == Pipe::S;
        uint32_t done = whole ? core.time.Begun(kPipes[i]) : known.done[static_cast<int>(kPipes[i])];
        if (own[i] < done) own[i] = done;
    }
}

void Adopt(Core& core, const uint32_t* clock) {
    if (core.tracker != nullptr && clock != nullptr) core.tracker->Learn(clock);
}

}  // namespace twin
