// x86-64, by a table of opcodes: prefixes, the opcode, what its operands look like, and what it counts as.
#include "time/machine_code.h"

#include <string.h>

namespace twin {
namespace {

// What follows an opcode: m a ModRM byte, b and z immediate numbers of one and of two or four bytes, w one of two
// bytes, q one that may have eight, g an immediate number only where ModRM says so, j and J short and near branches, .
// nothing, ? not in compiled code.
constexpr char kOneByte[] =
    "mmmmbz??mmmmbz??"   // 00
    "mmmmbz??mmmmbz??"   // 10
    "mmmmbz??mmmmbz??"   // 20
    "mmmmbz??mmmmbz??"   // 30
    "????????????????"   // 40: REX
    "................"   // 50
    "???m????zZbB...."   // 60; Z and B: z and b behind ModRM
    "jjjjjjjjjjjjjjjj"   // 70
    "BZ?Bmmmmmmmmmmmm"   // 80
    "..........?....."   // 90
    "????....bz......"   // A0
    "bbbbbbbbqqqqqqqq"   // B0
    "BBw.??BZ?.??.???"   // C0
    "mmmm????mmmmmmmm"   // D0
    "jjjjbbbbJJ?j????"   // E0
    "??????gG......mm";  // F0
constexpr char kTwoBytes[] =
    "???????????.????"   // 00; 0B is ud2
    "mmmmmmmmmmmmmmmm"   // 10
    "????????mmmmmmmm"   // 20
    "?.??????????????"   // 30
    "mmmmmmmmmmmmmmmm"   // 40
    "mmmmmmmmmmmmmmmm"   // 50
    "mmmmmmmmmmmmmmmm"   // 60
    "BBBBmmm.mmmmmmmm"   // 70
    "JJJJJJJJJJJJJJJJ"   // 80
    "mmmmmmmmmmmmmmmm"   // 90
    "???mBm?????mBmmm"   // A0
    "mm?m??mmm?Bmmmmm"   // B0
    "mmBmBBBm........"   // C0
    "mmmmmmmmmmmmmmmm"   // D0
    "mmmmmmmmmmmmmmmm"   // E0
    "mmmmmmmmmmmmmmm?";  // F0
static_assert(sizeof kOneByte == 257 && sizeof kTwoBytes == 257);

// Which of the instructions of two bytes, and of VEX's first map, are arithmetic of single numbers.
constexpr char kArithmetic[] =
    "................"   // 00
    "................"   // 10
    "..........+.++++"   // 20: conversions, comparisons of floats
    "................"   // 30
    "++++++++++++++++"   // 40: choices
    ".+++++++++++++++"   // 50: floats
    "................"   // 60
    "................"   // 70
    "................"   // 80
    "................"   // 90: the result of a comparison is no operation of its own
    "...+++.....+++.+"   // A0: bits, shifts of two registers, products
    "++.+....+.++++.."   // B0: bits, exchanges after a comparison
    "+++.....++++++++"   // C0: sums that exchange, comparisons of floats, order of bytes
    "................"   // D0
    "................"   // E0
    "................";  // F0
static_assert(sizeof kArithmetic == 257);

// Bytes of every integer in vectors, where an instruction of VEX's first two maps computes with them.
constexpr char kPacked[] =
    "................"   // 00
    "................"   // 10
    "................"   // 20
    "................"   // 30
    "................"   // 40
    "................"   // 50
    "....124........."   // 60: comparisons
    ".248124.....84.."   // 70: shifts, comparisons, sums of neighbours
    "................"   // 80
    "................"   // 90
    "................"   // A0
    "................"   // B0
    "................"   // C0
    "424882..111.111."   // D0
    "124222..221.222."   // E0
    ".248824.1248124.";  // F0
constexpr char kPackedMore[] =
    "1242224222224..."   // 00
    "............124."   // 10: sizes without signs
    "222444..88......"   // 20
    "222444.812421242"   // 30
    "44...484........"   // 40
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
    "................";  // F0
static_assert(sizeof kPacked == 257 && sizeof kPackedMore == 257);

constexpr int kAdd = 0, kAnd = 4, kSubtract = 5, kXor = 6,
              kShiftLeft = 4;                 // numbers of operations in opcodes and ModRM
constexpr int kStack = 4, kFramePointer = 5;  // rsp and rbp

constexpr uint64_t kLongest = 15;

class Reader {
  public:
    Reader(const uint8_t* code, uint64_t room) : code_(code), room_(room < kLongest ? room : kLongest) {}

