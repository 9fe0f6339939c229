// What becomes of a launch's transfers in the L2 cache: which bytes come from memory, and which go back to it.
//
// The cores are followed round by round: their first transfers, their second ones, and so on. Transfers of one line in
// one round share one fate, as cores that do the same thing at the same time do. So identical cores stay identical, and
// the result does not depend on times.
#pragma once
#include "cores/core.h"
#include "time/program.h"

namespace twin {

struct Fate {
    float missed;   // share of the transfer's granules that memory has to serve
    float fresh;    // share that comes from memory, whichever core it was that missed it
    float evicted;  // granules per granule that go back to memory to make room
    bool shared;    // all other cores want the same granules at the same time
    float crowd;    // `fresh` divided by how many granules the cores want at the same time, where several want the same
    bool operator==(const Fate& o) const {
        return missed == o.missed && fresh == o.fresh && evicted == o.evicted && shared == o.shared && crowd == o.crowd;
    }
};

// The fates of one core's transfers, in order; equal ones in a row are kept once.
class Fates {
  public:
    ~Fates();
    void Append(const Fate& fate);
    void Rewind() { run_ = 0, used_ = 0; }
    const Fate& Next() {
        while (used_ == runs_[run_].count) ++run_, used_ = 0;
        ++used_;
        return runs_[run_].fate;
    }

  private:
    struct Run {
        Fate fate;
        uint32_t count;
    };
    Run* runs_ = nullptr;
    uint32_t size_ = 0, room_ = 0, run_ = 0, used_ = 0;
};

inline constexpr uint64_t kGranule = 512;
inline constexpr uint64_t kLine = 128;

// A transfer's pieces as one where they begin at multiples of two lines and leave no gaps.
inline TapeEvent Joined(const TapeEvent& move) {
    TapeEvent joined = move;
    if (move.b < 2 || move.stride != static_cast<int32_t>(move.a) || move.a % (2 * kLine) != 0) return joined;
    joined.a *= joined.b;
    joined.b = 1;
    return joined;
}

// What a transfer touches. L2 and memory work in granules; a transfer in one piece is cut into lines.
struct Reach {
    double bytes;    // that L2 has to serve
    double wanted;   // of them, in whole lines
    bool unaligned;  // pieces do not begin at multiples of two lines
};
Reach ReachOf(const TapeEvent& move, uint64_t address);

// A core's transfers and a digest of everything that its time depends on: cores with equal digests take equal times.
struct Followed {
    Fates fates;
    uint64_t digest[2];
};

// Follows `cores` cores. `bypass`: as if every input that is read once had been told to go past the cache.
void FollowTransfers(const Launch& launch, int64_t cores, bool bypass, Followed* followed);

}  // namespace twin
