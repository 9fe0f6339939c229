// Operations of a kernel whose machine code is not x86-64's.
//
// What is an operation is defined by x86-64's code (time/machine_code.h): other processors fold, split and leave out
// others, so that the same kernel would take another time. There the same source is compiled once more, for x86-64, and
// never run: it says how many operations each announced piece has. Compilers announce pieces in what all processors
// have in common, so the pieces of a function are the same, in the same order.
#pragma once
#include <stdint.h>

#include "verify/list.h"

namespace twin {

struct WeighedPiece {
    uint64_t behind;  // where its announcement returns to, from the image's beginning
    uint32_t operations;
};

// Of the image at `path`, as the one at `reference` has them. Where that is not there or holds less than half of the
// operations, which no compiler makes of the same source, the image's own code counts.
List<WeighedPiece> WeighByReference(const char* path, const char* reference);

}  // namespace twin
