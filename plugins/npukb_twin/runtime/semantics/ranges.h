// Ranges of parameters that pages give for single instructions.
#pragma once
#include "semantics/lanes.h"

namespace twin {

// What Copy and searches for an extreme may be asked for.
void CheckRanges(Core& core, const VectorInstruction& v, const void* pc);

// Whether the blocks of a repeat's result all lie at one place; warns of it.
bool WritesOneBlock(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc);

}  // namespace twin
