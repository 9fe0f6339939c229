// Registers of the vector unit other than the mask: they outlive the instruction that sets them.
#pragma once
#include <stdint.h>

namespace twin {

struct VectorState {
    uint64_t last_begin, last_end;  // addresses that the latest instruction wrote

    // Whether an instruction that reads these bytes needs what the one before it wrote.
    bool Chains(const void* address, uint64_t bytes) const {
        auto at = reinterpret_cast<uint64_t>(address);
        return address != nullptr && at < last_end && last_begin < at + bytes;
    }
    void Wrote(const void* address, uint64_t bytes) {
        last_begin = reinterpret_cast<uint64_t>(address);
        last_end = last_begin + bytes;
    }

    uint64_t compare_mask[2];  // CmpMask: results of Compare, choices of Select
    uint64_t deq_scale;        // DEQSCALE: a half, or float scale, offset and sign, or the address of sixteen of those
    uint64_t sum;              // of ReduceSum by count, or of vcadd in accumulating mode; raw bits
    uint64_t extreme;          // of the last maximum or minimum over repeats; raw bits
    uint64_t extreme_index;
    bool undefined;  // what the instruction at hand was asked for has no documented result
    bool saturate;   // infinities become the largest half, NaN becomes 0, integers stop at their limits
};

}  // namespace twin
