// x86-64: general registers by cases; vector instructions, which write no general register but for a few, by tables of
// how much they read or write in memory.
#include "verify/effects.h"

namespace twin {
namespace {

// Vector instructions behind VEX, by opcode. What their operand in memory is: l and s, a whole vector that is read or
// written; f and F, what the prefix says (four bytes, eight, a vector); digits and x, so many bytes (x: 16); h and H,
// half of a vector; q, what an extension of integers needs; d, eight bytes or a vector; u, a number that is compared; c
// and m, a general register; g, p and M, the result is a general register; S and X, eight and 16 bytes that are
// written; w, as wide as W says; 0, nothing; ., not allowed.
constexpr char kFirst[] =
    "................"   // 00
    "fFdSlldS........"   // 10
    "........llcsgguu"   // 20; 29 is told apart below
    "................"   // 30
    "................"   // 40
    "pffflllfffhlffff"   // 50; 57 is told apart below
    "llllllllllllllml"   // 60
    "lllllll0....llMs"   // 70
    "................"   // 80
    "................"   // 90
    "................"   // A0
    "................"   // B0
    "..f.2pl........."   // C0
    "llllllSpllllllll"   // D0
    "llllllhsllllllll"   // E0
    "lllllll.lllllll.";  // F0
constexpr char kSecond[] =
    "llllllllllllllll"   // 00
    "...H..ll48x.lll."   // 10
    "qqqqqq..llll...."   // 20
    "qqqqqqllllllllll"   // 30
    "ll...lll........"   // 40
    "........48x....."   // 50
    "................"   // 60
    "........12......"   // 70
    "................"   // 80
    "......lllwlwlwlw"   // 90
    "......lllwlwlwlw"   // A0
    "......lllwlwlwlw"   // B0
    "................"   // C0
    "................"   // D0
    "................"   // E0
    "..rr.rrr........";  // F0: bits of general registers
constexpr char kThird[] =
    "lll.lll.ll48llll"   // 00
    "....1234xX...h.."   // 10; 14 to 17, 1D: written, told apart below
    "14w............."   // 20
    "........xX......"   // 30
    "lll...l...lll..."   // 40
    "................"   // 50
    "................"   // 60
    "................"   // 70
    "................"   // 80
    "................"   // 90
    "................"   // A0
    "................"   // B0
    "................"   // C0
    "................"   // D0
    "................"   // E0
    "r...............";  // F0
static_assert(sizeof kFirst == 257 && sizeof kSecond == 257 && sizeof kThird == 257);

constexpr int kA = 0, kD = 2, kStackPointer = 4;

uint16_t Bit(int number) { return static_cast<uint16_t>(1u << number); }

class Describer {
  public:
    explicit Describer(const Instruction& one) : one_(one), c_(one.code) {}

    Effect Describe() {
        if (c_.segment) return {};
        bool flows = one_.flow != Flow::On;
        bool padded = c_.narrow && c_.wide;  // as calls for variables of threads are
        if (flows && ((c_.narrow && !padded) || c_.locked || one_.flow == Flow::Unknown || one_.flow == Flow::Computed))
            return {};
        if (c_.vex) return Vector();
        if (c_.map == 0) return OneByte();
        if (c_.map == 1) return TwoBytes();
        if (c_.map == 2 && (c_.opcode == 0xf0 || c_.opcode == 0xf1) && c_.repeat == 0 && c_.memory)  // movbe
            return c_.opcode == 0xf0 ? Result(c_.reg, Width(), Width()) : Store(Width());
        return {};
    }

