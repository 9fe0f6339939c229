// Reads machine code, instruction by instruction: how long each is, where it goes on, which registers it names, and how
// many operations of the program it is. It reads that of any processor on any other one.
//
// It is for what compilers make of kernels without optimisation. Whatever it does not know is Unknown, and of one byte
// on x86-64.
#pragma once
#include <stdint.h>

namespace twin {

enum class Processor : uint8_t { X86_64, A64 };  // A64: what aarch64 runs
#if defined(__x86_64__)
inline constexpr Processor kHost = Processor::X86_64;
#else
inline constexpr Processor kHost = Processor::A64;
#endif

// Computed: a call or a jump to an address that a register or memory holds.
enum class Flow : uint8_t { On, Call, Jump, Branch, Return, Stop, Unknown, Computed };

// How an instruction of x86-64 is written down, for whoever needs more than its length.
struct Encoding {
    uint8_t map = 0;  // of opcodes: 0 one byte, 1 behind 0f, 2 behind 0f 38, 3 behind 0f 3a
    uint8_t opcode = 0;
    uint8_t repeat = 0;     // f2 or f3 in front, also as VEX has it
    uint8_t source = 0;     // VEX: the register between
    bool vex = false;       // the prefix of vector instructions
    bool narrow = false;    // 66 in front, also as VEX has it
    bool wide = false;      // 64 bits, REX.W
    bool rex = false;       // a REX prefix, which names other registers of eight bits
    bool long_ = false;     // VEX: vectors of 256 bits
    bool locked = false;    // lock
    bool segment = false;   // addresses relative to a thread's own memory
    bool operands = false;  // a ModRM byte, which the rest describes
    bool memory = false;    // the second operand is in memory
    int8_t reg = 0;         // first operand, or which of several operations
    int8_t rm = 0;          // second operand, a register
    int8_t base = -1;       // of an address; -1: none, kNextInstruction
    int8_t index = -1;
    uint8_t scale = 1;
    int32_t displacement = 0;
    int64_t constant = 0;
};
inline constexpr int8_t kNextInstruction = 64;  // as a base: addresses count from the end of the instruction

struct Instruction {
    uint8_t bytes;
    Flow flow;
    uint32_t registers;  // a bit for each general one that it may name; more than it does where vectors are meant
    int64_t target;      // of a call, jump or branch, from the beginning of the instruction
    // Of the program: arithmetic, comparisons and conversions of numbers, one per number of a vector. Not moves,
    // extensions, tests of a truth value, and not what compilers add for frames and for registers that become zero.
    // Conversions from and to half count as those of a vector; whether it is of one number, the code around says.
    uint8_t operations;
    // More of them, unless all that becomes of the result is an address (verify/uses.h): shifts of 64 bits by a
    // constant, constants added to 64 bits, and what lea computes.
    uint8_t for_addresses;
    bool stores;    // leaves something in memory, as far as is known
    bool locked;    // changes memory at once, as atomic operations do
    Encoding code;  // of x86-64
    uint32_t word;  // of A64
};

// The instruction at `code`, of which no more than `room` bytes may be read.
Instruction ReadInstruction(Processor processor, const uint8_t* code, uint64_t room);
Instruction ReadX86(const uint8_t* code, uint64_t room);
Instruction ReadA64(const uint8_t* code, uint64_t room);

}  // namespace twin
