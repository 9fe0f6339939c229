// The cache is a ring of granules, the oldest of which gives way; it is walked once for every group of cores that do
// the same.
#include "time/cache_fate.h"

#include <stdlib.h>
#include <string.h>

namespace twin {

Fates::~Fates() { free(runs_); }

void Fates::Append(const Fate& fate) {
    if (size_ > 0 && runs_[size_ - 1].fate == fate) {
        ++runs_[size_ - 1].count;
        return;
    }
    if (size_ == room_) {
        room_ = room_ == 0 ? 16 : 2 * room_;
        runs_ = static_cast<Run*>(realloc(static_cast<void*>(runs_), room_ * sizeof(Run)));
        if (runs_ == nullptr) abort();
    }
    runs_[size_++] = {fate, 1};
}

Reach ReachOf(const TapeEvent& move, uint64_t address) {
    if (move.a == 0 || move.b == 0) return {};
    constexpr uint64_t kAligned = 2 * kLine;
    uint64_t pieces = move.b, step = move.stride < 0 ? static_cast<uint64_t>(-static_cast<int64_t>(move.stride))
                                                     : static_cast<uint64_t>(move.stride);
    bool wander = pieces > 1 && step % kAligned != 0;
    auto units = [&](uint64_t unit) {  // of all pieces, each by itself; on average when they begin anywhere
        uint64_t first = address % unit;
        double each = wander ? 1 + static_cast<double>(move.a - 1) / static_cast<double>(unit)
                             : static_cast<double>((first + move.a + unit - 1) / unit);
        return each * static_cast<double>(pieces * unit);
    };
    double span = static_cast<double>(((pieces - 1) * step + move.a + kLine - 1) / kLine *
                                      kLine);  // less than the sum where they overlap
    double lines = units(kLine), granules = units(kGranule);
    double wanted = lines < span ? lines : span;
    if (pieces == 1) return {granules, wanted, address % kAligned != 0};
    if (move.a >= kGranule) return {wander ? granules : wanted, wander ? granules : wanted, wander};
    double bytes = granules < span && granules > wanted ? granules : wanted;
    return {bytes, wanted, wander};
}

namespace {

// First in, first out. A granule is known by when it came in: it is there until so many others have come after it.
class Cache {
  public:
    Cache(uint64_t device_end, double bytes)
        : slots_(static_cast<uint32_t>(bytes / kGranule)), granules_(device_end / kGranule + 2) {
        came_ = static_cast<uint32_t*>(calloc(granules_, sizeof(uint32_t)));
        dirty_ = static_cast<uint8_t*>(calloc(slots_, 1));
        if (came_ == nullptr || dirty_ == nullptr) abort();
    }
    ~Cache() {
        free(came_);
        free(dirty_);
    }
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;
    // Whether the granule is there. It comes in when it is not, unless it goes past.
    bool Touch(uint64_t granule, bool write, bool bypass, uint64_t* evicted) {
        if (granule >= granules_) return false;
        uint32_t& came = came_[granule];
        bool there = came != 0 && now_ - came < slots_;
        if (!there && bypass) {
            if (write) ++*evicted;
            return !write ? false : true;
        }
        if (!there) {
            came = ++now_;
            uint8_t& slot = dirty_[came % slots_];
            *evicted += slot;
            slot = 0;
        }
        if (write) dirty_[came % slots_] = 1;
        return there || write;
    }

