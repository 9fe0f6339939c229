// Moves from UB to global memory that add to what is there, or keep the larger or smaller value.
#pragma once
#include "cores/core.h"

namespace twin {

// Adds up in an order that does not depend on the host: between two meetings of all blocks, in the order of the blocks.
void WaitForTurn(Core& core);

// One piece, element by element of the atomic type.
void AtomicMove(Core& core, uint8_t* to, const uint8_t* from, uint64_t bytes, const void* pc);

}  // namespace twin
