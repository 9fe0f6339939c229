// Clocks of cores are vectors of counters: joining two takes the larger of each.
#include "cores/core_clock.h"

#include <stdlib.h>

#include "cores/core.h"
#include "check/tracker.h"

namespace twin {
namespace {

using npukb::kPipes;

void Make(const Core& core, Clock* clock) {
    if (*clock != nullptr) return;
    *clock = static_cast<Clock>(calloc(ClockWords(core), sizeof(uint32_t)));
    if (*clock == nullptr) abort();
}

}  // namespace

size_t ClockWords(const Core& core) { return static_cast<size_t>(core.launch->CoreCount()) * kPipes; }

void JoinClocks(const Core& core, const uint32_t* from, Clock* into) {
    if (from == nullptr) return;
    Make(core, into);
    for (size_t i = 0; i < ClockWords(core); ++i) {
        if ((*into)[i] < from[i]) (*into)[i] = from[i];
    }
}

void Publish(const Core& core, Pipe pipe, Clock* into) {
    if (core.order == nullptr) return;
    if (core.tracker != nullptr) core.tracker->ToldOthers();
    JoinClocks(core, core.tracker != nullptr ? core.tracker->Known() : core.cross.heard, into);
    Make(core, into);
    uint32_t* own = *into + core.number * kPipes;
    Knowledge known = pipe == Pipe::All ? Knowledge{} : core.time.At(pipe).known;
    for (int i = 0; i < kPipes; ++i) {
        // the scalar unit's stores are on their way when it goes on
        bool whole = pipe == Pipe::All || static_cast<Pipe>(i) == Pipe::S;
        uint32_t done = whole ? core.time.Begun(static_cast<Pipe>(i)) : known.done[i];
        if (own[i] < done) own[i] = done;
    }
}

void Adopt(Core& core, const uint32_t* clock) {
    if (core.order == nullptr || clock == nullptr) return;
    if (core.tracker != nullptr) {
        core.tracker->Learn(clock);
    } else {
        JoinClocks(core, clock, &core.cross.heard);
    }
    const uint32_t* own = clock + core.number * kPipes;
    for (int i = 0; i < kPipes; ++i) core.time.Learn(static_cast<Pipe>(i), own[i]);
}

}  // namespace twin
