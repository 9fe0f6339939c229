// A64, by the groups of the architecture's tables. What is counted here is close to what x86-64's code has, but not the
// same: compilers choose other instructions (time/reference.h).
#include <string.h>

#include "time/a64.h"
#include "time/machine_code.h"

namespace twin {
namespace {

constexpr int kFramePointer = 29;
constexpr uint32_t kNop = 0xd503201f;

struct Cost {
    bool known = true;
    int operations = 0, for_addresses = 0;
};
constexpr Cost kUnknown{false, 0, 0};

Cost Of(int operations) { return {true, operations, 0}; }

bool Wide(uint32_t word) { return word >> 31 != 0; }
int Result(uint32_t word) { return static_cast<int>(Field(word, 0, 5)); }
int First(uint32_t word) { return static_cast<int>(Field(word, 5, 5)); }

Cost WithConstant(uint32_t word) {
    switch (Field(word, 23, 3)) {
        case 0:
        case 1: return Of(0);  // places near the instruction
        case 2: {
            bool compares = Field(word, 29, 1) != 0 && Result(word) == kZeroRegister;
            if (compares || !Wide(word)) return Of(1);
            bool frame = First(word) == kZeroRegister || Result(word) == kZeroRegister || First(word) == kFramePointer;
            return frame ? Of(0) : Cost{true, 0, Field(word, 10, 13) != 0};
        }
        case 4: {
            bool moves = Field(word, 29, 2) == 1 && First(word) == kZeroRegister;
            bool truth = Field(word, 29, 2) == 0 && PatternOf(word) == 1;
            return PatternOf(word) == 0 ? kUnknown : Of(!moves && !truth);
        }
        case 5: return Field(word, 29, 2) == 1 ? kUnknown : Of(0);
        case 6: {
            uint32_t turned = Field(word, 16, 6), last = Field(word, 10, 6), most = Wide(word) ? 63 : 31;
            if (Field(word, 29, 2) == 3 || Field(word, 22, 1) != Field(word, 31, 1) || turned > most || last > most)
                return kUnknown;
            if (Field(word, 29, 2) == 1) return Of(3);  // part of a number is replaced
            if (turned == 0) return Of(last != 7 && last != 15 && last != 31);
            bool left = last < turned;
            if (left && Wide(word)) return {true, 0, 1};
            return Of(left || last == most ? 1 : 2);
        }
        case 7: return Is(word, 0x60200000, 0) ? Of(1) : kUnknown;
        default: return kUnknown;
    }
}

Cost WithRegisters(uint32_t word) {
    bool shifted = Field(word, 10, 6) != 0;
    if (Field(word, 28, 1) == 0) {
        if (Field(word, 24, 1) == 0) {
            bool inverts = Field(word, 21, 1) != 0, moves = Field(word, 29, 2) == 1 && First(word) == kZeroRegister;
            return Of((moves ? 0 : 1) + inverts + shifted);
        }
        if (Field(word, 21, 1) != 0) return Field(word, 22, 2) == 0 ? Of(1 + (Field(word, 10, 3) != 0)) : kUnknown;
        return Field(word, 22, 2) == 3 ? kUnknown : Of(1 + shifted);
    }
    switch (Field(word, 21, 4)) {
        case 0: return Field(word, 10, 6) == 0 ? Of(1) : kUnknown;           // with a carry
        case 2: return Is(word, 0x20000410, 0x20000000) ? Of(1) : kUnknown;  // compares, or sets flags
        case 4: {
            bool truth = First(word) == kZeroRegister && Field(word, 16, 5) == kZeroRegister;
            return Is(word, 0x20000800, 0) ? Of(!truth) : kUnknown;
        }
        case 6: {
            uint32_t what = Field(word, 10, 6);
            bool one = Field(word, 30, 1) != 0, divides = what == 2 || what == 3, shifts = what >= 8 && what < 12;
            bool known = one ? Field(word, 16, 5) == 0 && what < 6 : divides || shifts;
            return known && Field(word, 29, 1) == 0 ? Of(1) : kUnknown;
        }
        default:
            if (Field(word, 24, 1) == 0 || Field(word, 29, 2) != 0) return kUnknown;
            return Of(1 + (Field(word, 10, 5) != kZeroRegister));
    }
}

// Of numbers in vector registers, of which each instruction counts as one.
Cost WithVectors(uint32_t word) {
    bool single = Is(word, 0x7f000000, 0x1e000000), three = Is(word, 0xff000000, 0x1f000000);
    if (three) return Of(2);
    if (!single) return word >> 31 == 0 ? Of(1) : kUnknown;
    if (Field(word, 21, 1) == 0 || Field(word, 10, 6) == 0) {
        bool moves = Field(word, 21, 1) != 0 && Field(word, 17, 2) == 3;
        return Of(!moves);
    }
    if (Wide(word)) return kUnknown;
    bool constant = Field(word, 10, 3) == 4, one = Field(word, 10, 5) == 16;
    if (constant || (one && Field(word, 15, 6) == 0)) return Of(0);
    return Of(1 + Is(word, 0x0000fc00, 0x00008800));
}

Instruction Done(uint32_t word, Flow flow, int64_t target, const Cost& cost, bool stores, bool locked) {
    if (!cost.known) return {4, Flow::Unknown, 0, 0, 0, 0, true, false, {}, word};
    auto operations = static_cast<uint8_t>(cost.operations), more = static_cast<uint8_t>(cost.for_addresses);
    return {4, flow, 0, target, operations, more, stores, locked, {}, word};
}

Instruction Goes(uint32_t word, Flow flow, int first, int count, int operations = 0) {
    return Done(word, flow, Signed(Field(word, first, count), count) * 4, Of(operations), false, false);
}

// Branches, calls, and what talks to the processor or the operating system, of which little is known.
Instruction System(uint32_t word) {
    if (Is(word, 0xfc000000, 0x14000000)) return Goes(word, Flow::Jump, 0, 26);
    if (Is(word, 0xfc000000, 0x94000000)) return Goes(word, Flow::Call, 0, 26);
    if (Is(word, 0xff000010, 0x54000000))  // the last two conditions are none
        return Goes(word, Field(word, 1, 3) == 7 ? Flow::Jump : Flow::Branch, 5, 19);
    if (Is(word, 0x7e000000, 0x34000000)) return Goes(word, Flow::Branch, 5, 19, 1);
    if (Is(word, 0x7e000000, 0x36000000))
        return Goes(word, Flow::Branch, 5, 14, Field(word, 19, 5) == 0 && !Wide(word) ? 0 : 1);
    if (word == 0xd65f03c0) return Done(word, Flow::Return, 0, Of(0), false, false);
    if (Is(word, 0xffdffc1f, 0xd61f0000)) return Done(word, Flow::Computed, 0, Of(0), false, false);
    if (Is(word, 0xffe0001f, 0xd4200000)) return Done(word, Flow::Stop, 0, Of(0), false, false);
    bool fence = Is(word, 0xfffff0ff, 0xd50330bf) || Is(word, 0xfffff0ff, 0xd503309f);
    return Done(word, Flow::On, 0, word == kNop || fence ? Of(0) : kUnknown, false, false);
}

}  // namespace

Instruction ReadA64(const uint8_t* code, uint64_t room) {
    uint32_t word = 0;
    if (room < sizeof word) return {static_cast<uint8_t>(room), Flow::Unknown, 0, 0, 0, 0, true, false, {}, 0};
    memcpy(&word, code, sizeof word);
    if (IsAccess(word)) {
        Access access = AccessOf(word);
        return Done(word, Flow::On, 0, access.known ? Of(access.locked && access.stores) : kUnknown, access.stores,
                    access.locked);
    }
    switch (Field(word, 26, 3)) {
        case 4: return Done(word, Flow::On, 0, WithConstant(word), false, false);
        case 5: return System(word);
        default: break;
    }
    if (word >> 16 == 0) return Done(word, Flow::Stop, 0, Of(0), false, false);  // no instruction: the process ends
    switch (Field(word, 25, 3)) {
        case 5: return Done(word, Flow::On, 0, WithRegisters(word), false, false);
        case 7: return Done(word, Flow::On, 0, WithVectors(word), false, false);
        default: return Done(word, Flow::On, 0, kUnknown, false, false);
    }
}

}  // namespace twin
