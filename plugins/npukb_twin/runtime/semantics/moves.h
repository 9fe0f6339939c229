// The rows of instructions.def that are no vector instructions by lanes, as the runtime reads them: their operands,
// where those may lie, what they may share memory with, and how fast they go.
#pragma once
#include "../../include/twin/types.h"
#include "check/operand_check.h"
#include "check/tracker.h"
#include "cores/onchip.h"
#include "semantics/overlap.h"

namespace twin {

enum class Slot : uint8_t { Dst, Src0, Src1, Src2, Src3, Scratch };
enum class SharingRule : uint8_t { Free, Same, Apart };
enum class Use : uint8_t { Moves, Decides };  // what becomes of the bytes of a source

inline constexpr uint32_t kFractalAlignment = 512, kBlockAlignment = 32;

// One operand of a row.
struct OperandRow {
    Slot slot;
    const char* role;  // as messages call it; null where a row has no more operands
    uint16_t alignment;
    MemorySet memories;
    SharingRule sharing;
    Use use;

    bool Written() const { return slot == Slot::Dst || slot == Slot::Scratch; }
};

struct MoveRow {
    const char* name;
    uint16_t per_cycle16;
    uint16_t per_cycle32;
    OperandRow operands[5];

    // The operand in a slot. Asking for one that the row has not is a mistake of the runtime.
    const OperandRow& At(Slot slot) const {
        for (const OperandRow& operand : operands) {
            if (operand.role != nullptr && operand.slot == slot) return operand;
        }
        __builtin_trap();
    }
    // Elements per cycle.
    double Rate(uint32_t element_bytes) const { return element_bytes == 2 ? per_cycle16 : per_cycle32; }
    // Whether the result may share no memory with any source.
    bool Exclusive() const { return At(Slot::Src0).sharing == SharingRule::Apart; }
};

namespace moves {

// The words of the operands column.
inline constexpr uint16_t kOfElements = 1u << 15, Fractal = 1u << 14;
constexpr uint16_t Elements(uint16_t count) { return static_cast<uint16_t>(kOfElements | count); }
inline constexpr MemorySet Ub = SetOf(Memory::Ub), L1 = SetOf(Memory::L1), L0A = SetOf(Memory::L0A),
                           L0B = SetOf(Memory::L0B), L0C = SetOf(Memory::L0C), Bt = SetOf(Memory::Bt),
                           Fb = SetOf(Memory::Fb), Gm = 0;  // global memory is checked apart: see CheckGlobal
inline constexpr SharingRule Free = SharingRule::Free, Same = SharingRule::Same, Apart = SharingRule::Apart;
inline constexpr Use Decides = Use::Decides;
#define NPUKB_SLOT(slot)                                                                                     \
    constexpr OperandRow slot(const char* role, uint16_t alignment, MemorySet memories, SharingRule sharing, \
                              Use use = Use::Moves) {                                                        \
        return {Slot::slot, role, alignment, memories, sharing, use};                                        \
    }
NPUKB_SLOT(Dst)
NPUKB_SLOT(Src0)
NPUKB_SLOT(Src1)
NPUKB_SLOT(Src2)
NPUKB_SLOT(Src3)
NPUKB_SLOT(Scratch)
#undef NPUKB_SLOT

#define NPUKB_OPERANDS(...) {__VA_ARGS__}
#define NPUKB_INSTRUCTION(...)
#define NPUKB_MOVE(name, operands, types, rate16, rate32, chapter) \
    inline constexpr MoveRow name{#name, rate16, rate32, NPUKB_OPERANDS operands};
#include "../../include/twin/instructions.def"
#undef NPUKB_OPERANDS

}  // namespace moves

// Bytes that an operand at `address` must begin at a multiple of.
inline uint32_t AlignmentOf(Core& core, const OperandRow& operand, const void* address, uint32_t element_bytes = 1) {
    if (operand.alignment & moves::kOfElements) return (operand.alignment & ~moves::kOfElements) * element_bytes;
    if (operand.alignment == moves::Fractal)
        return core.Holding(address) == Memory::L1 ? kBlockAlignment : kFractalAlignment;
    return operand.alignment;
}

// Checks `bytes` of an operand in on-chip memory, from `address` on. `memories` are fewer than the row's where a form
// of the call has fewer.
inline void CheckMove(Core& core, const MoveRow& move, Slot slot, const void* address, uint64_t bytes,
                      uint32_t tensor_bytes, const void* pc, MemorySet memories = 0xff) {
    const OperandRow& row = move.At(slot);
    CheckLocal(core,
               {move.name, row.role, address, bytes, tensor_bytes, AlignmentOf(core, row, address), row.Written(),
                static_cast<MemorySet>(row.memories & memories)},
               pc);
}

// An element goes from an operand in UB to its place in the result: one that holds no value leaves none there. Without
// the full checker this is nothing, as is the next.
inline void Follow(Core& core, const void* to, const void* from, uint64_t bytes) {
    if (core.tracker != nullptr) MarkResult(core, to, bytes, HoldsValue(core, from, bytes));
}

// Bytes of an operand whose row says that they decide; warns of them where they hold no value.
inline void Decide(Core& core, const MoveRow& move, Slot slot, const void* from, uint64_t bytes, const void* pc) {
    const OperandRow& row = move.At(slot);
    if (core.tracker == nullptr || row.use != Use::Decides || HoldsValue(core, from, bytes)) return;
    core.Warn("uninitialized_read", pc, "Write all of it that the instruction reads.",
              "%s: UB offset %u of %s was never given a value and decides the result", move.name, core.UbOffset(from),
              row.role);
}

// Whether a result lies on a source in a way that the row does not allow; warns of it.
inline bool SharesBadly(Core& core, const MoveRow& move, Slot slot, const Stretch& dst, const void* address,
                        uint64_t bytes, const void* pc) {
    const OperandRow& row = move.At(slot);
    return row.sharing != SharingRule::Free &&
           Clashes(core, move.name, dst, {row.role, address, bytes}, row.sharing == SharingRule::Same, pc);
}

}  // namespace twin
