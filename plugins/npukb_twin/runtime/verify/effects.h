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
    Mask,         // `target`, with a constant
    Multiply,     // to `target`: the second operand by a constant
    Push,
    Pop,
};
inline constexpr int8_t kNone = -1, kFromMemory = -2, kFromConstant = -3;

struct Effect {
    Act act = Act::Refused;
    uint8_t width = 0;  // bytes of the operation
    uint8_t from = 0;
    bool is_signed = false;  // how `from` bytes are extended
    uint8_t load_bytes = 0;  // of the operand in memory
    uint8_t store_bytes = 0;
    uint16_t writes = 0;    // general registers, a bit each
    int8_t target = kNone;  // a general register
    int8_t source = kNone;
    int64_t constant = 0;
};

Effect EffectOf(const Instruction& instruction);

// The general registers, a bit each, that a Plain instruction computes with: not those that say where its operand in
// memory lies, nor one that it only writes.
uint16_t ComputesWith(const Instruction& instruction);

}  // namespace twin
