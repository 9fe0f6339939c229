// Where the operands of a vector instruction lie: which bytes each spans, and the place of single lanes. Everything
// here follows from the span column of instructions.def, element types and strides.
#pragma once
#include "semantics/instruction.h"
#include "semantics/lanes.h"

namespace twin {

// Bytes an operand spans, from its first to one past its last touched byte. Not of scratch and choices.
uint64_t SpanOf(const VectorInstruction& v, const Lanes& lanes, const Operand& o);

// The bits that Select needs, in bytes; 0 when nothing is written.
uint64_t ChoiceBytes(const VectorInstruction& v, const Lanes& lanes);

// Lanes as the span rule counts them: those of Packed and Blocks are all on and take no notice of the mask.
struct Grid {
    uint32_t repeats;
    uint32_t lanes;
    bool masked;
};
Grid GridOf(const VectorInstruction& v, const Lanes& lanes);

// Bytes of one lane in an operand; lanes may share a byte.
struct Place {
    uint64_t offset;
    uint32_t bytes;
};
Place PlaceOf(const VectorInstruction& v, const Lanes& lanes, const Operand& o, uint32_t repeat, uint32_t lane);

// Consecutive lanes of a repeat that follow each other without gaps in every operand begin at a multiple of this; 0
// where lanes share bytes or fill more than an element.
uint32_t LanesTogether(const VectorInstruction& v);

}  // namespace twin
