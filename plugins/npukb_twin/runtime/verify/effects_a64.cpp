// A64, by the groups of the architecture's tables. Vector registers are not followed but for the lower halves of v8 to
// v15, which belong to the caller.
#include "time/a64.h"
#include "verify/effects.h"

namespace twin {
namespace {

constexpr int kStackPointer = 31, kKeptVectors = 32, kLink = 30;
constexpr int kFirstKept = 8, kLastKept = 15;

uint64_t Bits(int first, int last) { return ((1ull << (last - first + 1)) - 1) << first; }
int Number(uint32_t word, int at) { return static_cast<int>(Field(word, at, 5)); }
bool Wide(uint32_t word) { return word >> 31 != 0; }

Effect Plain() {
    Effect e;
    e.act = Act::Plain;
    return e;
}
// Writes a general register; the last number means none.
Effect Writes(int number) {
    Effect e = Plain();
    if (number == kZeroRegister) return e;
    e.target = static_cast<int8_t>(number);
    e.writes = 1ull << number;
    return e;
}
// Writes a vector register.
Effect WritesVector(int number) {
    Effect e = Plain();
    if (number < kFirstKept || number > kLastKept) return e;
    e.target = static_cast<int8_t>(kKeptVectors + number - kFirstKept);
    e.writes = 1ull << e.target;
    return e;
}
// The stack pointer, too.
Effect To(int number, Act act) {
    Effect e = Plain();
    e.act = act;
    e.width = 8;
    e.target = static_cast<int8_t>(number);
    e.writes = 1ull << number;
    return e;
}
Effect Constant(int number, uint64_t constant) {
    Effect e = Writes(number);
    if (e.target == kNone) return e;
    e.act = Act::Move;
    e.width = e.from = 8;
    e.source = kFromConstant;
    e.constant = static_cast<int64_t>(constant);
    return e;
}
Effect Moves(int number, int source, uint8_t from, bool is_signed, uint8_t width) {
    Effect e = Writes(number);
    if (e.target == kNone) return e;
    if (source == kZeroRegister) return Constant(number, 0);
    e.act = Act::Move;
    e.source = static_cast<int8_t>(source);
    e.from = from;
    e.is_signed = is_signed;
    e.width = width;
    return e;
}

Effect Bitfield(uint32_t word) {
    uint32_t turned = Field(word, 16, 6), last = Field(word, 10, 6);
    int to = Number(word, 0), from = Number(word, 5);
    bool is_signed = Field(word, 29, 2) == 0;
    auto width = static_cast<uint8_t>(Wide(word) ? 8 : 4);
    if (Field(word, 29, 2) == 1 || from == kZeroRegister) return Writes(to);
    if (turned == 0 && (last == 7 || last == 15 || last == 31))
        return Moves(to, from, static_cast<uint8_t>((last + 1) / 8), is_signed, width);
    if (is_signed || !Wide(word) || last + 1 != turned || to == kZeroRegister) return Writes(to);
    Effect e = To(to, Act::Shift);
    e.source = static_cast<int8_t>(from);
    e.constant = 63 - last;
    return e;
}

Effect WithConstant(uint32_t word) {
    int to = Number(word, 0), from = Number(word, 5);
    switch (Field(word, 23, 3)) {
        case 0:
        case 1: {
            if (to == kZeroRegister) return Plain();
            Effect e = To(to, Act::Address);
            int64_t distance = Signed(Field(word, 5, 19) << 2 | Field(word, 29, 2), 21);
            e.base = Wide(word) ? kItsPage : kInstruction;
            e.displacement = Wide(word) ? distance * 4096 : distance;
            return e;
        }
        case 2: {
            bool flags = Field(word, 29, 1) != 0, subtracts = Field(word, 30, 1) != 0;
            if (flags && to == kZeroRegister) return Plain();  // compares
            if (!Wide(word)) return to == kStackPointer ? Effect{} : Writes(to);
            int64_t constant = static_cast<int64_t>(Field(word, 10, 12)) << (Field(word, 22, 1) ? 12 : 0);
            Effect e = To(to, Act::Address);
            e.base = static_cast<int8_t>(from);
            e.displacement = subtracts ? -constant : constant;
            return e;
        }
        case 4: {
            uint32_t what = Field(word, 29, 2);
            if (what == 3) return Writes(to);
            if (what == 1 && from == kZeroRegister && to != kStackPointer) return Constant(to, PatternOf(word));
            if (what != 0 || !Wide(word) || from == kZeroRegister) return to == kStackPointer ? Effect{} : Writes(to);
            Effect e = To(to, Act::Mask);
            e.source = static_cast<int8_t>(from);
            e.constant = static_cast<int64_t>(PatternOf(word));
            return e;
        }
        case 5: {
            uint64_t constant = static_cast<uint64_t>(Field(word, 5, 16)) << 16 * Field(word, 21, 2);
            if (Field(word, 29, 2) == 3) return Writes(to);
            if (Field(word, 29, 2) == 0) constant = ~constant;
            return Constant(to, Wide(word) ? constant : constant & 0xffffffff);
        }
        case 6: return Bitfield(word);
        default: return Writes(to);
    }
}

// A sum of 64 bits with a register that is extended or shifted.
Effect Sum(uint32_t word, int bytes, bool is_signed, uint32_t shift) {
    Effect e = To(Number(word, 0), Act::Address);
    e.base = static_cast<int8_t>(Number(word, 5));
    e.index = static_cast<int8_t>(Number(word, 16));
    e.index_bytes = static_cast<uint8_t>(bytes);
    e.index_is_signed = is_signed;
    e.scale = static_cast<int64_t>(1ull << shift);
    return e;
}

Effect WithRegisters(uint32_t word) {
    int to = Number(word, 0), from = Number(word, 5), by = Number(word, 16);
    bool plain_sum = Wide(word) && Field(word, 29, 2) == 0 && by != kZeroRegister;
    if (Field(word, 28, 1) != 0) return Field(word, 21, 4) == 2 ? Plain() : Writes(to);
    if (Field(word, 24, 1) == 0) {
        bool moves = Is(word, 0x6020fc00, 0x20000000) && from == kZeroRegister;
        uint8_t width = Wide(word) ? 8 : 4;
        return moves ? Moves(to, by, width, false, width) : Writes(to);
    }
    if (Field(word, 21, 1) != 0) {
        bool flags = Field(word, 29, 1) != 0;
        uint32_t extension = Field(word, 13, 3);
        if (plain_sum) return Sum(word, 1 << (extension & 3), (extension & 4) != 0, Field(word, 10, 3));
        return flags || to != kStackPointer ? Writes(to) : Effect{};
    }
    bool shifts_left = Field(word, 22, 2) == 0;
    bool known = plain_sum && shifts_left && from != kZeroRegister && to != kZeroRegister;
    return known ? Sum(word, 8, false, Field(word, 10, 6)) : Writes(to);
}

Effect Addressed(const Access& access) {
    Effect e = Plain();
    e.base = access.addressing == Addressing::Next ? kInstruction : access.base;
    if (access.addressing != Addressing::After && access.addressing != Addressing::Before)
        e.displacement = access.offset;
    if (access.addressing == Addressing::Register && access.index != kZeroRegister) {
        e.index = access.index;
        e.index_bytes = access.extends ? 4 : 8;
        e.index_is_signed = access.of_signed;
        e.scale = int64_t{1} << access.shift;
    }
    return e;
}

// What one register of a load or store does.
Effect Transfer(const Access& access, int number, int64_t at) {
    Effect place = Addressed(access), e = place;
    bool whole = access.vector && access.bytes == 8 && number >= kFirstKept && number <= kLastKept;
    if (access.loads) {
        e = access.vector ? WritesVector(number) : Writes(number);
        e.load_bytes = access.bytes;
        if (whole || (!access.vector && e.target != kNone && !access.stores)) {
            e.act = Act::Move;
            e.source = kFromMemory;
        }
    }
    if (access.stores) {
        e.store_bytes = access.bytes;
        if (whole || (!access.vector && !access.loads && access.status < 0)) {
            e.act = Act::Move;
            e.source = static_cast<int8_t>(whole                     ? kKeptVectors + number - kFirstKept
                                           : number == kZeroRegister ? kFromConstant
                                                                     : number);
        }
    }
    e.from = access.bytes;
    e.is_signed = access.is_signed;
    e.width = access.width;
    e.base = place.base;
    e.index = place.index;
    e.index_bytes = place.index_bytes;
    e.index_is_signed = place.index_is_signed;
    e.scale = place.scale;
    e.displacement = place.displacement + at;
    if (access.status >= 0 && access.status != kZeroRegister) e.writes |= 1ull << access.status;
    return e;
}

Effects OfAccess(uint32_t word) {
    Access access = AccessOf(word);
    Effects all;
    all.count = 0;
    if (access.nothing) return {{Plain()}, 1};
    bool moves = access.addressing == Addressing::Before || access.addressing == Addressing::After;
    bool itself = !access.vector && access.base != kStackPointer &&
                  (access.first == access.base || (access.count == 2 && access.second == access.base));
    if (!access.known || (moves && itself)) return {};
    Effect step = To(access.base, Act::Address);
    step.base = access.base;
    step.displacement = access.offset;
    if (access.addressing == Addressing::Before) all.of[all.count++] = step;
    // Both registers are loaded from where the base was before.
    bool second_first = access.loads && !access.vector && access.count == 2 && access.first == access.base;
    for (int i = 0; i < access.count; ++i) {
        bool second = (i == 1) != second_first;
        all.of[all.count++] = Transfer(access, second ? access.second : access.first, second ? access.bytes : 0);
    }
    if (access.addressing == Addressing::After) all.of[all.count++] = step;
    return all;
}

// Leaves flags, in the place of whose register is something else.
bool ComparesNumbers(uint32_t word) { return Is(word, 0xff20fc00, 0x1e202000) || Is(word, 0xff200c00, 0x1e200400); }

Effect One(const Instruction& one) {
    uint32_t word = one.word;
    if (one.flow != Flow::On) return Plain();
    switch (Field(word, 25, 3)) {
        case 0:
        case 1: return WithConstant(word);  // 100x of four bits
        case 2:
        case 3: return Plain();  // fences, and what does nothing
        case 5: return WithRegisters(word);
        default:
            if (ComparesNumbers(word)) return Plain();
            return LeavesVectors(word) ? Writes(Number(word, 0)) : WritesVector(Number(word, 0));
    }
}

}  // namespace

const Convention kConventionOfA64{40,
                                  kStackPointer,
                                  0,
                                  1,
                                  2,
                                  0,
                                  Bits(19, kLink) | Bits(kKeptVectors, kKeptVectors + 7),
                                  Bits(19, kLink - 1) | Bits(kKeptVectors, kKeptVectors + 7),
                                  Bits(0, 1),
                                  Bits(0, 8),
                                  0,
                                  0};

Effects EffectsOfA64(const Instruction& one) {
    if (one.flow == Flow::Unknown || one.flow == Flow::Computed) return {};
    Effects all;
    if (one.flow == Flow::On && IsAccess(one.word))
        all = OfAccess(one.word);
    else
        all.of[0] = One(one);
    for (int i = 0; i < all.count; ++i) {
        bool known = all.of[i].act == Act::Address || all.of[i].act == Act::Mask;
        if ((all.of[i].writes >> kStackPointer & 1) != 0 && !known) return {};
    }
    return all;
}

}  // namespace twin
