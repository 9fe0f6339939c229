// Loads and stores by the groups of the architecture's tables, and constants of logical instructions.
#include "time/a64.h"

namespace twin {
namespace {

int8_t Number(uint32_t word, int first) { return static_cast<int8_t>(Field(word, first, 5)); }

// Of one register: how many bytes, whether it is loaded, and how it is extended.
void Single(uint32_t word, Access* access) {
    uint32_t size = Field(word, 30, 2), opc = Field(word, 22, 2);
    access->vector = Field(word, 26, 1) != 0;
    access->first = Number(word, 0);
    access->base = Number(word, 5);
    if (access->vector) {
        if (opc >= 2 && size != 0) return;
        access->bytes = static_cast<uint8_t>(opc >= 2 ? 16 : 1u << size);
        access->loads = (opc & 1) != 0;
    } else {
        access->bytes = static_cast<uint8_t>(1u << size);
        access->loads = opc != 0;
        access->is_signed = opc >= 2;
        access->width = opc == 2 || size == 3 ? 8 : 4;
        access->nothing = size == 3 && opc == 2;
        if (size == 3 && opc == 3) return;
        if (size == 2 && opc == 3) return;
    }
    access->stores = !access->loads;
    access->known = true;
}

Access Pair(uint32_t word) {
    constexpr Addressing kHow[] = {Addressing::Offset, Addressing::After, Addressing::Offset, Addressing::Before};
    Access access;
    uint32_t opc = Field(word, 30, 2);
    access.vector = Field(word, 26, 1) != 0;
    if (opc == 3 || (!access.vector && opc == 1 && Field(word, 22, 1) == 0)) return access;  // tags
    access.known = true;
    access.loads = Field(word, 22, 1) != 0;
    access.stores = !access.loads;
    access.bytes = static_cast<uint8_t>(access.vector ? 4u << opc : opc == 2 ? 8u : 4u);
    access.width = !access.vector && opc == 0 ? 4 : 8;
    access.is_signed = !access.vector && opc == 1;
    access.count = 2;
    access.addressing = kHow[Field(word, 23, 2)];
    access.first = Number(word, 0);
    access.second = Number(word, 10);
    access.base = Number(word, 5);
    access.offset = Signed(Field(word, 15, 7), 7) * access.bytes;
    return access;
}

// Accesses that nobody interrupts, or in order: of one register, without an offset.
Access Exclusive(uint32_t word) {
    Access access;
    bool ordered = Field(word, 23, 1) != 0, loads = Field(word, 22, 1) != 0, other = Field(word, 21, 1) != 0;
    access.bytes = static_cast<uint8_t>(1u << Field(word, 30, 2));
    access.width = access.bytes == 8 ? 8 : 4;
    access.first = Number(word, 0);
    access.base = Number(word, 5);
    access.locked = !ordered || other;
    if (Field(word, 10, 5) != 31) return access;
    if (ordered && other) {  // compares and swaps
        access.known = access.loads = access.stores = true;
        access.first = Number(word, 16);
        return access;
    }
    if (other || (ordered && Field(word, 15, 1) == 0)) return access;
    access.known = true;
    access.loads = loads;
    access.stores = !loads;
    if (!ordered && !loads) access.status = Number(word, 16);
    return access;
}

// Operations on memory: sums, bits, exchanges.
Access Atomic(uint32_t word) {
    Access access;
    uint32_t what = Field(word, 12, 4);
    if (what > 8 || Field(word, 26, 1) != 0) return access;
    access.known = access.loads = access.stores = access.locked = true;
    access.bytes = static_cast<uint8_t>(1u << Field(word, 30, 2));
    access.width = access.bytes == 8 ? 8 : 4;
    access.first = Number(word, 0);
    access.base = Number(word, 5);
    return access;
}

Access One(uint32_t word) {
    Access access;
    if (Field(word, 24, 1) != 0) {
        Single(word, &access);
        access.offset = static_cast<int64_t>(Field(word, 10, 12)) * access.bytes;
        return access;
    }
    uint32_t how = Field(word, 10, 2);
    if (Field(word, 21, 1) == 0) {
        if (how == 2) return access;  // as if without privileges
        Single(word, &access);
        access.addressing = how == 1 ? Addressing::After : how == 3 ? Addressing::Before : Addressing::Offset;
        access.offset = Signed(Field(word, 12, 9), 9);
        return access;
    }
    if (how == 0) return Atomic(word);
    if (how != 2) return access;
    uint32_t extension = Field(word, 13, 3);
    if ((extension & 2) == 0) return access;
    Single(word, &access);
    access.addressing = Addressing::Register;
    access.index = Number(word, 16);
    access.extends = (extension & 1) == 0;
    access.of_signed = (extension & 4) != 0;
    if (Field(word, 12, 1) != 0) {
        while (1u << access.shift < access.bytes) ++access.shift;
    }
    return access;
}

Access Literal(uint32_t word) {
    Access access;
    uint32_t opc = Field(word, 30, 2);
    access.vector = Field(word, 26, 1) != 0;
    access.known = opc != 3 && Field(word, 24, 1) == 0;
    access.loads = true;
    access.bytes = static_cast<uint8_t>(access.vector ? 4u << opc : opc == 1 ? 8u : 4u);
    access.width = opc == 0 ? 4 : 8;
    access.is_signed = !access.vector && opc == 2;
    access.addressing = Addressing::Next;
    access.first = Number(word, 0);
    access.offset = Signed(Field(word, 5, 19), 19) * 4;
    return access;
}

}  // namespace

Access AccessOf(uint32_t word) {
    switch (Field(word, 28, 2)) {
        case 0: return Is(word, 0x05000000, 0) ? Exclusive(word) : Access{};
        case 1: return Literal(word);
        case 2: return Pair(word);
        default: return One(word);
    }
}

uint64_t PatternOf(uint32_t word) {
    uint32_t sizes = Field(word, 22, 1) << 6 | (~Field(word, 10, 6) & 63);
    int length = -1;
    for (int bit = 0; bit < 7; ++bit) {
        if (sizes >> bit & 1) length = bit;
    }
    if (length < 1 || (length == 6 && Field(word, 31, 1) == 0)) return 0;
    uint32_t size = 1u << length, ones = (Field(word, 10, 6) & (size - 1)) + 1,
             turned = Field(word, 16, 6) & (size - 1);
    if (ones == size) return 0;
    uint64_t whole = size == 64 ? ~0ull : (1ull << size) - 1, pattern = (1ull << ones) - 1;
    if (turned != 0) pattern = (pattern >> turned | pattern << (size - turned)) & whole;
    for (uint32_t have = size; have < 64; have *= 2) pattern |= pattern << have;
    return Field(word, 31, 1) != 0 ? pattern : pattern & 0xffffffff;
}

bool LeavesVectors(uint32_t word) {
    uint32_t what = Field(word, 16, 3);
    if (Is(word, 0x7f20fc00, 0x1e200000)) return what != 2 && what != 3 && what != 7;  // numbers and integers
    if (Is(word, 0x7f200000, 0x1e000000)) return what != 2 && what != 3;               // with a fixed point
    bool copies = Is(word, 0xbfe08400, 0x0e000400);
    return copies && (Field(word, 11, 4) == 5 || Field(word, 11, 4) == 7);
}

}  // namespace twin
