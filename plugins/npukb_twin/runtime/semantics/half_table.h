// Functions of a half have 65536 results: once that many have been computed in a launch, they are computed once for all
// and looked up from then on, which takes a fraction of the time. What is looked up is what the function itself
// returned, to the last bit.
#pragma once
#include <stdint.h>

namespace twin {

struct HalfTable {
    uint64_t computed;        // elements so far
    const uint16_t* results;  // by the bits of the argument; null until they pay off

    // The table if there is one for `n` more elements. `compute(to, from, n)` is the function.
    template <typename F>
    const uint16_t* For(int64_t n, F compute) {
        const uint16_t* table = __atomic_load_n(&results, __ATOMIC_ACQUIRE);
        if (table != nullptr || !Pays(n)) return table;
        uint16_t* all = Arguments();
        compute(all, all, int64_t{1} << 16);
        return Publish(all);
    }

  private:
    // Counts `n` elements; whether a table would have paid off by now.
    bool Pays(int64_t n);
    // Every half in the order of its bits, in memory of its own.
    static uint16_t* Arguments();
    // Makes a finished table known, unless another thread was faster.
    const uint16_t* Publish(uint16_t* all);
};

// to[i] = results[from[i]]; `to` may be `from`.
void LookUp(const uint16_t* results, uint16_t* to, const uint16_t* from, int64_t n);

}  // namespace twin
