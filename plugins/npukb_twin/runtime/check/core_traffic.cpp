// Transfers of all cores are sorted by address and compared where they overlap: a pair is in order when the later core
// knew that the earlier one's transfer was complete.
#include "check/core_traffic.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <new>

#include "check/data_cache.h"
#include "check/tracker.h"
#include "cores/core_clock.h"

namespace twin {
namespace {

constexpr uint64_t kCacheLine = 64;
constexpr int64_t kBudget = 4'000'000;  // comparisons per meeting
constexpr int kMostFound = 16;          // pairs of places that are told

uint32_t Mix(uint32_t address) {
    uint32_t m = address * 0x9e3779b1u;
    m ^= m >> 15;
    return (m * 0x85ebca77u) | 1u;
}

// A transfer and whose it is.
struct Stretch {
    const Transfer* transfer;
    Core* core;
};

struct Found {
    const void* first;
    const void* second;
};

// Every core may clear memory that all of them are about to use.
bool AllZero(uint64_t from, uint64_t to) {
    for (uint64_t at = from; at < to; ++at) {
        if (*reinterpret_cast<const uint8_t*>(at) != 0) return false;
    }
    return true;
}

bool Changed(const Transfer& t) { return t.hashed && ContentHash(t.range) != t.content; }

// Whether the core that made the `later` transfer knew that the `earlier` one was complete.
bool Knew(const Stretch& later, const Stretch& earlier) {
    const uint32_t* known = later.core->tracker->KnownIn(later.transfer->phase) + earlier.core->number * npukb::kPipes;
    return known[earlier.transfer->pipe] >= earlier.transfer->number;
}

// "blocks 3 and 5" or, where there are two kinds of cores, "cube core 3 and vector core 6".
struct Pair {
    char text[80];
    Pair(const Core& a, const Core& b) {
        auto x = static_cast<long long>(a.index), y = static_cast<long long>(b.index);
        if (a.launch->Mixed()) {
            snprintf(text, sizeof text, "%s core %lld and %s core %lld", CoreKindName(a.kind), x, CoreKindName(b.kind),
                     y);
        } else {
            snprintf(text, sizeof text, "blocks %lld and %lld", x, y);
        }
    }
};

class Sweep {
  public:
    // Whether blocks read with the scalar unit what others write: then they may take turns in a way that is not seen
    // here.
    void Look(const Stretch& a, const Stretch& b) {
        const Transfer& x = *a.transfer;
        const Transfer& y = *b.transfer;
        uint64_t from = 0, to = 0;
        bool talk = (x.scalar && !x.write && y.write) || (y.scalar && !y.write && x.write);
        talk_ = talk_ || (talk && Overlap(x.range, y.range, &from, &to));
    }
    // Two transfers of different cores with nothing between them.
    void Compare(const Stretch& a, const Stretch& b) {
        const Transfer& x = *a.transfer;
        const Transfer& y = *b.transfer;
        if (!(x.write || y.write) || (x.atomic && y.atomic) || Knew(b, a) || Knew(a, b)) return;
        uint64_t from = 0, to = 0;
        if (Overlap(x.range, y.range, &from, &to)) Meet(a, b, from, to);
    }

