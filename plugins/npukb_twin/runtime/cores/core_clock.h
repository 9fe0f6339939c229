// What cores know of each other: how many instructions of each of their pipes are complete. It travels with every flag
// and barrier between cores; two accesses to global memory are in order when one core knew of the other's when it made
// its own. What comes back to a core tells it which of its own instructions are over.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "time/timeline.h"

namespace twin {

struct Core;

// One count per core and pipe; null where nobody checks an order.
using Clock = uint32_t*;

size_t ClockWords(const Core& core);
// Adds what `core` knows once everything that `pipe` has been given is complete; All is everything of every pipe.
// `into` is made if it is null. Nothing happens without a checker.
void Publish(const Core& core, Pipe pipe, Clock* into);
void JoinClocks(const Core& core, const uint32_t* from, Clock* into);
// The core has learnt this, of itself too. Nothing happens when it is null.
void Adopt(Core& core, const uint32_t* clock);

}  // namespace twin
