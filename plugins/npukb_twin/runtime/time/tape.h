// What one block did, in the order in which its scalar unit issued it: enough to compute its time again on another
// machine, or after another decision of its author. Nothing in it is a time, but for when another core had written what
// this one reads.
//
// Loops repeat themselves: the tape holds what is new, and "the last n events again, so many times" for the rest. A
// transfer's address is kept as the distance from the previous one of the same line, so that walking through a tensor
// repeats itself, too.
#pragma once
#include <stdint.h>

#include "../../include/twin/abi.h"

namespace twin {

enum class TapeMark : uint8_t { Run, Vector, Move, Hold, All, Raise, Arrive, Wait, End, Again, Until };

enum TapeFlag : uint8_t {
    kTapeWrite = 1,       // Move: to global memory
    kTapeUnaligned = 2,   // Move: the address is no multiple of 256
    kTapeBypass = 4,      // Move: past the L2 cache
    kTapeChain = 8,       // Vector: reads what the instruction before it writes
    kTapeBarrier = 16,    // Run: does nothing but wait for its own pipe
    kTapeBuffer = 32,     // Hold: for a buffer that is used again
    kTapeLateral = 64,    // Move: between global memory and L1 or L0C instead of UB
    kTapeCoreFlag = 128,  // Arrive: a flag between cores is set; `stride` says which and how
};

// Of a place: it is in the image of the cube cores.
inline constexpr uint32_t kTapeCubeImage = 1u << 31;

struct TapeEvent {
    TapeMark mark;
    npukb::Pipe pipe;
    npukb::Pipe other;  // Hold: what is waited for; Raise, Arrive: whose completion says so
    uint8_t flags;
    uint32_t pc;
    float scalar;    // cycles of the scalar unit before this event
    float work;      // Run, Vector: cycles; Hold, All: cycles of delay; Until: cycles from the block's beginning
    uint32_t a;      // Move: bytes of a piece; Hold: instructions back; Arrive, Raise, Wait: the count; Vector: cycles
                     // from its end to its result
    uint32_t b;      // Move: pieces; Hold: instructions back to the use of the buffer before; Arrive: how many meet;
                     // Vector: entries back to the one whose late result it reads, 0: none
    int64_t detail;  // Move: address as a distance; Arrive, Raise, Wait: which signal
    int32_t stride;  // Move: from piece to piece
    float conflict;  // Vector: cycles that bank conflicts cost; Run: cycles until its result is there
};
static_assert(sizeof(TapeEvent) == 40);

// Cycles that the scalar unit spent on one line's loads and stores.
struct ScalarSite {
    uint32_t pc;
    uint32_t count;
    double cycles;
};

inline constexpr uint32_t kTapeWindow = 1024;
inline constexpr uint32_t kTapeLateBack = 64;  // entries of a pipe after which every result is there
inline constexpr uint32_t kTapeSites = 64;
inline constexpr uint32_t kScalarSites = 128;

class Tape {
  public:
    // Makes a tape; `most` events are kept at most.
    static Tape* New(uint32_t most);
    void Free();
    void Push(const TapeEvent& event) {
        if (window_ == nullptr) return;
        TapeEvent& slot = window_->ring[count_ % kTapeWindow];
        if (distance_ != 0 && Same(event, window_->ring[(count_ - distance_) % kTapeWindow])) {
            slot = event;
            ++count_;
            ++length_;
            return;
        }
        Begin(event);
    }
    // The distance of `address` from what the last transfer of this line left.
    int64_t Distance(uint32_t pc, uint64_t address) {
        uint64_t& last = window_ == nullptr ? spare_ : window_->sites[Site(pc)];
        auto distance = static_cast<int64_t>(address - last);
        last = address;
        return distance;
    }
    static uint32_t Site(uint32_t pc) { return (pc * 2654435761u) >> 26; }
    void Scalar(uint32_t pc, double cycles);
    // Whether a scalar access to global memory finds its line in the data cache, or at least its granule in L2.
    enum class Found { Cache, L2, Nowhere };
    Found Look(uint64_t address);
    // Nothing follows but `scalar` cycles of the scalar unit. What did not fit on the tape is a rest of so many cycles.
    void Close(double scalar);
    bool full() const { return full_; }
    bool open() const { return window_ != nullptr; }
    const TapeEvent* log() const { return log_; }
    uint32_t size() const { return size_; }
    uint64_t count() const { return count_; }
    void SetRest(double cycles) { rest_ = cycles; }
    // Cycles of the scalar unit, in all and for access to memory.
    void SetScalar(double cycles) { scalar_cycles_ = cycles; }
    double AccessShare() const { return scalar_cycles_ > 0 ? access_cycles_ / scalar_cycles_ : 0; }
    double rest() const { return rest_; }
    const ScalarSite* scalar_sites() const { return scalar_; }

  private:
    static constexpr uint32_t kHeads = 1024;
    static constexpr uint32_t kCacheLines = 512;
    static constexpr uint32_t kSeenWords = 1024;
    struct Window {
        TapeEvent ring[kTapeWindow];
        uint32_t heads[kHeads];  // count after which an event with this hash was seen last
        uint64_t sites[kTapeSites];
        uint32_t lines[kCacheLines];
        uint64_t seen[kSeenWords];
    };
    static bool Same(const TapeEvent& a, const TapeEvent& b) { return __builtin_memcmp(&a, &b, sizeof a) == 0; }
    void Begin(const TapeEvent& event);
    void Append(const TapeEvent& event);
    void Flush();

    TapeEvent* log_;
    uint32_t size_;
    uint32_t room_;
    uint32_t most_;
    uint32_t distance_;
    uint32_t length_;
    uint64_t count_;
    bool full_;
    double rest_;
    uint64_t spare_;
    double scalar_cycles_;
    double access_cycles_;
    ScalarSite scalar_[kScalarSites];
    Window* window_;
};

// Reads a tape from its beginning.
class TapeReader {
  public:
    void Open(const Tape& tape) {
        tape_ = &tape;
        at_ = 0;
        again_ = 0;
        count_ = 0;
        for (uint64_t& site : sites_) site = 0;
    }
    // The next event, with the address of a transfer in place of the distance; null behind the last one.
    const TapeEvent* Next() {
        const TapeEvent* found;
        if (again_ > 0) {
            --again_;
            found = &ring_[(count_ - distance_) % kTapeWindow];
        } else {
            if (at_ == tape_->size()) return nullptr;
            found = &tape_->log()[at_++];
            if (found->mark == TapeMark::Again) {
                distance_ = found->a;
                again_ = found->b;
                return Next();
            }
        }
        TapeEvent& slot = ring_[count_++ % kTapeWindow];
        slot = *found;
        if (slot.mark != TapeMark::Move) return &slot;
        uint64_t& site = sites_[Tape::Site(slot.pc)];
        site += static_cast<uint64_t>(slot.detail);
        address_ = site;
        return &slot;
    }
    // Of the transfer that Next gave.
    uint64_t address() const { return address_; }

  private:
    const Tape* tape_;
    uint32_t at_;
    uint32_t again_;
    uint32_t distance_;
    uint64_t count_;
    uint64_t address_;
    uint64_t sites_[kTapeSites];
    TapeEvent ring_[kTapeWindow];
};

}  // namespace twin
