// The instructions that a kernel's code may consist of, and what each does to registers and memory.
//
// This is a list of what is allowed: what is not on it is Refused, above all whatever talks to the operating system,
// changes the processor's state, addresses through segments, or reads and writes memory that no operand names.
#pragma once
#include <stdint.h>

#include "time/machine_code.h"

namespace twin {

// What an instruction does, as far as it helps to follow addresses.
enum class Act : uint8_t {
    Refused,
    Plain,        // nothing is known of what it writes
    Move,         // to `target` or, with none, to memory: `source`, of which `from` bytes are extended
    Address,      // to `target`: the address that the operand in memory stands for
    Add,          // to `target`: the register `source`
    AddConstant,  // to `target`; subtracting is adding, too
    Shift,        // `target`, to the left by a constant
    Mask,         // to `target`: the register `source`, or itself, with a constant
    Multiply,     // to `target`: the second operand by a constant
    Push,
    Pop,
};
inline constexpr int8_t kNone = -1, kFromMemory = -2, kFromConstant = -3;
// More bases of addresses than kNextInstruction: where the instruction lies, and its page of 4 KiB.
inline constexpr int8_t kInstruction = 65, kItsPage = 66;

struct Effect {
    Act act = Act::Refused;
    uint8_t width = 0;  // bytes of the operation
    uint8_t from = 0;
    bool is_signed = false;  // how `from` bytes are extended
    uint8_t load_bytes = 0;  // of the operand in memory
    uint8_t store_bytes = 0;
    uint64_t writes = 0;    // registers that are followed, a bit each
    int8_t target = kNone;  // one of them
    int8_t source = kNone;
    int64_t constant = 0;
    int8_t base = kNone, index = kNone;  // of the address
    uint8_t index_bytes = 8;             // fewer are extended
    bool index_is_signed = false;
    int64_t scale = 1;
    int64_t displacement = 0;
};

// What an instruction does, one after the other. It is refused if the first of them is.
struct Effects {
    static constexpr int kMost = 3;
    Effect of[kMost];
    int count = 1;
};
Effects EffectsOf(Processor processor, const Instruction& instruction);
Effects EffectsOfA64(const Instruction& instruction);

// The general registers, a bit each, that a Plain instruction of x86-64 computes with: not those that say where its
// operand in memory lies, nor one that it only writes.
uint16_t ComputesWith(const Instruction& instruction);

// What functions of a processor agree on. Registers are numbered as in its instructions, sets of them have a bit each.
struct Convention {
    int registers;  // that are followed
    int stack;
    int first, second, third;  // arguments
    int result;
    uint64_t preserved;    // as they were entered with, when a function returns; the return address where it is in one
    uint64_t kept;         // by what is called
    uint64_t returned;     // results
    uint64_t passed;       // arguments, what holds their number or a function's address
    int64_t red_zone;      // bytes below the stack pointer that are the function's
    int64_t return_bytes;  // of the return address on the stack, behind which arguments lie
};
const Convention& ConventionOf(Processor processor);
extern const Convention kConventionOfA64;

}  // namespace twin
