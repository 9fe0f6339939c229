// The order of accesses inside one core: two pipes that touch the same memory, one of them writing, need something
// between them that makes the second wait for the first.
//
// An instruction's operands are noted while they are checked (check/operand_check.h). When it has been given its time,
// they are compared with what other pipes did to the same memory, and remembered in turn.
#pragma once
#include "cores/core.h"
#include "check/range.h"
#include "check/snapshot.h"

namespace twin {

// One operand of one instruction.
struct Access {
    const char* instruction;
    const char* role;
    const void* pc;
    Range range;
    bool write;
    bool global;
    bool atomic;           // adds to what is there
    bool loads = false;    // a transfer from global memory does it
    uint64_t own = ~0ull;  // bytes of the range that lie in its tensor and its buffer
};

struct OrderTables;

class PipeOrder final : public Observer {
  public:
    explicit PipeOrder(Core& core);
    PipeOrder(const PipeOrder&) = delete;
    ~PipeOrder();
    // The next instruction touches this, and has not run yet.
    void Note(const Access& access);
    // Where the operand that begins at `address` has gaps.
    void Refine(const void* address, bool write, uint64_t bytes, uint64_t stride, uint32_t count);
    void Issued(Pipe pipe) override;
    // What was noted last is no instruction of the kernel.
    void Forget();
    // What was noted last is done for this core by another one, and over when the core has Waited.
    void Served();
    void Waited() { ordered_count_ = 0; }
    // Something outside of the core, which no flag of the compiler's waits for, is about to touch global memory.
    void Handed(const Access& access);

  private:
    static constexpr int kPipes = npukb::kPipes;
    static constexpr int kMost = 40;
    static constexpr int kMostOrdered = 32;   // later ones are not looked at
    static constexpr int kRecent = 32;        // accesses of a pipe whose places are remembered
    static constexpr uint32_t kPlaces = 512;  // instructions of a pipe whose source lines are remembered
    // How far each pipe's instructions are over for the one that is looked at.
    struct Limits {
        uint32_t done[kPipes];
    };
    struct Recent {
        Range range;
        uint32_t when;
        bool write;
        bool atomic;
    };
    struct Place {
        const void* pc;
        const char* instruction;
    };
    // An instruction that may still be under way.
    struct Other {
        int pipe;
        uint32_t when;
        bool wrote;
    };
    bool Checked(Pipe pipe, int other) const;
    Limits LimitsOf(Pipe pipe, const Knowledge& known) const;
    bool FindReader(Pipe pipe, const Limits& limits, uint32_t first, uint32_t last, Other* other) const;
    void Keep(const Access& access);
    void KeepGlobal(const Access& access);
    bool Unread(int reader, const Limits& limits) const;
    bool Unseen(Pipe pipe, const Access& access, const Limits& limits);
    void Look(Pipe pipe, int count);
    void LookAt(Pipe pipe, const Access& access, const Limits& limits);
    void CheckOrdered(const Access& access);
    void CheckLocal(Pipe pipe, const Access& access, const Limits& limits);
    void CheckGlobal(Pipe pipe, const Access& access, const Limits& limits);
    bool FindIn(Pipe pipe, const Access& access, const Limits& limits, uint32_t first, uint32_t last, Other* other);
    void Remember(Pipe pipe, const Access& access);
    // Whether the instruction goes on being looked at.
    bool Report(Pipe pipe, const Access& access, const Other& other, uint64_t from, uint64_t to);

    Core& core_;
    OrderTables* tables_;
    uint32_t last_read_[kPipes] = {};  // the latest instruction of the pipe that read memory on the chip
    Place places_[kPipes][kPlaces];
    Recent recent_[kPipes][kRecent];  // of global memory
    uint32_t moves_[kPipes] = {};
    Recent sources_[kPipes][kRecent];  // on the chip
    uint32_t reads_[kPipes] = {};
    Access pending_[kMost];
    int count_ = 0;
    // Global memory that another core reads and writes for this one, until somebody waits for it.
    Access ordered_[kMostOrdered];
    int ordered_count_ = 0;
    // What the memory held that the next instruction is about to write while others may still be at it.
    Snapshot kept_, kept_global_;
    bool derives_ = false;  // what the instruction writes comes from a tensor
};

// Makes the order of the core's pipes known when the launch asks for it.
void StartOrder(Core& core);
// At the end of the core's block: the next block on this host thread gets the memory. Blocks that were abandoned end
// after the last one.
void StopOrder(Core& core);

}  // namespace twin