    uint16_t Reads() const {
        if (c_.operands && !c_.vex && c_.map == 0 && (c_.opcode == 0x31 || c_.opcode == 0x33) && !c_.memory &&
            c_.reg == c_.rm)
            return 0;  // becomes zero
        uint16_t reads = one_.flow == Flow::Computed ? static_cast<uint16_t>(one_.registers) : Implied();
        if (!c_.operands) return reads;
        bool bytes = c_.map == 0 && (c_.opcode & 1) == 0 && !c_.rex;  // the second eight bits of another register
        if (ReadsFirst()) reads |= Bit(c_.reg) | (bytes ? Bit(c_.reg & 3) : uint16_t{0});
        if (c_.memory && c_.map == 0 && c_.opcode == 0x8d) {
            if (c_.base >= 0 && c_.base < kNextInstruction) reads |= Bit(c_.base);
            if (c_.index >= 0) reads |= Bit(c_.index);
        }
        if (!c_.memory && ReadsSecond()) reads |= Bit(c_.rm) | (bytes ? Bit(c_.rm & 3) : uint16_t{0});
        return reads;
    }

  private:
    uint8_t Width() const { return c_.wide ? 8 : c_.narrow ? 2 : 4; }
    // Eight bits of a register without REX may be the second eight of another one.
    int Register(int number, uint8_t width) const {
        return width == 1 && !c_.rex && number >= 4 && number < 8 ? number - 4 : number;
    }
    static Effect Plain() {
        Effect e;
        e.act = Act::Plain;
        return e;
    }
    // Nothing but the register `number` changes; the other operand has `loads` bytes.
    Effect Result(int number, uint8_t width, uint8_t loads) const {
        Effect e = Plain();
        e.width = width;
        e.writes = Bit(Register(number, width));
        e.target = static_cast<int8_t>(Register(number, width));
        if (c_.memory) e.load_bytes = loads;
        return e;
    }
    Effect Read(uint8_t bytes) const {
        Effect e = Plain();
        e.width = bytes;
        if (c_.memory) e.load_bytes = bytes;
        return e;
    }
    Effect Store(uint8_t bytes) const {
        Effect e = Plain();
        e.width = bytes;
        if (c_.memory) e.store_bytes = bytes;
        return e;
    }
    // The second operand is read and written.
    Effect Change(uint8_t width) const {
        if (!c_.memory) return Result(c_.rm, width, 0);
        Effect e = Read(width);
        e.store_bytes = width;
        return e;
    }
    // Addresses have 64 bits; what else is computed is not followed.
    static Effect As(Act act, Effect e, int source = kNone, int64_t constant = 0) {
        if (e.width != 8) return e;
        e.act = act;
        e.source = static_cast<int8_t>(source);
        e.constant = constant;
        return e;
    }
    int Second() const { return c_.memory ? kFromMemory : c_.rm; }

