// What the journal remembers of an instruction.
#pragma once
#include "check/journal.h"

namespace twin {

struct JournalOperand {
    const char* role;
    Range range;
    bool global;
    bool write;
    uint32_t skipped;  // bytes in front of the data in every piece: padding
    uint64_t used;     // bytes of data in a piece, 0 for all
    uint64_t content;  // where in the ring its pieces lie, counted from 1

    uint64_t Total() const { return range.bytes * range.count; }
};

struct JournalEntry {
    const char* instruction;
    uint64_t place;
    int64_t core;
    uint64_t sequence;
    Pipe pipe;
    bool vector;  // v and lanes hold
    bool exact;   // and say where every lane lies
    int count;
    JournalOperand operands[6];
    VectorInstruction v;
    Lanes lanes;
    char note[48];  // of an event
};

}  // namespace twin
