// A bit per granule of global memory for reads and one for writes.
#include "check/coverage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

namespace twin {
namespace {

constexpr uint64_t kGranule = 32;

void Set(uint8_t* byte, unsigned mask) {
    if ((__atomic_load_n(byte, __ATOMIC_RELAXED) & mask) != mask)
        __atomic_fetch_or(byte, static_cast<uint8_t>(mask), __ATOMIC_RELAXED);
}

}  // namespace

void Coverage::Open(uint64_t bytes) {
    uint64_t room = bytes / kGranule / 8 + 16;
    void* mapped = mmap(nullptr, 2 * room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) abort();
    read = static_cast<uint8_t*>(mapped);
    written = read + room;
}

void Coverage::Note(uint8_t* bits, uint64_t begin, uint64_t end) {
    if (begin >= end) return;
    uint64_t first = begin / kGranule, last = (end - 1) / kGranule;
    uint64_t from = first / 8, to = last / 8;
    auto head = static_cast<unsigned>(0xff << first % 8 & 0xff), tail = 0xffu >> (7 - last % 8);
    if (from == to) return Set(bits + from, head & tail);
    Set(bits + from, head);
    memset(bits + from + 1, 0xff, to - from - 1);
    Set(bits + to, tail);
}

uint64_t Coverage::Count(const uint8_t* bits, uint64_t bytes) {
    uint64_t granules = bytes / kGranule, rest = bytes % kGranule, marked = 0, whole = granules / 64;
    for (uint64_t i = 0; i < whole; ++i) {
        uint64_t word;
        memcpy(&word, bits + 8 * i, sizeof word);
        marked += static_cast<uint64_t>(__builtin_popcountll(word));
    }
    for (uint64_t i = 64 * whole; i < granules; ++i) marked += bits[i / 8] >> i % 8 & 1;
    marked *= kGranule;
    if (rest != 0 && (bits[granules / 8] >> granules % 8 & 1)) marked += rest;
    return marked;
}

}  // namespace twin
