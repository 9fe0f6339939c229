// Operations of a kernel's plain C++: what its scalar unit does between calls of the API. The compiler announces every
// piece of code from one branch to the next; how many operations a piece holds is read out of its machine code
// (time/scalar_counting.h).
#pragma once
#include <stdint.h>

namespace twin {

// Of the pieces of code that this thread has run since they were last taken.
extern thread_local uint64_t t_operations;

inline uint64_t TakeOperations() {
    uint64_t count = t_operations;
    t_operations = 0;
    return count;
}

}  // namespace twin
