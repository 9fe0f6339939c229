// Where bytes of global memory come from. A launch may be asked to watch a few: then every instruction is noted with
// what it read and wrote, and when all blocks have ended, the way back from each watched place is followed: the
// instruction that wrote it last, the instructions that wrote what that one read, and so on, with the values that they
// left. Only people who debug a kernel ask for that, in a run of its own on one host thread.
#pragma once
#include "check/pipe_order.h"
#include "semantics/lanes.h"

namespace npukb {
struct CopyInstruction;
}

namespace twin {

// One instruction on the way, or memory that no instruction wrote.
struct JournalStep {
    int parent;                // the step that read what this one wrote; -1 for the watched place
    const char* role;          // what that one read it as: src0, scalar, …; see kBefore and kin for other relations
    const char* instruction;   // null: nothing wrote it
    uint64_t place, sequence;  // in the image; among all instructions, counted from 1
    int64_t core;
    Pipe pipe;
    const char* memory;  // UB, or a buffer's name
    uint64_t offset;
    int dtype;  // of DType, -1 where the instruction does not tell
    uint32_t bytes;
    uint8_t before[8], after[8];
    bool knows_before, knows_after, has_scalar;
    uint64_t scalar;  // an operand, in the type of the first source
    int scalar_type;
};

// Relations of a step to a watched place besides being on the way to it.
inline constexpr const char* kBefore = "overwritten";  // wrote there earlier
inline constexpr const char* kBelow = "below";         // wrote nearest in front of a place that nobody wrote to
inline constexpr const char* kAbove = "above";         // behind it

struct JournalEntry;
struct JournalOperand;

class Journal {
  public:
    // `bytes` of the buffer with this number, at `offset`: of one element.
    bool Watch(int buffer, uint64_t offset, uint32_t bytes);
    // False when the core that is to be recorded is none of the launch's.
    bool Start(Launch& launch);
    // An operand of the core's next instruction, as PipeOrder is told of it, but for all of global memory.
    void Note(Core& core, const Access& access);
    // Where an operand that has been noted has gaps.
    void Refine(const Core& core, const Access& access);
    // The next instruction is this one, and has run. Its operands' places are known exactly.
    void Vector(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc);
    void Copied(Core& core, const npukb::CopyInstruction& c, const void* pc);
    // The next instruction is what its noted operands say, and has run, but for what the scalar unit is about to store.
    void Issued(Core& core, Pipe pipe);
    void Forget(Core& core);
    // What is no instruction, but orders some: a flag, a queue, a barrier. The text says which.
    void Event(Core& core, const char* name, const void* pc, const char* format, ...)
        __attribute__((format(printf, 5, 6)));
    // All that this core of a block does is written to so many bytes of `memory` when the launch has ended.
    void Record(int64_t block, int64_t core, uint8_t* memory, uint64_t bytes) {
        recorded_ = {block, core, memory, bytes};
    }
    void WriteRecord() const;
    int watches() const { return watches_; }
    // The way back from the watched place with this number; how many steps.
    int Follow(int watch, JournalStep* steps, int most);

  private:
    struct Place {
        bool global;
        int64_t core;  // of a place on the chip
        uint64_t address;
        uint32_t bytes;
        uint64_t limit;  // written by an instruction before this one
        int parent, dtype;
        const char* role;
    };
    static constexpr int kMostWatches = 16, kOperands = 12, kPlaces = 256;
    static constexpr uint64_t kEntries = 1u << 19, kContents = 1u << 29, kMostContent = 1u << 20;
    struct Pending {
        Access operands[kOperands];
        int count;
        uint64_t unsettled;  // an instruction whose result the scalar unit is storing
    };
    JournalEntry& At(uint64_t sequence) const;
    uint64_t First() const { return sequence_ > kEntries ? sequence_ - kEntries + 1 : 1; }
    JournalEntry& Append(Core& core, const char* name, const void* pc, Pipe pipe);
    void Take(Core& core, Pipe pipe);
    void Settle(const Core& core, Pending& pending);
    void Keep(const Core& core, JournalOperand& operand);
    uint64_t Writer(const Place& place, int* operand) const;
    bool ValueAt(const Place& place, uint8_t* value) const;
    bool Content(const JournalOperand& operand, uint64_t address, uint32_t bytes, uint8_t* value) const;
    void Push(const Place& place);
    void PushSources(const JournalEntry& entry, const JournalOperand& to, const Place& place, int step);
    void PushShare(const JournalEntry& entry, const JournalOperand& from, const Place& place, uint64_t position,
                   uint64_t whole, int step);
    void PushLanes(const JournalEntry& entry, uint64_t address, int step);
    void PushScalar(const JournalEntry& entry, int step);
    bool WriteOperand(const JournalEntry& entry, const JournalOperand& operand, uint8_t* room, uint64_t left,
                      uint64_t* used) const;
    // The memory that a place lies in, and where.
    const char* Locate(bool global, uint64_t at, uint64_t* offset) const;
    JournalStep Describe(const Place& place) const;
    void PushShort(const Place& place, int step);
    int Neighbours(const Place& place, JournalStep* steps, int most) const;

    Launch* launch_ = nullptr;
    struct {
        int buffer;
        uint64_t offset;
        uint32_t bytes;
    } watched_[kMostWatches];
    int watches_ = 0;
    struct {
        int64_t block;
        int64_t core;  // of the block, then of the launch
        uint8_t* memory;
        uint64_t bytes;
    } recorded_{};
    Pending* pending_ = nullptr;  // of every core
    JournalEntry* entries_ = nullptr;
    uint64_t sequence_ = 0;
    uint8_t* contents_ = nullptr;
    uint64_t kept_ = 0;
    Place places_[kPlaces];
    int place_count_ = 0;
};

}  // namespace twin