    Instruction Read() {
        Prefixes();
        uint8_t opcode = code_of_.opcode = Next();
        if (opcode == 0xc4 || opcode == 0xc5) {
            code_of_.vex = true;
            Operands(Vex(opcode));
            lanes_ = VexLanes();
            computes_ = lanes_ != 0;
            return Done(Flow::On);
        }
        if (opcode != 0x0f) {
            Operands(kOneByte[opcode]);
            if ((opcode & 0xf0) == 0x50 || (opcode & 0xf0) == 0xb0 || (opcode & 0xf8) == 0x90)
                Name(base_ | (opcode & 7));
            for_addresses_ = ForAddresses(opcode);
            computes_ = for_addresses_ == 0 && Computes(opcode);
            return Done(FlowOf(opcode));
        }
        code_of_.map = 1;
        opcode = code_of_.opcode = Next();
        char shape = opcode == 0x38 || opcode == 0x3a ? Three(opcode) : kTwoBytes[opcode];
        Operands(shape);
        if (opcode >= 0xc8 && opcode <= 0xcf) Name(base_ | (opcode & 7));
        if (shape != 'J' && opcode != 0x38 && opcode != 0x3a)
            computes_ = kArithmetic[opcode] == '+' && !(opcode == 0x57 && BecomesZero());
        return Done(opcode == 0x0b ? Flow::Stop : shape == 'J' ? Flow::Branch : Flow::On);
    }