    Effect Arithmetic() const {
        int kind = c_.opcode >> 3, form = c_.opcode & 7;
        bool compares = kind == 7;
        uint8_t width = form == 0 || form == 2 || form == 4 ? 1 : Width();
        if (form >= 4) return compares ? Read(0) : Combined(kind, Result(kA, width, 0));
        if (compares) return Read(width);
        if (form < 2) return kind == 0 && !c_.memory ? As(Act::Add, Change(width), c_.reg) : Change(width);
        Effect e = Result(c_.reg, width, width);
        return kind == 0 && !c_.memory ? As(Act::Add, e, c_.rm) : e;
    }
    // One of the eight operations on integers, with a constant.
    Effect Combined(int kind, Effect e) const {
        if (kind == 0 || kind == 5) return As(Act::AddConstant, e, kNone, kind == 0 ? c_.constant : -c_.constant);
        return kind == 4 ? As(Act::Mask, e, kNone, c_.constant) : e;
    }
    Effect WithConstant() const {
        int kind = c_.reg & 7;
        uint8_t width = c_.opcode == 0x80 ? 1 : Width();
        if (kind == 7) return Read(width);
        Effect e = Change(width);
        return c_.memory ? e : Combined(kind, e);
    }
    // To a register. Parts of one that are written leave the rest, which is not followed.
    Effect Moved(int number, uint8_t width, uint8_t from, bool is_signed, int source) const {
        Effect e = Result(number, width, from);
        if (width < 4) return e;
        if (source >= 0 && from == 1) source = kNone;
        e.act = source == kNone ? Act::Plain : Act::Move;
        e.source = static_cast<int8_t>(source);
        e.from = from;
        e.is_signed = is_signed;
        e.constant = c_.constant;
        return e;
    }
    Effect OfGroup() const {  // F6, F7, FE, FF
        int kind = c_.reg & 7;
        uint8_t width = c_.opcode & 1 ? Width() : 1;
        if (c_.opcode >= 0xfe) {
            if (kind < 2)
                return c_.memory ? Change(width) : As(Act::AddConstant, Change(width), kNone, kind == 0 ? 1 : -1);
            if (c_.opcode == 0xfe || kind != 6) return {};
            Effect e = Read(8);
            e.act = Act::Push;
            e.source = static_cast<int8_t>(Second());
            return e;
        }
        if (kind < 2) return Read(width);
        if (kind < 4) return Change(width);
        Effect e = Read(width);
        e.writes = static_cast<uint16_t>(Bit(kA) | Bit(kD));
        return e;
    }
    Effect OneByte() const {
        uint8_t op = c_.opcode;
        if (c_.repeat != 0 && op != 0x90 && op != 0xc3) return {};
        if (op < 0x40 && (op & 7) < 6) return Arithmetic();
        if ((op & 0xf8) == 0x50 || (op & 0xf8) == 0x58) return Stacked(op);
        if ((op & 0xf0) == 0x70) return Plain();
        if (op >= 0x91 && op <= 0x97) return Both(kA, Named(op));
        if (op >= 0xb0 && op <= 0xbf) return Constant(op);
        switch (op) {
            case 0x63: return Moved(c_.reg, Width(), 4, true, Second());
            case 0x68:
            case 0x6a: {
                Effect e = Plain();
                e.act = Act::Push;
                e.source = kFromConstant;
                e.constant = c_.constant;
                return c_.narrow ? Effect{} : e;
            }
            case 0x69:
            case 0x6b: return As(Act::Multiply, Result(c_.reg, Width(), Width()), Second(), c_.constant);
            case 0x80:
            case 0x81:
            case 0x83: return WithConstant();
            case 0x84: return Read(1);
            case 0x85: return Read(Width());
            case 0x86:
            case 0x87: return Exchange(op == 0x86 ? 1 : Width());
            case 0x88:
            case 0x89: return MoveOut(op == 0x88 ? 1 : Width(), c_.reg);
            case 0x8a: return Result(c_.reg, 1, 1);
            case 0x8b: return Moved(c_.reg, Width(), Width(), false, Second());
            case 0x8d: return Lea();
            case 0x90: return Named(op) == 0 ? Plain() : Both(kA, Named(op));  // with REX, r8 is meant
            case 0x98: return Result(kA, Width(), 0);
            case 0x99: return Result(kD, Width(), 0);
            case 0xa8:
            case 0xa9: return Plain();
            case 0xc0:
            case 0xc1: return Shifted(op == 0xc0 ? 1 : Width(), c_.constant & 63);
            case 0xd0:
            case 0xd1: return Shifted(op == 0xd0 ? 1 : Width(), 1);
            case 0xd2:
            case 0xd3: return Change(op == 0xd2 ? 1 : Width());
            case 0xc3:
            case 0xcc:
            case 0xe8:
            case 0xe9:
            case 0xeb: return Plain();
            case 0xc6:
            case 0xc7: return (c_.reg & 7) == 0 ? MoveOut(op == 0xc6 ? 1 : Width(), kFromConstant) : Effect{};
            case 0xf6:
            case 0xf7:
            case 0xfe:
            case 0xff: return OfGroup();
            default: return {};
        }
    }
    // Registers in opcodes are not in ModRM: their upper bit stands in the set of registers that are named.
    int RexBase() const { return (one_.registers & 0xff00) != 0 ? 8 : 0; }
    int Named(uint8_t op) const { return (op & 7) | RexBase(); }
    Effect Stacked(uint8_t op) const {
        if (c_.narrow) return {};
        Effect e = Plain();
        e.width = 8;
        e.act = op < 0x58 ? Act::Push : Act::Pop;
        (op < 0x58 ? e.source : e.target) = static_cast<int8_t>(Named(op));
        if (op >= 0x58) e.writes = Bit(Named(op));
        return e;
    }
    Effect Constant(uint8_t op) const {
        uint8_t width = op < 0xb8 ? 1 : Width();
        Effect e = Plain();
        e.width = width;
        e.target = static_cast<int8_t>(op < 0xb8 ? Register(Named(op), 1) : Named(op));
        e.writes = Bit(e.target);
        if (width < 4) return e;
        e.act = Act::Move;
        e.source = kFromConstant;
        e.from = width;
        e.constant = c_.constant;
        return e;
    }
    Effect MoveOut(uint8_t width, int source) const {
        if (!c_.memory) return Moved(c_.rm, width, width, false, source);
        Effect e = Store(width);
        if (source >= 0 && width == 1) return e;  // part of a register
        e.act = Act::Move;
        e.source = static_cast<int8_t>(source);
        e.from = width;
        e.constant = c_.constant;
        return e;
    }
    Effect Lea() const {
        if (!c_.memory) return {};
        Effect e = Result(c_.reg, Width(), 0);
        return As(Act::Address, e);
    }
    Effect Shifted(uint8_t width, int64_t by) const {
        Effect e = Change(width);
        return !c_.memory && (c_.reg & 7) == 4 ? As(Act::Shift, e, kNone, by) : e;
    }
    Effect Both(int a, int b) const {
        Effect e = Plain();
        e.writes = static_cast<uint16_t>(Bit(a) | Bit(b));
        return e;
    }
    Effect Exchange(uint8_t width) const {
        Effect e = Change(width);
        e.writes |= Bit(Register(c_.reg, width));
        e.target = -1;
        return e;
    }
    Effect TwoBytes() const {
        uint8_t op = c_.opcode;
        if (c_.repeat != 0 && op != 0x1e && op != 0xb8 && op != 0xbc && op != 0xbd) return {};
        if ((op & 0xf0) == 0x80) return Plain();
        if ((op & 0xf0) == 0x90) return c_.memory ? Store(1) : Result(c_.rm, 1, 0);
        if ((op & 0xf0) == 0x40) return Result(c_.reg, Width(), Width());
        if (op >= 0xc8 && op <= 0xcf) return Result(Named(op), Width(), 0);
        switch (op) {
            case 0x0b: return Plain();
            case 0x18:
            case 0x1f: return Plain();  // these name memory, but do nothing
            case 0x1e: return c_.repeat == 0 || (!c_.memory && (c_.reg & 7) == 7) ? Plain() : Effect{};
            case 0xa3: return c_.memory ? Effect{} : Read(Width());
            case 0xab:
            case 0xb3:
            case 0xbb: return c_.memory ? Effect{} : Change(Width());
            case 0xa4:
            case 0xa5:
            case 0xac:
            case 0xad: return Change(Width());
            case 0xae: return !c_.memory && (c_.reg & 7) >= 5 && !c_.narrow ? Plain() : Effect{};  // fences
            case 0xaf: return Result(c_.reg, Width(), Width());
            case 0xb0:
            case 0xb1: {
                Effect e = Change(op == 0xb0 ? 1 : Width());
                e.writes |= Bit(kA);
                e.target = -1;
                return e;
            }
            case 0xb6: return Moved(c_.reg, Width(), 1, false, Second());
            case 0xb7: return Moved(c_.reg, Width(), 2, false, Second());
            case 0xbe: return Moved(c_.reg, Width(), 1, true, Second());
            case 0xbf: return Moved(c_.reg, Width(), 2, true, Second());
            case 0xb8:
            case 0xbc:
            case 0xbd: return Result(c_.reg, Width(), Width());
            case 0xba: return (c_.reg & 7) < 4 ? Effect{} : (c_.reg & 7) == 4 ? Read(Width()) : Change(Width());
            case 0xc0:
            case 0xc1: return Exchange(op == 0xc0 ? 1 : Width());
            default: return {};
        }
    }

