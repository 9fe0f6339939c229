// Reads x86-64 machine code, instruction by instruction: how long each is, where it goes on, which registers it names,
// and whether it is an operation of the program.
//
// It is for what compilers make of kernels without optimisation. Whatever it does not know is Unknown and of one byte;
// computed calls and jumps are Unknown, too, but longer.
#pragma once
#include <stdint.h>

namespace twin {

enum class Flow : uint8_t { On, Call, Jump, Branch, Return, Stop, Unknown };

struct Instruction {
    uint8_t bytes;
    Flow flow;
    uint16_t registers;  // a bit for each general one that it may name; more than it does where vectors are meant
    int64_t target;      // of a call, jump or branch, from the beginning of the instruction
    // Arithmetic, comparisons and conversions of numbers; not moves, extensions, tests of a truth value, conversions
    // from and to half, and not what compilers add for addresses and frames: lea and shifts of 64 bits by a constant,
    // other constants than 1 and -1 added to 64 bits, registers that become zero. Nor bits of large constants that are
    // set, as the API's inlined parts do.
    bool computes;
};

// The instruction at `code`, of which no more than `room` bytes may be read.
Instruction ReadInstruction(const uint8_t* code, uint64_t room);

}  // namespace twin
