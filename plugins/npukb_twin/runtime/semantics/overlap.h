// Where operands share memory. The general page on constraints allows an operand to be source and result when both are
// the same, and nothing that an earlier repeat wrote to be read by a later one; pages of single functions say more.
#pragma once
#include "semantics/lanes.h"

namespace twin {

struct Stretch {
    const char* role;
    const void* address;
    uint64_t bytes;

    bool Meets(const Stretch& other) const {
        auto a = reinterpret_cast<uint64_t>(address), b = reinterpret_cast<uint64_t>(other.address);
        return bytes > 0 && other.bytes > 0 && a < b + other.bytes && b < a + bytes;
    }
};

// Whether a result lies on a source in a way that leaves it undefined; warns of it. Both may be the same if `same`.
bool Clashes(Core& core, const char* name, const Stretch& dst, const Stretch& src, bool same, const void* pc);

// What the documentation does not define holds all ones: NaN, -1, true. Nobody can rely on it unseen.
void Undefine(const Stretch& dst);

// Whether a repeat reads from `src` what an earlier one has written; warns of it.
bool ReadsResults(Core& core, const VectorInstruction& v, const Lanes& lanes, const Operand& src, const char* role,
                  const void* pc);

// The same of the results of a reduction, which lie closer together than what they are made of.
bool ReadsReduced(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc);

}  // namespace twin
