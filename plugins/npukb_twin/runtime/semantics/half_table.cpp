// Whoever comes first past the threshold computes the table; of two that race one throws its own away, which is the
// same.
#include "semantics/half_table.h"

#include <stdlib.h>

namespace twin {

constexpr uint64_t kHalves = 1u << 16;

bool HalfTable::Pays(int64_t n) {
    return __atomic_add_fetch(&computed, static_cast<uint64_t>(n), __ATOMIC_RELAXED) > kHalves;
}

uint16_t* HalfTable::Arguments() {
    auto* all = static_cast<uint16_t*>(malloc(kHalves * sizeof(uint16_t)));
    if (all == nullptr) abort();
    for (uint32_t bits = 0; bits < kHalves; ++bits) all[bits] = static_cast<uint16_t>(bits);
    return all;
}

const uint16_t* HalfTable::Publish(uint16_t* all) {
    const uint16_t* none = nullptr;
    if (__atomic_compare_exchange_n(&results, &none, all, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return all;
    free(all);
    return none;
}

// Four at a time: loads and stores of single halves would take longer than the look-up itself.
void LookUp(const uint16_t* results, uint16_t* to, const uint16_t* from, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        uint64_t bits;
        __builtin_memcpy(&bits, from + i, sizeof bits);
        uint64_t four = static_cast<uint64_t>(results[bits & 0xffff]) |
                        static_cast<uint64_t>(results[bits >> 16 & 0xffff]) << 16 |
                        static_cast<uint64_t>(results[bits >> 32 & 0xffff]) << 32 |
                        static_cast<uint64_t>(results[bits >> 48]) << 48;
        __builtin_memcpy(to + i, &four, sizeof four);
    }
    for (; i < n; ++i) to[i] = results[from[i]];
}

}  // namespace twin
