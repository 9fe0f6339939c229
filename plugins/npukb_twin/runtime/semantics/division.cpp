// Decodes the division that the processor refused, writes what ARM would have, and steps over it.
#include "semantics/division.h"

#if defined(__x86_64__)
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

namespace twin {
namespace {

// Registers by their number in an instruction.
constexpr int kRegisters[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

// DIV and IDIV: prefixes, opcode F6 or F7, a byte that names the operand, what belongs to it.
struct Division {
    bool is_signed;
    uint32_t bytes;  // of divisor, quotient and remainder
    uint64_t divisor;
    const uint8_t* next;
};

template <typename T>
T Read(const uint8_t* from) {
    T value;
    memcpy(&value, from, sizeof value);
    return value;
}

uint64_t Narrow(uint64_t value, uint32_t bytes) { return bytes == 8 ? value : value & ((1ull << bytes * 8) - 1); }

bool Decode(const greg_t* registers, Division* division) {
    const auto* at = reinterpret_cast<const uint8_t*>(registers[REG_RIP]);
    bool narrow = *at == 0x66;
    if (narrow) ++at;
    uint8_t rex = (*at & 0xf0) == 0x40 ? *at++ : 0;
    uint8_t opcode = *at++, operand = *at++;
    int mode = operand >> 6, action = operand >> 3 & 7, place = operand & 7;
    if ((opcode != 0xf6 && opcode != 0xf7) || action < 6) return false;
    division->is_signed = action == 7;
    division->bytes = opcode == 0xf6 ? 1 : rex & 8 ? 8 : narrow ? 2 : 4;
    auto value = [&](int number, int extension) {
        return static_cast<uint64_t>(registers[kRegisters[number | (rex & extension ? 8 : 0)]]);
    };
    if (mode == 3) {
        bool high = division->bytes == 1 && rex == 0 && place >= 4;  // AH, CH, DH, BH
        division->divisor = Narrow(high ? value(place - 4, 0) >> 8 : value(place, 1), division->bytes);
        division->next = at;
        return true;
    }
    uint64_t address = 0;
    bool relative = mode == 0 && place == 5, bare = relative;
    if (place == 4) {
        uint8_t scaled = *at++;
        int base = scaled & 7, index = scaled >> 3 & 7;
        bare = mode == 0 && base == 5;
        if (!bare) address += value(base, 1);
        if (index != 4 || (rex & 2)) address += value(index, 2) << (scaled >> 6);
    } else if (!relative) {
        address += value(place, 1);
    }
    if (mode == 1) address += static_cast<uint64_t>(static_cast<int64_t>(Read<int8_t>(at))), at += 1;
    if (mode == 2 || bare) address += static_cast<uint64_t>(static_cast<int64_t>(Read<int32_t>(at))), at += 4;
    if (relative) address += reinterpret_cast<uint64_t>(at);
    division->divisor = 0;
    memcpy(&division->divisor, reinterpret_cast<const void*>(address), division->bytes);
    division->next = at;
    return true;
}

// Writes the low `bytes` of a register; four bytes clear the rest of it.
void Write(greg_t* registers, int which, uint64_t value, uint32_t bytes) {
    auto old = static_cast<uint64_t>(registers[which]);
    uint64_t mask = bytes >= 4 ? ~0ull : (1ull << bytes * 8) - 1;
    registers[which] = static_cast<greg_t>((old & ~mask) | (Narrow(value, bytes) & mask));
}

}  // namespace

bool StepOverDivision(void* context) {
    greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    Division division;
    if (!Decode(registers, &division)) return false;
    uint64_t dividend = Narrow(static_cast<uint64_t>(registers[REG_RAX]), division.bytes), quotient = 0,
             remainder = dividend;
    if (division.divisor != 0) {  // the least number by -1
        if (!division.is_signed || division.divisor != Narrow(~0ull, division.bytes)) return false;
        quotient = dividend;
        remainder = 0;
    }
    if (division.bytes == 1) {
        Write(registers, REG_RAX, quotient | remainder << 8, 2);
    } else {
        Write(registers, REG_RAX, quotient, division.bytes);
        Write(registers, REG_RDX, remainder, division.bytes);
    }
    registers[REG_RIP] = reinterpret_cast<greg_t>(division.next);
    return true;
}

}  // namespace twin
#else
namespace twin {

bool StepOverDivision(void*) { return false; }

}  // namespace twin
#endif