    // Whether ModRM's first operand is a register at all, and is read.
    bool ReadsFirst() const {
        if (c_.vex) return false;
        uint8_t op = c_.opcode;
        if (c_.map == 2) return op == 0xf1;
        if (c_.map == 1) {
            bool written = (op & 0xf0) == 0x90 || (op >= 0xb6 && op <= 0xbf && op != 0xbb);
            return !written && op != 0x18 && op != 0x1e && op != 0x1f && op != 0xae && op != 0xba;
        }
        bool chosen = (op >= 0x80 && op <= 0x83) || (op & 0xfe) == 0xc0 || (op & 0xfc) == 0xd0 || (op & 0xfe) == 0xc6;
        bool written = op == 0x63 || op == 0x69 || op == 0x6b || op == 0x8a || op == 0x8b || op == 0x8d;
        return !chosen && !written && (op & 0xfe) != 0xf6 && op < 0xfe;
    }
    // Whether the second one, if it is a register, is a general one that is read.
    bool ReadsSecond() const {
        uint8_t op = c_.opcode;
        if (!c_.vex) return !(c_.map == 1 && (op & 0xf0) == 0x90);
        if (c_.map == 1) return op == 0x2a || op == 0x6e || op == 0xc4;
        if (c_.map == 2) return op >= 0xf0;
        return op == 0x20 || op == 0x22 || op == 0xf0;
    }
    // What no operand names.
    uint16_t Implied() const {
        uint8_t op = c_.opcode;
        uint16_t a = Bit(kA), d = Bit(kD), counter = Bit(1);
        if (c_.vex) return c_.map == 2 && op >= 0xf0 ? static_cast<uint16_t>(Bit(c_.source) | d) : uint16_t{0};
        if (c_.map == 1) {
            if (op >= 0xc8 && op <= 0xcf) return Bit(Named(op));
            return (op & 0xfe) == 0xb0 ? a : op == 0xa5 || op == 0xad ? counter : uint16_t{0};
        }
        if (c_.map != 0) return 0;
        if (op >= 0x90 && op <= 0x97) return static_cast<uint16_t>(a | Bit(Named(op)));
        if ((op < 0x40 && (op & 7) >= 4) || op == 0x98 || op == 0x99 || op == 0xa8 || op == 0xa9) return a;
        if ((op & 0xfe) == 0xd2) return counter;
        return (op & 0xfe) == 0xf6 && (c_.reg & 7) >= 4 ? static_cast<uint16_t>(a | d) : uint16_t{0};
    }
    uint8_t Whole() const { return c_.long_ ? 32 : 16; }
    uint8_t ByPrefix() const { return c_.repeat == 0xf3 ? 4 : c_.repeat == 0xf2 ? 8 : Whole(); }
    uint8_t Words() const { return c_.wide ? 8 : 4; }
    Effect Vector() const {
        if (c_.map == 1) return First();
        if (c_.map == 2) return Listed(kSecond[c_.opcode]);
        if (c_.map != 3) return {};
        bool out = (c_.opcode >= 0x14 && c_.opcode <= 0x17) || c_.opcode == 0x1d;
        if (!out) return Listed(kThird[c_.opcode]);
        constexpr uint8_t kBytes[] = {1, 2, 0, 4};
        if (c_.opcode == 0x1d) return Store(Whole() / 2);
        uint8_t bytes = c_.opcode == 0x16 ? Words() : kBytes[c_.opcode - 0x14];
        return c_.memory ? Store(bytes) : Result(c_.rm, 8, 0);
    }
    Effect First() const {
        if (c_.opcode == 0x29) return Store(Whole());
        if (c_.opcode == 0x57) return Read(Whole());
        return Listed(kFirst[c_.opcode]);
    }
    Effect Listed(char how) const {
        switch (how) {
            case 'l': return Read(Whole());
            case 's': return Store(Whole());
            case 'f': return Read(ByPrefix());
            case 'F': return Store(ByPrefix());
            case 'd': return Read(c_.repeat != 0 ? Whole() : 8);
            case 'h':
                return Read(c_.opcode == 0xe6 ? (c_.repeat == 0xf3 ? Whole() / 2 : Whole())
                            : c_.repeat != 0  ? ByPrefix()
                            : c_.narrow       ? Whole()
                                              : Whole() / 2);
            case 'H': return Read(Whole() / 2);
            case 'q': return Read(Extended());
            case 'u': return Read(c_.narrow ? 8 : 4);
            case 'c':
            case 'm':
            case 'w': return Read(Words());
            case 'g': return Result(c_.reg, 8, ByPrefix());
            case 'p': return c_.memory ? Effect{} : Result(c_.reg, 8, 0);
            case 'M':
                if (c_.repeat == 0xf3) return Read(8);
                return c_.memory ? Store(Words()) : Result(c_.rm, 8, 0);
            case 'S': return Store(8);
            case 'x': return Read(16);
            case 'X': return Store(16);
            case 'r': return Bits();
            case '0': return Plain();
            case '1':
            case '2':
            case '4':
            case '8': return Read(static_cast<uint8_t>(how - '0'));
            default: return {};
        }
    }
    // Integers that become wider: a half, a quarter or an eighth of a vector.
    uint8_t Extended() const {
        int kind = c_.opcode & 7;
        uint8_t part = kind == 2 ? 8 : kind == 1 || kind == 4 ? 4 : 2;
        return Whole() / part;
    }
    // The result may be in ModRM's register or in VEX's.
    Effect Bits() const {
        Effect e = Result(c_.reg, 8, Words());
        e.writes |= Bit(c_.source);
        e.target = -1;
        return e;
    }