  private:
    bool New(const void* first, const void* second) {
        for (int i = 0; i < count_; ++i) {
            if (found_[i].first == first && found_[i].second == second) return false;
        }
        if (count_ == kMostFound) return false;
        found_[count_++] = {first, second};
        return true;
    }
    void Meet(const Stretch& a, const Stretch& b, uint64_t from, uint64_t to) {
        const Transfer& x = *a.transfer;
        const Transfer& y = *b.transfer;
        auto* at = reinterpret_cast<const void*>(from);
        const GlobalMemory& memory = a.core->launch->memory;
        bool differs = x.write && y.write && (Changed(x) || Changed(y)) && !talk_;
        if (x.write && y.write && !differs && AllZero(from, to)) return;
        if (!New(x.pc, y.pc)) return;
        char text[320];
        snprintf(text, sizeof text, "%s %s bytes %llu to %llu of '%s' and nothing orders them%s",
                 Pair(*a.core, *b.core).text,
                 x.write && y.write ? "both write" : (x.write ? "write and read" : "read and write"),
                 static_cast<unsigned long long>(memory.OffsetOf(at)),
                 static_cast<unsigned long long>(memory.OffsetOf(at) + (to - from)), memory.NameOf(at),
                 differs ? "; they write different values" : "");
        a.core->related = y.pc;
        if (differs) {
            a.core->Fault("core_race", x.pc, "Give every block its own part, or put SyncAll between them.", "%s: %s",
                          x.instruction, text);
        } else {
            a.core->Warn("core_race", x.pc, "Give every block its own part, or put SyncAll between them.", "%s: %s",
                         x.instruction, text);
        }
    }
    Found found_[kMostFound];
    int count_ = 0;
    bool talk_ = false;
};

// Calls visit(one, other) for stretches of different cores that may have a cache line in common. They come in the order
// of their addresses.
template <typename F>
void ForNeighbours(const Stretch* all, size_t n, Stretch* open, F visit) {
    int64_t budget = kBudget;
    size_t opened = 0;
    for (size_t i = 0; i < n && budget > 0; ++i) {
        uint64_t begin = all[i].transfer->range.begin / kCacheLine * kCacheLine;
        size_t kept = 0;
        for (size_t k = 0; k < opened; ++k) {
            if (open[k].transfer->range.End() <= begin) continue;
            open[kept++] = open[k];
            if (open[k].core != all[i].core) visit(open[k], all[i]);
            budget -= 1 + std::min(open[k].transfer->range.count, all[i].transfer->range.count) / 16;
        }
        opened = kept;
        open[opened++] = all[i];
    }
}

}  // namespace

uint32_t ContentHash(const Range& range) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < range.count; ++i) {
        uint64_t begin = range.begin + i * range.stride;
        auto* bytes = reinterpret_cast<const uint8_t*>(begin);
        for (uint32_t k = 0; k < range.bytes; ++k) sum += (bytes[k] + 1u) * Mix(static_cast<uint32_t>(begin) + k);
    }
    return sum;
}

Traffic::~Traffic() { free(items_); }

// Whether `next` goes on where `last` ends: directly behind it, or at the same distance again.
bool Traffic::Join(Transfer& last, const Transfer& next) const {
    if (last.pc != next.pc || last.phase != next.phase || last.told != next.told || last.pipe != next.pipe ||
        last.write != next.write || last.atomic != next.atomic)
        return false;
    Range& r = last.range;
    const Range& n = next.range;
    if (n.count != 1) return false;
    bool joined = true;
    if (!last.write && n.begin >= r.begin && n.begin + n.bytes <= r.End() && r.count == 1) {
        // read again
    } else if (r.count == 1 && n.begin == r.End()) {
        r.bytes += n.bytes;
        r.stride = r.bytes;
    } else if (r.count == 1 && n.bytes == r.bytes && n.begin > r.End()) {
        r.stride = n.begin - r.begin;
        r.count = 2;
    } else if (r.count > 1 && n.bytes == r.bytes && n.begin == r.begin + r.count * r.stride) {
        ++r.count;
    } else {
        joined = false;
    }
    if (joined) last.content += next.content;
    if (joined) last.number = next.number;
    return joined;
}

void Traffic::Note(const Transfer& transfer) {
    for (uint32_t back = 1; back <= 4 && back <= count_; ++back) {
        if (Join(items_[count_ - back], transfer)) return;
    }
    if (count_ == room_) {
        if (room_ == kMost) return;
        room_ = room_ == 0 ? 64 : room_ * 2;
        items_ = static_cast<Transfer*>(realloc(static_cast<void*>(items_), room_ * sizeof(Transfer)));
        if (items_ == nullptr) abort();
    }
    items_[count_++] = transfer;
}

namespace {

// What all cores have moved, by address.
class Stretches {
  public:
    template <typename F>
    Stretches(Core* const* cores, int64_t count, F traffic_of) {
        size_t total = 0;
        for (int64_t i = 0; i < count; ++i)
            total += traffic_of(*cores[i]) == nullptr ? 0 : traffic_of(*cores[i])->size();
        entries_ = static_cast<Stretch*>(malloc((total + 1) * sizeof(Stretch)));
        open_ = static_cast<Stretch*>(malloc((total + 1) * sizeof(Stretch)));
        if (entries_ == nullptr || open_ == nullptr) abort();
        for (int64_t i = 0; i < count; ++i) {
            const Traffic* traffic = traffic_of(*cores[i]);
            for (uint32_t k = 0; traffic != nullptr && k < traffic->size(); ++k)
                entries_[n_++] = {&(*traffic)[k], cores[i]};
        }
        std::sort(entries_, entries_ + n_, [](const Stretch& a, const Stretch& b) {
            if (a.transfer->range.begin != b.transfer->range.begin)
                return a.transfer->range.begin < b.transfer->range.begin;
            if (a.core->number != b.core->number) return a.core->number < b.core->number;
            return a.transfer < b.transfer;
        });
    }
    Stretches(const Stretches&) = delete;
    ~Stretches() {
        free(entries_);
        free(open_);
    }
    template <typename F>
    void ForNeighbours(F visit) {
        twin::ForNeighbours(entries_, n_, open_, visit);
    }

