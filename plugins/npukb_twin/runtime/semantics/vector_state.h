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

    // The latest of the instructions whose results come late that wrote some of these bytes, 0 for none.
    uint32_t Late(const void* address, uint64_t bytes) const {
        auto at = reinterpret_cast<uint64_t>(address);
        uint32_t found = 0;
        if (address == nullptr) return found;
        for (const LateResult& r : late) {
            if (at < r.end && r.begin < at + bytes && r.entry > found) found = r.entry;
        }
        return found;
    }
    void WroteLate(const void* address, uint64_t bytes, uint32_t entry) {
        auto at = reinterpret_cast<uint64_t>(address);
        late[late_next++ % kLateResults] = {at, at + bytes, entry};
    }

    // Addresses that an instruction wrote, and its place among the entries of the vector pipe, counted from one.
    struct LateResult {
        uint64_t begin, end;
        uint32_t entry;
    };
    static constexpr uint32_t kLateResults = 8;
    LateResult late[kLateResults];
    uint32_t late_next;

    uint64_t compare_mask[2];  // CmpMask: results of Compare, choices of Select
    uint64_t deq_scale;        // DEQSCALE: a half, or float scale, offset and sign, or the address of sixteen of those
    uint64_t sum;              // of ReduceSum by count, or of vcadd in accumulating mode; raw bits
    uint64_t extreme;          // of the last maximum or minimum over repeats; raw bits
    uint64_t extreme_index;
    bool deq_set;    // SetDeqScale was called
    bool undefined;  // what the instruction at hand was asked for has no documented result
    bool saturate;   // infinities become the largest half, NaN becomes 0, integers stop at their limits
};

}  // namespace twin