    const Instruction& one_;
    const Encoding& c_;
};

}  // namespace

Effects EffectsOf(Processor processor, const Instruction& instruction) {
    if (processor == Processor::A64) return EffectsOfA64(instruction);
    Effect e = Describer(instruction).Describe();
    constexpr uint64_t kSaved = 1u << kStackPointer;
    bool known = e.act == Act::Move || e.act == Act::Address || e.act == Act::AddConstant || e.act == Act::Mask;
    if ((e.writes & kSaved) != 0 && !(known && e.width == 8))
        return {};  // nothing else may become of the stack pointer
    const Encoding& c = instruction.code;
    e.base = c.base;
    e.index = c.index;
    e.scale = c.scale;
    e.displacement = c.displacement;
    return {{e}, 1};
}

const Convention& ConventionOf(Processor processor) {
    constexpr uint64_t kPreserved = 1 << 3 | 1 << 5 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15;  // rbx, rbp, r12 to r15
    constexpr uint64_t kPassed = 1 << 7 | 1 << 6 | 1 << kD | 1 << 1 | 1 << 8 | 1 << 9 | 1 << 11;
    static constexpr Convention kX86{16,         kStackPointer,     7,       6,   kD, kA, kPreserved,
                                     kPreserved, 1 << kA | 1 << kD, kPassed, 128, 8};
    return processor == Processor::A64 ? kConventionOfA64 : kX86;
}

uint16_t ComputesWith(const Instruction& instruction) { return Describer(instruction).Reads(); }

}  // namespace twin
