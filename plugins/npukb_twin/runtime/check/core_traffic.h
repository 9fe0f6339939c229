// What one core reads and writes in global memory between two meetings of all cores, and whether cores get in each
// other's way.
#pragma once
#include "cores/core.h"
#include "check/pipe_order.h"

namespace twin {

struct Transfer {
    Range range;
    const void* pc;
    const char* instruction;
    uint32_t phase;    // what the core knew of the others, as its tracker numbers it
    uint32_t told;     // how often the core had told others what it has done
    uint32_t number;   // among the instructions of its pipe; of the last one when several were joined
    uint32_t content;  // hash of what was written
    uint8_t pipe;      // as clocks number it
    bool write;
    bool atomic;
    bool scalar;  // through the core's data cache
    bool hashed;
};

// Transfers of one core, neighbours joined.
class Traffic {
  public:
    ~Traffic();
    void Note(const Transfer& transfer);
    void Clear() { count_ = 0; }
    uint32_t size() const { return count_; }
    const Transfer& operator[](uint32_t i) const { return items_[i]; }

  private:
    static constexpr uint32_t kMost = 1u << 14;  // later ones are not looked at
    bool Join(Transfer& last, const Transfer& next) const;
    Transfer* items_ = nullptr;
    uint32_t count_ = 0;
    uint32_t room_ = 0;
};

// Sum over bytes of a value that depends on the byte and its address, so that hashes of neighbours add up.
uint32_t ContentHash(const Range& range);

// Compares the traffic of all cores since the last time, and forgets it. No block may be running.
void CheckRaces(Core* const* cores, int64_t count);

// What one core stores in global memory and adds to what is there, by meetings of all cores, whatever checker there is:
// sums are formed in the order of the blocks here, so that no other order of the cores would show what is missing.
struct Sums {
    Traffic traffic;
    uint64_t added_at = 0;  // the meeting behind which the core has added last
    bool adds = false;
};

// The core has moved this. Reads count once the core has added: what it reads then may be a sum.
void NoteSums(Core& core, const Access& access);
void StopSums(Core& core);
// After all blocks have ended: sums that another core overwrites or reads, and nothing but a meeting that did not take
// place could have kept apart.
void CheckSums(Core* const* cores, int64_t count);

}  // namespace twin