  private:
    uint8_t Next() {
        if (at_ == room_) {
            known_ = false;
            return 0x90;
        }
        return code_[at_++];
    }
    uint8_t Peek() const { return at_ < room_ ? code_[at_] : 0x90; }
    void Prefixes() {
        for (;; ++at_) {
            uint8_t byte = Peek();
            if (byte == 0x66) narrow_ = true;
            if (byte == 0xf2 || byte == 0xf3) code_of_.repeat = byte;
            if (byte == 0xf0) code_of_.locked = true;
            if (byte == 0x64 || byte == 0x65) code_of_.segment = true;
            bool known = byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0 || byte == 0x64 || byte == 0x65 ||
                         byte == 0x2e || byte == 0x3e;
            if (!known) break;
        }
        if ((Peek() & 0xf0) != 0x40) return;
        uint8_t rex = Next();
        wide_ = (rex & 8) != 0;
        code_of_.rex = true;
        Extend(rex);
    }
    // The upper bits of registers: in ModRM's field, of an index, and in the other field, of a base or in the opcode.
    void Extend(uint8_t rex) {
        field_ = rex << 1 & 8;
        index_ = rex << 2 & 8;
        base_ = rex << 3 & 8;
    }
    void Name(int number) { registers_ |= static_cast<uint16_t>(1 << number); }
    // The rest of a VEX prefix and the opcode behind it.
    char Vex(uint8_t first) {
        uint8_t map = 1;
        uint8_t inverted = ~Next();
        if (first == 0xc4) {
            Extend(inverted >> 5);
            map = ~inverted & 31;
            inverted = ~Next();
            code_of_.wide = (inverted & 0x80) == 0;
        } else {
            Extend(inverted >> 5 & 4);
        }
        Name(inverted >> 3 & 15);
        code_of_.source = inverted >> 3 & 15;
        code_of_.long_ = (inverted & 4) == 0;
        uint8_t implied = ~inverted & 3;
        code_of_.narrow = implied == 1;
        code_of_.repeat = implied == 2 ? 0xf3 : implied == 3 ? 0xf2 : 0;
        code_of_.map = map;
        uint8_t opcode = vex_opcode_ = code_of_.opcode = Next();
        if (map == 1) {
            computes_ = kArithmetic[opcode] == '+';
            return kTwoBytes[opcode] == 'J' ? '?' : kTwoBytes[opcode];
        }
        if (map == 2)
            computes_ = opcode >= 0x96 && !(opcode >= 0xc0 && opcode <= 0xf1);  // products with sums; bits of integers
        if (map == 3)
            computes_ = opcode == 0xf0 || (opcode >= 0x08 && opcode <= 0x0b) || (opcode >= 0x4a && opcode <= 0x4c);
        return map == 2 ? 'm' : map == 3 ? 'B' : '?';
    }
    char Three(uint8_t escape) {
        code_of_.map = escape == 0x38 ? 2 : 3;
        code_of_.opcode = Next();
        return escape == 0x38 ? 'm' : 'B';
    }
    // A constant of the instruction.
    void Constant(uint64_t bytes) {
        constant_ = 0;
        if (bytes <= room_ - at_) {
            memcpy(&constant_, code_ + at_, bytes);
            auto unused = static_cast<int>(64 - 8 * bytes);
            constant_ = static_cast<int64_t>(static_cast<uint64_t>(constant_) << unused) >> unused;
        }
        Skip(bytes);
    }
    void Skip(uint64_t bytes) {
        if (bytes > room_ - at_) {
            known_ = false;
            return;
        }
        at_ += bytes;
    }
    void Displace(uint64_t bytes) {
        if (bytes == 1) code_of_.displacement = static_cast<int8_t>(Peek());
        if (bytes == 4 && room_ - at_ >= 4) memcpy(&code_of_.displacement, code_ + at_, 4);
        Skip(bytes);
    }
    uint8_t ModRm() {
        uint8_t byte = form_ = Next();
        uint8_t mode = byte >> 6, place = byte & 7;
        Name(field_ | (byte >> 3 & 7));
        if (mode == 3 || place != 4) Name(base_ | place);
        code_of_.operands = true;
        code_of_.reg = static_cast<int8_t>(field_ | (byte >> 3 & 7));
        code_of_.rm = static_cast<int8_t>(base_ | place);
        if (mode == 3) return byte;
        code_of_.memory = true;
        bool bare = mode == 0 && place == 5;
        code_of_.base = bare ? kNextInstruction : code_of_.rm;
        if (place == 4) {
            uint8_t scaled = Next();
            bare = mode == 0 && (scaled & 7) == 5;
            Name(index_ | (scaled >> 3 & 7));
            Name(base_ | (scaled & 7));
            int index = index_ | (scaled >> 3 & 7);
            code_of_.base = static_cast<int8_t>(bare ? -1 : base_ | (scaled & 7));
            code_of_.index = static_cast<int8_t>(index == kStack ? -1 : index);
            code_of_.scale = static_cast<uint8_t>(1 << (scaled >> 6));
        }
        Displace(bare || mode == 2 ? 4 : mode == 1 ? 1 : 0);
        return byte;
    }
    void Operands(char shape) {
        uint64_t word = narrow_ && !wide_ ? 2 : 4;
        int chosen = 0;
        switch (shape) {
            case '.': return;
            case 'm': ModRm(); return;
            case 'b': return Constant(1);
            case 'w': return Skip(2);
            case 'z': return Constant(word);
            case 'q': return Constant(wide_ ? 8 : word);
            case 'B': ModRm(); return Constant(1);
            case 'Z': ModRm(); return Constant(word);
            case 'g':
            case 'G':
                chosen = ModRm() >> 3 & 7;
                if (chosen < 2) Constant(shape == 'g' ? 1 : word);
                return;
            case 'j': target_ = static_cast<int8_t>(Next()); return;
            case 'J': {
                int32_t distance = 0;
                if (room_ - at_ >= 4) memcpy(&distance, code_ + at_, 4);
                Skip(4);
                target_ = distance;
                return;
            }
            default: known_ = false;
        }
    }
    // Both operands are the same register.
    bool BecomesZero() const { return form_ >> 6 == 3 && (field_ | (form_ >> 3 & 7)) == (base_ | (form_ & 7)); }
    bool Is(int number) const { return form_ >> 6 == 3 && (base_ | (form_ & 7)) == number; }
    // How many numbers an instruction behind VEX works on; 0: it computes nothing. Two numbers of 64 bits are one: so
    // compilers convert numbers without a sign.
    uint8_t VexLanes() const {
        const Encoding& c = code_of_;
        auto whole = static_cast<uint8_t>(c.long_ ? 32 : 16);
        bool same = !c.memory && c.reg == c.rm;
        bool logic = c.map == 1 && ((c.opcode >= 0x54 && c.opcode <= 0x57) || c.opcode == 0xdb || c.opcode == 0xdf ||
                                    c.opcode == 0xeb || c.opcode == 0xef);
        bool wide = c.opcode >= 0xc0 || c.narrow;  // a scalar unit has 64 bits; two floats are no integer
        if (logic) return same ? 0 : c.long_ ? 8 : wide ? 2 : 4;
        if (!computes_) {
            char width = c.map == 1 ? kPacked[c.opcode] : c.map == 2 ? kPackedMore[c.opcode] : '.';
            bool of_halfs = (c.map == 2 && c.opcode == 0x13) || (c.map == 3 && c.opcode == 0x1d);
            if (of_halfs) return c.long_ ? 8 : 4;
            return width == '.' ? 0 : static_cast<uint8_t>(whole / (width - '0'));
        }
        bool scalar = c.map == 1   ? c.repeat != 0 || (c.opcode & 0xfe) == 0x2e
                      : c.map == 2 ? c.opcode >= 0xf0 || ((c.opcode & 1) != 0 && (c.opcode & 15) >= 9)
                                   : c.opcode == 0xf0 || c.opcode == 0x0a || c.opcode == 0x0b;
        if (scalar) return 1;
        bool doubles = c.map == 2 ? c.wide : c.narrow;
        return static_cast<uint8_t>(doubles ? whole / 8 - !c.long_ : whole / 4);
    }
    // One of the eight operations on integers with a constant.
    bool ComputesWithConstant(int kind, bool of_bytes) const {
        if (kind == kAnd && of_bytes && constant_ == 1) return false;  // a truth value
        return !(wide_ && Is(kStack));
    }
    bool Computes(uint8_t opcode) const {
        int chosen = form_ >> 3 & 7;
        if (opcode < 0x40 && (opcode & 7) < 6) {
            int kind = opcode >> 3;
            if ((opcode & 7) >= 4) return ComputesWithConstant(kind, (opcode & 7) == 4);
            return !(kind == kXor && BecomesZero());
        }
        switch (opcode) {
            case 0x80:
            case 0x81:
            case 0x83: return ComputesWithConstant(chosen, opcode == 0x80);
            case 0xc0:
            case 0xc1:
            case 0xd0:
            case 0xd1:
            case 0x69:
            case 0x6b:
            case 0xd2:
            case 0xd3: return true;
            case 0xf6:
            case 0xf7: return chosen >= 2 || constant_ != 1;  // a truth value
            case 0xfe:
            case 0xff: return chosen < 2;
            case 0x84:
            case 0x85: return !BecomesZero();  // a number that is compared with zero
            case 0xa8: return constant_ != 1;  // a truth value
            case 0xa9: return true;
            case 0x8d: return !wide_;
            default: return false;
        }
    }
    // What may be no more than an address. Nothing of it is in memory, where any result may lie.
    uint8_t ForAddresses(uint8_t opcode) const {
        const Encoding& c = code_of_;
        if (!wide_) return 0;
        if (opcode == 0x8d && c.memory) {
            bool base = c.base >= 0 && c.base != kNextInstruction && c.base != kStack && c.base != kFramePointer;
            bool known = c.index < 0 && !base;
            return static_cast<uint8_t>((base && c.index >= 0) + (c.scale > 1 && c.index >= 0) +
                                        (c.displacement != 0 && !known));
        }
        if (c.memory) return 0;
        bool adds = (opcode == 0x81 || opcode == 0x83) && ((form_ >> 3 & 7) == kAdd || (form_ >> 3 & 7) == kSubtract);
        bool shifts = (opcode == 0xc1 || opcode == 0xd1) && (form_ >> 3 & 7) == kShiftLeft;
        return (adds && !Is(kStack)) || shifts || opcode == 0x05 || opcode == 0x2d;
    }
    Flow FlowOf(uint8_t opcode) const {
        if (opcode == 0xe8) return Flow::Call;
        if (opcode == 0xe9 || opcode == 0xeb) return Flow::Jump;
        if (opcode == 0xc3) return Flow::Return;
        if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3)) return Flow::Branch;
        if (opcode == 0xcc) return Flow::Stop;
        if (opcode != 0xff) return Flow::On;
        int chosen = form_ >> 3 & 7;
        return chosen >= 2 && chosen <= 5 ? Flow::Computed : Flow::On;
    }
    Instruction Done(Flow flow) {
        if (!known_) return {1, Flow::Unknown, 0, 0, 0, 0, true, false, {}, 0};
        bool goes = flow == Flow::Call || flow == Flow::Jump || flow == Flow::Branch;
        code_of_.constant = constant_;
        if (!code_of_.vex) {
            code_of_.narrow = narrow_;
            code_of_.wide = wide_;
        }
        int64_t target = goes ? target_ + static_cast<int64_t>(at_) : 0;
        uint8_t operations = computes_ ? lanes_ : uint8_t{0};
        auto bytes = static_cast<uint8_t>(at_);
        return {bytes, flow, registers_, target, operations, for_addresses_, Stores(), code_of_.locked, code_of_, 0};
    }
    // Whether an operand in memory is only read. What is not known counts as a store.
    bool Reads() const {
        const Encoding& c = code_of_;
        if (c.vex || c.locked) return false;
        if (c.map == 1) return (c.opcode & 0xf0) == 0x40 || (c.opcode >= 0xb6 && c.opcode <= 0xbf && c.opcode != 0xbb);
        if (c.map != 0) return false;
        if (c.opcode < 0x40) return (c.opcode & 7) >= 2 || c.opcode >> 3 == 7;
        if (c.opcode >= 0x80 && c.opcode <= 0x83) return (c.reg & 7) == 7;
        if (c.opcode == 0xf6 || c.opcode == 0xf7) return (c.reg & 7) < 2;
        return c.opcode == 0x63 || c.opcode == 0x84 || c.opcode == 0x85 || c.opcode == 0x8a || c.opcode == 0x8b ||
               c.opcode == 0x8d;
    }
    bool Stores() const {
        const Encoding& c = code_of_;
        bool pushes = !c.vex && c.map == 0 && ((c.opcode & 0xf8) == 0x50 || c.opcode == 0x68 || c.opcode == 0x6a);
        return pushes || (c.operands && c.memory && !Reads());
    }

    const uint8_t* code_;
    uint64_t room_;
    uint64_t at_ = 0;
    int64_t target_ = 0;
    uint8_t form_ = 0;  // ModRM
    int field_ = 0, index_ = 0, base_ = 0;
    uint16_t registers_ = 0;
    bool known_ = true;
    bool narrow_ = false;  // prefix 66
    bool wide_ = false;    // REX.W
    int64_t constant_ = 0;
    uint8_t vex_opcode_ = 0;
    bool computes_ = false;
    uint8_t lanes_ = 1;
    uint8_t for_addresses_ = 0;
    Encoding code_of_;
};

}  // namespace

Instruction ReadX86(const uint8_t* code, uint64_t room) { return Reader(code, room).Read(); }

Instruction ReadInstruction(Processor processor, const uint8_t* code, uint64_t room) {
    return processor == Processor::A64 ? ReadA64(code, room) : ReadX86(code, room);
}

}  // namespace twin
