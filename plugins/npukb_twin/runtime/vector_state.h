// Registers of the vector unit other than the mask: they outlive the instruction that sets them.
#pragma once
#include <stdint.h>

namespace twin {

struct VectorState {
    uint64_t compare_mask[2];  // CmpMask: results of Compare, choices of Select
    uint64_t deq_scale;        // DEQSCALE: a half, or float scale, offset and sign, or the address of sixteen of those
    uint64_t sum;              // of ReduceSum by count, or of vcadd in accumulating mode; raw bits
    uint64_t extreme;          // of the last maximum or minimum over repeats; raw bits
    uint64_t extreme_index;
    bool saturate;             // infinities become the largest half, NaN becomes 0, integers stop at their limits
};

}  // namespace twin