  private:
    uint32_t slots_;
    uint64_t granules_;
    uint32_t now_ = 0;
    uint32_t* came_;
    uint8_t* dirty_;
};

constexpr int kLines = 16;      // lines with transfers in one round that are told apart
constexpr uint32_t kSpots = 8;  // granules that the transfers of a line begin with, if they are no more

// What the transfers of one line did in one round.
struct Line {
    uint32_t pc;
    uint64_t granules, missed;
    uint64_t first;  // granule that the first of them began with
    uint32_t cores, alike;
    uint64_t begins[kSpots];  // granules that transfers began with
    uint32_t spots;           // of them; more than there is room for: all different, as far as is known
    void Begin(uint64_t granule) {
        ++cores;
        alike += granule == first;
        for (uint32_t i = 0; i < spots && i < kSpots; ++i) {
            if (begins[i] == granule) return;
        }
        if (spots < kSpots) begins[spots] = granule;
        if (spots <= kSpots) ++spots;
    }
    bool Crowded() const { return spots <= kSpots && spots < cores; }
    // The first of several cores that want a granule misses it, and the others wait until it is there.
    float Fresh() const {
        if (granules == 0) return 0;
        double different = static_cast<double>(granules) * (Crowded() ? static_cast<double>(spots) / cores : 1);
        return static_cast<float>(static_cast<double>(missed) < different ? static_cast<double>(missed) / different
                                                                          : 1);
    }
};

struct Walker {
    Program program;
    TapeEvent move;
    uint64_t address;
    bool ended, waits, moves;
};

uint64_t Mix(uint64_t hash, uint64_t word) { return (hash ^ word) * 0xff51afd7ed558ccdull ^ hash >> 29; }

void Digest(Followed& core, const void* data, size_t bytes) {
    auto* at = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word;
        memcpy(&word, at + i, 8);
        core.digest[0] = Mix(core.digest[0], word);
        core.digest[1] = Mix(core.digest[1], word * 0xc4ceb9fe1a85ec53ull + 1);
    }
}

void DigestEvent(Followed& core, const TapeEvent& event) {
    TapeEvent copy = event;
    if (copy.mark == TapeMark::Move) copy.detail = 0;
    Digest(core, &copy, sizeof copy);
}

// Goes on to the core's next transfer, to where it waits for others, or to its end.
void Advance(Walker& walker, Followed& core) {
    walker.moves = false;
    while (const TapeEvent* event = walker.program.Next()) {
        DigestEvent(core, *event);
        if (event->mark == TapeMark::Wait) {
            walker.waits = true;
            return;
        }
        if (event->mark == TapeMark::End) {
            double rest = walker.program.tape().rest();
            Digest(core, &rest, sizeof rest);
        }
        if (event->mark != TapeMark::Move) continue;
        walker.move = *event;
        walker.address = walker.program.address();
        walker.moves = true;
        return;
    }
    walker.ended = true;
}

void TouchAll(Cache& cache, const Walker& walker, bool bypass, Line& line, uint64_t* evicted) {
    const TapeEvent& move = walker.move;
    bool write = move.flags & kTapeWrite;
    bypass = (bypass && !write) || (move.flags & kTapeBypass);
    uint64_t last = ~0ull;
    for (uint32_t i = 0; i < move.b; ++i) {
        uint64_t from = walker.address + static_cast<uint64_t>(static_cast<int64_t>(i) * move.stride);
        for (uint64_t g = from / kGranule; move.a > 0 && g <= (from + move.a - 1) / kGranule; ++g) {
            if (g == last) continue;
            last = g;
            ++line.granules;
            line.missed += !cache.Touch(g, write, bypass, evicted);
        }
    }
}

Line& LineOf(Line* lines, int* count, uint32_t pc, uint64_t address) {
    for (int i = 0; i < *count; ++i) {
        if (lines[i].pc == pc || i == kLines - 1) return lines[i];
    }
    lines[*count] = {pc, 0, 0, address / kGranule, 0, 0, {}, 0};
    return lines[(*count)++];
}

// One transfer of every core that has one.
void Round(Cache& cache, Walker* walkers, int64_t cores, bool bypass, Followed* followed) {
    Line lines[kLines];
    int count = 0;
    uint64_t granules = 0, evicted = 0;
    for (int64_t c = 0; c < cores; ++c) {
        Walker& walker = walkers[c];
        if (!walker.moves) continue;
        Line& line = LineOf(lines, &count, walker.move.pc, walker.address);
        uint64_t before = line.granules;
        TouchAll(cache, walker, bypass, line, &evicted);
        granules += line.granules - before;
        line.Begin(walker.address / kGranule);
    }
    auto share = [](uint64_t part, uint64_t whole) {
        return whole == 0 ? 0.0f : static_cast<float>(part) / static_cast<float>(whole);
    };
    for (int64_t c = 0; c < cores; ++c) {
        if (!walkers[c].moves) continue;
        const Line& line = LineOf(lines, &count, walkers[c].move.pc, 0);
        bool shared = line.cores > 1 && line.alike == line.cores;
        const float fresh = line.Fresh(), crowd = line.Crowded() ? fresh / static_cast<float>(line.spots) : 0;
        Fate fate{share(line.missed, line.granules), fresh, share(evicted, granules), shared, crowd};
        followed[c].fates.Append(fate);
        double numbers[5] = {fate.missed, fate.fresh, fate.evicted, shared ? 1.0 : 0.0,
                             static_cast<double>(fate.crowd)};
        Digest(followed[c], numbers, sizeof numbers);
    }
}

}  // namespace

void FollowTransfers(const Launch& launch, int64_t cores, bool bypass, Followed* followed) {
    Cache cache(launch.memory.DeviceEnd(), launch.machine.l2_bytes);
    auto* walkers = static_cast<Walker*>(calloc(static_cast<size_t>(cores), sizeof(Walker)));
    if (walkers == nullptr) abort();
    for (int64_t c = 0; c < cores; ++c) {
        walkers[c].program.Open(launch.tapes, c, launch.cores * launch.CoresPerBlock(), launch.CoreCount());
        followed[c].digest[0] = 0x9e3779b97f4a7c15ull;
        followed[c].digest[1] = 0xd1b54a32d192ed03ull;
    }
    for (;;) {
        bool any = false, waits = false;
        for (int64_t c = 0; c < cores; ++c) {
            Walker& walker = walkers[c];
            if (!walker.ended && !walker.waits) Advance(walker, followed[c]);
            any = any || walker.moves;
            waits = waits || walker.waits;
            walker.moves = walker.moves && !walker.waits && !walker.ended;
        }
        if (any) {
            Round(cache, walkers, cores, bypass, followed);
        } else if (waits) {
            for (int64_t c = 0; c < cores; ++c) walkers[c].waits = false;
        } else {
            break;
        }
    }
    free(walkers);
}

}  // namespace twin
