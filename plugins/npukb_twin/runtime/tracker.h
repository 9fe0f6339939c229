// What the full checker remembers of one core: who touched which memory when, and which bytes hold anything.
//
// An instruction's operands are noted while they are checked (region.h). When it has been given its time, they are compared with
// what other pipes did to the same memory, and remembered in turn.
#pragma once
#include "../include/twin/move_abi.h"
#include "order.h"
#include "shadow.h"
#include "traffic.h"

namespace twin {

class Tracker final : public Observer {
  public:
    explicit Tracker(Core& core) : core_(core), order_(core), shadow_(core) {}
    // The next instruction touches this.
    void Note(const Access& access);
    // Where the operand that begins at `address` has gaps.
    void Refine(const void* address, bool write, uint64_t bytes, uint64_t stride, uint32_t count);
    void Issued(Pipe pipe) override;
    // The block has ended; what it did to global memory is still wanted.
    void Release() {
        order_.Release();
        shadow_.Release();
    }
    // What was noted last is no instruction of the kernel.
    void Forget() { count_ = 0; }
    // Undefined bytes of UB go to global memory, at [begin, end) of the buffer with this number.
    void NoteSpoiled(int buffer, uint64_t begin, uint64_t end, const char* instruction, const void* pc);
    // After the last block has ended: undefined bytes that nothing has replaced.
    void Finish();
    // Whoever knows better than the operands' extents which bytes an instruction defines says so here.
    Shadow& shadow() { return shadow_; }
    Traffic& traffic() { return traffic_; }
    // The core has met the others: what it did before comes before what they do next.
    void Met() { ++phase_; }
    // All cores have met, and their traffic has been compared.
    void Restart() {
        traffic_.Clear();
        phase_ = 0;
    }
    Shadow& Results() {
        told_ = true;
        return shadow_;
    }

  private:
    static constexpr int kMost = 40;
    Core& core_;
    Order order_;
    Shadow shadow_;
    Traffic traffic_;
    uint32_t phase_ = 0;
    Access pending_[kMost];
    int count_ = 0;
    bool told_ = false;
    void NoteTraffic(Pipe pipe, const Access& access);
    static constexpr int kMostSpoiled = 32;
    struct Spoiled {
        int buffer;
        uint64_t begin, end;
        const char* instruction;
        const void* pc;
    } spoiled_[kMostSpoiled];
    int spoiled_count_ = 0;
};

// Makes a tracker for the core when the launch asks for one.
void StartTracker(Core& core);
void StopTracker(Core& core);  // after the last block has ended

// Which bytes a vector instruction or a move leaves defined. Both have been executed.
struct Lanes;
void TrackVector(Core& core, const npukb::VectorInstruction& v, const Lanes& lanes, const void* pc);
void TrackCopy(Core& core, const npukb::CopyInstruction& c, const void* pc);
void TrackScalar(Core& core, const void* address, uint32_t bytes, bool write, bool global, const void* pc);

}  // namespace twin
