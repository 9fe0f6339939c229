// What the full checker remembers of one core: who touched which memory when, and which bytes hold anything.
//
// An instruction's operands are noted while they are checked (check/operand_check.h). When it has been given its time,
// they are compared with what other pipes did to the same memory, and remembered in turn.
#pragma once
#include "../../include/twin/move_abi.h"
#include "check/pipe_order.h"
#include "check/shadow.h"
#include "check/core_traffic.h"

namespace twin {

class Tracker final : public Observer {
  public:
    explicit Tracker(Core& core);
    ~Tracker();
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
    // What was noted last is done for this core by another one, and over when the core's call is.
    void Served();
    // Undefined bytes of UB go to global memory, at [begin, end) of the buffer with this number.
    void NoteSpoiled(int buffer, uint64_t begin, uint64_t end, const char* instruction, const void* pc);
    // After the last block has ended: undefined bytes that nothing has replaced.
    void Finish();
    // Whoever knows better than the operands' extents which bytes an instruction defines says so here.
    Shadow& shadow() { return shadow_; }
    Traffic& traffic() { return traffic_; }
    // What this core knows of the others now, and what it has just learnt of them.
    const uint32_t* Known() const { return views_ + phase_ * words_; }
    void Learn(const uint32_t* clock);
    void ToldOthers() { ++told_others_; }
    // What it knew when it made a transfer with this phase.
    const uint32_t* KnownIn(uint32_t phase) const { return views_ + phase * words_; }
    // All cores have met, and their traffic has been compared.
    void Restart();
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
    static constexpr uint32_t kMostViews = 2048;  // later transfers are not looked at
    size_t words_;
    uint32_t* views_;  // one clock per phase: the core has learnt something between two of them
    uint32_t phase_ = 0;
    uint32_t room_ = 1;
    uint32_t told_others_ = 0;
    Access pending_[kMost];
    int count_ = 0;
    bool told_ = false;
    void NoteTraffic(Pipe pipe, const Access& access, bool scalar);
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
// Bytes that an instruction of the cube unit has put into global memory.
void TrackStored(Core& core, const void* gm, uint64_t bytes);
void TrackScalar(Core& core, const void* address, uint32_t bytes, bool write, bool global, const void* pc);

}  // namespace twin
