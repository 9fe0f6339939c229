// What the full checker remembers of one core besides the order of its pipes: which bytes hold anything, and what it
// knew of other cores when it touched global memory.
#pragma once
#include "../../include/twin/move_abi.h"
#include "check/pipe_order.h"
#include "check/shadow.h"
#include "check/core_traffic.h"

namespace twin {

class Tracker {
  public:
    explicit Tracker(Core& core);
    ~Tracker();
    // The next instruction stores in global memory. No other core may until the bytes have been looked at: those of a
    // core on another host thread would be taken for its own.
    void Hold(const Access& access);
    void Let();
    // An instruction with these operands has run.
    void Issued(Pipe pipe, const Access* accesses, int count);
    // The block has ended; what it did to global memory is still wanted.
    void Release() { shadow_.Release(); }
    // Another core has done this for it.
    void Served(const Access* accesses, int count);
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
    Core& core_;
    Shadow shadow_;
    Traffic traffic_;
    static constexpr uint32_t kMostViews = 2048;  // later transfers are not looked at
    size_t words_;
    uint32_t* views_;  // one clock per phase: the core has learnt something between two of them
    uint32_t phase_ = 0;
    uint32_t room_ = 1;
    uint32_t told_others_ = 0;
    bool told_ = false;
    bool holds_ = false;
    void Note(Pipe pipe, const Access* accesses, int count);
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
// Of bytes of UB that an instruction moves one by one: whether they hold a value, and whether those of its result do.
// Only where the core has a tracker.
bool HoldsValue(Core& core, const void* from, uint64_t bytes);
void MarkResult(Core& core, const void* to, uint64_t bytes, bool holds_value);
void TrackScalar(Core& core, const void* address, uint32_t bytes, bool write, bool global, const void* pc);

}  // namespace twin
