// What the checks have to know about reductions: how much they write, where it may lie, how much scratch they need.
#pragma once
#include "semantics/lanes.h"

namespace twin {

uint64_t ReducedBytes(const VectorInstruction& v, const Lanes& lanes);
uint32_t ReducedAlignment(const VectorInstruction& v);
uint64_t ReduceScratchBytes(const VectorInstruction& v, const Lanes& lanes);

}  // namespace twin