  private:
    Stretch* entries_;
    Stretch* open_;
    size_t n_ = 0;
};

// `sum` is what a core adds to, `other` what another one stores or reads there.
void CompareSum(const Stretch& sum, const Stretch& other) {
    const Transfer& added = *sum.transfer;
    const Transfer& plain = *other.transfer;
    uint64_t from = 0, to = 0;
    if (added.phase != plain.phase || TakesTurns(*sum.core) || TakesTurns(*other.core)) return;
    if (sum.core->kind != other.core->kind || !Overlap(added.range, plain.range, &from, &to)) return;
    if (other.core->diagnostics.Again("core_race", other.core->PcOf(plain.pc))) return;
    const GlobalMemory& memory = other.core->launch->memory;
    auto* at = reinterpret_cast<const void*>(from);
    other.core->related = added.pc;
    other.core->Fault("core_race", plain.pc, "Put SyncAll between them.",
                      "%s: block %lld %s bytes %llu to %llu of '%s', to which block %lld adds; nothing orders them, so "
                      "that the sum may be %s",
                      plain.instruction, static_cast<long long>(other.core->index), plain.write ? "writes" : "reads",
                      static_cast<unsigned long long>(memory.OffsetOf(at)),
                      static_cast<unsigned long long>(memory.OffsetOf(at) + (to - from)), memory.NameOf(at),
                      static_cast<long long>(sum.core->index), plain.write ? "lost" : "incomplete");
}

}  // namespace

void NoteSums(Core& core, const Access& access) {
    if (core.launch->CoreCount() == 1 || core.launch->shares_variables || access.range.Empty()) return;
    const uint64_t met = core.cross.met;
    if (!access.write && (core.sums == nullptr || !core.sums->adds || core.sums->added_at != met)) return;
    if (core.sums == nullptr) {
        void* memory = malloc(sizeof(Sums));
        if (memory == nullptr) abort();
        core.sums = new (memory) Sums;
    }
    if (access.atomic) core.sums->adds = true, core.sums->added_at = met;
    core.sums->traffic.Note({access.range, access.pc, access.instruction, static_cast<uint32_t>(met), 0, 0, 0, 0,
                             access.write, access.atomic, false, false});
}

void StopSums(Core& core) {
    if (core.sums == nullptr) return;
    core.sums->~Sums();
    free(core.sums);
    core.sums = nullptr;
}

void CheckSums(Core* const* cores, int64_t count) {
    bool adds = false;
    for (int64_t i = 0; i < count; ++i) {
        if (cores[i]->diagnostics.HasError()) return;  // it ended early, and the others with it
        adds = adds || (cores[i]->sums != nullptr && cores[i]->sums->adds);
    }
    if (!adds) return;
    Stretches all(cores, count, [](Core& core) { return core.sums == nullptr ? nullptr : &core.sums->traffic; });
    all.ForNeighbours([](const Stretch& a, const Stretch& b) {
        if (a.transfer->atomic != b.transfer->atomic) a.transfer->atomic ? CompareSum(a, b) : CompareSum(b, a);
    });
}

void CheckRaces(Core* const* cores, int64_t count) {
    {
        Stretches all(cores, count,
                      [](Core& core) { return core.tracker == nullptr ? nullptr : &core.tracker->traffic(); });
        Sweep sweep;
        all.ForNeighbours([&](const Stretch& a, const Stretch& b) { sweep.Look(a, b); });
        all.ForNeighbours([&](const Stretch& a, const Stretch& b) { sweep.Compare(a, b); });
    }
    for (int64_t i = 0; i < count; ++i) {
        if (cores[i]->tracker != nullptr) cores[i]->tracker->Restart();
    }
}

}  // namespace twin
