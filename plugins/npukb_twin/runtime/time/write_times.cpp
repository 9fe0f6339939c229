// An entry stands for a line of 512 bytes, a word of 4 or a byte. It packs the core that wrote all of it and the time
// into 63 bits. What several cores have written in part has the entries of its parts instead, and the remaining bit.
#include "time/write_times.h"

#include <stdlib.h>
#include <sys/mman.h>

namespace twin {
namespace {

constexpr uint64_t kSpans[] = {512, 4, 1};  // bytes of an entry by level
constexpr int kLast = 2;
constexpr uint64_t kDivided = 1ull << 63;  // of an entry: the rest is the address of its parts
constexpr int kTimeBits = 44;
constexpr double kTicks = 8;  // of a cycle

uint64_t Entry(int64_t core, double cycles) {
    auto ticks = static_cast<uint64_t>(cycles * kTicks) & ((1ull << kTimeBits) - 1);
    return static_cast<uint64_t>(core + 1) << kTimeBits | ticks;
}

int64_t CoreOf(uint64_t entry) { return static_cast<int64_t>(entry >> kTimeBits) - 1; }

double CyclesOf(uint64_t entry) { return static_cast<double>(entry & ((1ull << kTimeBits) - 1)) / kTicks; }

uint64_t Load(const uint64_t* entry) { return __atomic_load_n(entry, __ATOMIC_ACQUIRE); }

bool Replace(uint64_t* entry, uint64_t* before, uint64_t after) {
    return __atomic_compare_exchange_n(entry, before, after, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

uint64_t* PartsOf(uint64_t entry) { return reinterpret_cast<uint64_t*>(entry & ~kDivided); }

// The parts of an entry of this level; null where there is no memory for them.
uint64_t* Divide(uint64_t* entry, int level) {
    uint64_t before = Load(entry), count = kSpans[level] / kSpans[level + 1];
    uint64_t* made = nullptr;
    while ((before & kDivided) == 0) {
        if (made == nullptr) made = static_cast<uint64_t*>(calloc(count, sizeof(uint64_t)));
        if (made == nullptr) return nullptr;
        for (uint64_t i = 0; i < count; ++i) made[i] = before;
        if (Replace(entry, &before, kDivided | reinterpret_cast<uint64_t>(made))) return made;
    }
    free(made);
    return PartsOf(before);
}

// Calls `each` with the entries of this level that [begin, end) lies in, and the bytes of each that are meant.
template <typename Each>
void ForEach(uint64_t* entries, int level, uint64_t begin, uint64_t end, Each each) {
    uint64_t span = kSpans[level];
    for (uint64_t at = begin; at < end;) {
        uint64_t from = at % span, stop = at - from + span < end ? at - from + span : end;
        each(entries + at / span, from, stop - at + from);
        at = stop;
    }
}

void Set(uint64_t* entry, int level, uint64_t begin, uint64_t end, uint64_t value) {
    uint64_t before = Load(entry);
    bool whole = begin == 0 && end == kSpans[level];
    while ((whole || level == kLast) && (before & kDivided) == 0) {
        if (Replace(entry, &before, value)) return;
    }
    uint64_t* parts = Divide(entry, level);
    if (parts == nullptr) return;
    ForEach(parts, level + 1, begin, end,
            [&](uint64_t* part, uint64_t from, uint64_t to) { Set(part, level + 1, from, to, value); });
}

struct Reader {
    int64_t core, round;
    double latest;
    void See(uint64_t* entry, int level, uint64_t begin, uint64_t end) {
        uint64_t value = Load(entry);
        if (value & kDivided) {
            ForEach(PartsOf(value), level + 1, begin, end,
                    [&](uint64_t* part, uint64_t from, uint64_t to) { See(part, level + 1, from, to); });
            return;
        }
        int64_t writer = CoreOf(value);
        if (value == 0 || writer == core || writer / round != core / round) return;
        double cycles = CyclesOf(value);
        latest = cycles > latest ? cycles : latest;
    }
};

}  // namespace

void WriteTimes::Open(uint64_t bytes) {
    uint64_t lines = bytes / kSpans[0] + 1;
    void* mapped = mmap(nullptr, lines * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) abort();
    lines_ = static_cast<uint64_t*>(mapped);
}

void WriteTimes::Note(uint64_t begin, uint64_t end, int64_t core, double cycles) {
    uint64_t value = Entry(core, cycles);
    ForEach(lines_, 0, begin, end, [&](uint64_t* line, uint64_t from, uint64_t to) { Set(line, 0, from, to, value); });
}

double WriteTimes::OthersUntil(uint64_t begin, uint64_t end, int64_t core, int64_t round) const {
    Reader reader{core, round, 0};
    ForEach(lines_, 0, begin, end, [&](uint64_t* line, uint64_t from, uint64_t to) { reader.See(line, 0, from, to); });
    return reader.latest;
}

}  // namespace twin
