// Fields of A64's instructions, each of which is one word of 32 bits.
#pragma once
#include <stdint.h>

namespace twin {

inline constexpr int kZeroRegister = 31;  // or the stack pointer, by instruction

constexpr uint32_t Field(uint32_t word, int first, int count) { return word >> first & ((1u << count) - 1); }
constexpr bool Is(uint32_t word, uint32_t mask, uint32_t pattern) { return (word & mask) == pattern; }
constexpr int64_t Signed(uint64_t number, int bits) {
    return static_cast<int64_t>(number << (64 - bits)) >> (64 - bits);
}

// How an instruction reads or writes memory.
enum class Addressing : uint8_t { Offset, Before, After, Register, Next };  // Next: relative to the instruction

struct Access {
    bool known = false;
    bool loads = false, stores = false;
    bool locked = false;     // as part of an atomic operation
    bool vector = false;     // registers of vectors, which say nothing of addresses
    bool is_signed = false;  // how what is loaded becomes as wide as the register
    bool nothing = false;    // only names memory
    uint8_t bytes = 0;       // of every register
    uint8_t width = 8;       // of a general register that is loaded: 4 leaves zeros above
    uint8_t count = 1;       // registers
    Addressing addressing = Addressing::Offset;
    int8_t first = 0, second = 0;  // registers
    int8_t status = -1;            // a register for whether it was done
    int8_t base = 0, index = 0;
    bool extends = false;  // the index has 32 bits
    bool of_signed = false;
    uint8_t shift = 0;
    int64_t offset = 0;
};

// Of an instruction of that group.
Access AccessOf(uint32_t word);
// Whether an instruction belongs to it.
constexpr bool IsAccess(uint32_t word) { return Is(word, 0x0a000000, 0x08000000); }

// A constant with a pattern of bits, as logical instructions have it; 0 where there is none.
uint64_t PatternOf(uint32_t word);

// Whether an instruction for numbers in vector registers leaves its result in a general one.
bool LeavesVectors(uint32_t word);

}  // namespace twin
