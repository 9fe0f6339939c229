// The order of accesses inside one core: two pipes that touch the same memory, one of them writing, need something
// between them that makes the second wait for the first.
#pragma once
#include "cores/core.h"
#include "check/range.h"

namespace twin {

// One operand of one instruction.
struct Access {
    const char* instruction;
    const char* role;
    const void* pc;
    Range range;
    bool write;
    bool global;
    bool atomic;   // adds to what is there
    bool excused;  // something worse has been said about it
};

class Order {
  public:
    explicit Order(Core& core);
    ~Order() { Release(); }
    // The block has ended: its memory may go to the next one.
    void Release();
    Order(const Order&) = delete;
    // The instruction that `pipe` was given last touches all of these.
    void Check(Pipe pipe, const Access* accesses, int count);

  private:
    static constexpr int kPipes = npukb::kPipes;
    static constexpr int kRecent = 32;         // moves to and from global memory that may still be under way
    static constexpr uint32_t kPlaces = 4096;  // instructions whose source lines are remembered
    struct Recent {
        Range range;
        uint32_t when;
        bool write;
        bool atomic;
    };
    void CheckLocal(Pipe pipe, const Access& access);
    void CheckGlobal(Pipe pipe, const Access& access);
    void Remember(Pipe pipe, const Access& access);
    bool Relevant(Pipe pipe, int other) const;
    void Report(Pipe pipe, const Access& access, int other, uint32_t when, bool other_wrote, uint64_t from,
                uint64_t to);

    Core& core_;
    uint32_t blocks_;
    uint32_t* written_[kPipes];  // per 32-byte block of the arena: the pipe's last instruction that wrote it
    uint32_t* read_[kPipes];
    const void** places_[kPipes];
    Recent recent_[kPipes][kRecent] = {};
    uint32_t next_[kPipes] = {};
};

}  // namespace twin
