// A worklist over pieces of code between jumps. Where two ways meet, what differs gets a name of its own, so that every
// piece is looked at a few times at most.
#include "verify/function.h"

#include <stdlib.h>

#include "time/a64.h"
#include "time/machine_code.h"
#include "verify/effects.h"
#include "verify/state.h"
#include "verify/uses.h"

namespace twin {
namespace {

constexpr int64_t kFrameBytes = 1 << 18;  // far less than the guard below either stack
constexpr int64_t kArgumentBytes = 1 << 12;
constexpr int64_t kAlignment = 1 << 12;
constexpr int64_t kCodePage = 1 << 12;  // of addresses that A64 makes
constexpr int kFirstOfBytes = 4;        // of x86-64: a register of eight bits that may be another's second ones
constexpr int64_t kFar = int64_t{1} << 40;
constexpr uint64_t kMostAnnounced = 64;
constexpr char kChanged[] = "leaves a function with its caller's registers changed";
constexpr char kForeign[] = "holds an instruction that a scalar unit does not have";
constexpr char kLargeFrame[] = "keeps more on its stack than a core has";

// An access that the runtime was told of, and what of it has not been made.
struct Announced {
    Value at;
    uint64_t bytes;
    uint64_t left;  // a bit per byte
    bool write;
};

uint64_t Bits(uint64_t bytes, uint64_t from) { return (bytes >= 64 ? ~0ull : (1ull << bytes) - 1) << from; }

struct Line {
    uint32_t at;  // from the function's beginning
    bool leads;   // a piece begins here
    Instruction one;
};

class Proof {
  public:
    Proof(const Surroundings& image, uint64_t begin, uint64_t bytes)
        : image_(image), agreed_(ConventionOf(image.Code())), begin_(begin), bytes_(bytes) {}

    ~Proof() {
        for (size_t i = 0; states_ != nullptr && i < lines_.size(); ++i) states_[i].~State();
        free(states_);
    }
    Proof(const Proof&) = delete;
    Proof& operator=(const Proof&) = delete;

    bool Run(Findings* findings) {
        if (!Prove()) return false;
        findings->argument_bytes = argument_bytes_;
        if (image_.Code() != Processor::X86_64) return true;  // another image says what is counted (time/reference.h)
        Uses uses(symbols_);
        uses_ = &uses;
        for (size_t i = 0; i < lines_.size(); ++i) {
            if (lines_[i].leads && states_[i].reached && !Follow(i)) return false;
        }
        uses.Addresses(&findings->addresses);
        return true;
    }
    Verdict verdict() const { return verdict_; }

  private:
    bool Prove() {
        if (!Decode()) return false;
        State& first = states_[0];
        for (int i = 0; i < agreed_.registers; ++i) first.registers[i] = {kEntered + static_cast<uint32_t>(i), 0};
        first.registers[agreed_.stack] = {kFrame, 0};
        first.reached = true;
        waiting_.Add(0);
        while (!waiting_.empty()) {
            if (!Follow(waiting_.TakeLast())) return false;
        }
        return true;
    }
    bool Refuse(const char* reason, Refusal refusal = Refusal::Unproven) {
        verdict_ = {refusal, reason, begin_ + lines_[now_].at};
        return false;
    }

    bool Decode() {
        lines_of_.Resize(bytes_);  // one more than the line that begins there
        for (uint64_t at = 0; at < bytes_;) {
            Instruction one = ReadInstruction(image_.Code(), image_.CodeAt(begin_ + at), bytes_ - at);
            lines_of_[at] = static_cast<int32_t>(lines_.size()) + 1;
            lines_.Add({static_cast<uint32_t>(at), false, one});
            at += one.bytes;
        }
        lines_[0].leads = true;
        for (size_t i = 0; i < lines_.size(); ++i) {
            Flow flow = lines_[i].one.flow;
            if (flow != Flow::Jump && flow != Flow::Branch) continue;
            if (i + 1 < lines_.size()) lines_[i + 1].leads = true;
            if (int32_t target = Inside(i); target >= 0) lines_[static_cast<size_t>(target)].leads = true;
        }
        states_ = static_cast<State*>(calloc(lines_.size(), sizeof(State)));  // zeros are states that nothing reached
        if (states_ == nullptr) abort();
        return true;
    }
    uint64_t Target(size_t line) const {
        return begin_ + lines_[line].at + static_cast<uint64_t>(lines_[line].one.target);
    }
    // The line that a jump leads to; -1 where it leaves the function or leads into an instruction.
    int32_t Inside(size_t line) const {
        uint64_t at = Target(line) - begin_;
        return at < bytes_ ? lines_of_[at] - 1 : -1;
    }

    // From the beginning of a piece to its end.
    bool Follow(size_t line) {
        State state = states_[line];
        announced_.Clear();
        for (;; ++line) {
            now_ = line;
            if (!Step(state)) return false;
            bool last = line + 1 == lines_.size();
            switch (lines_[line].one.flow) {
                case Flow::Return:
                    HaveAll(state, agreed_.returned);
                    return Returns(state) || Refuse(kChanged, Refusal::Forged);
                case Flow::Stop: return true;
                case Flow::Jump: return Jump(state);
                case Flow::Branch: {
                    int32_t target = Inside(line);
                    if (target < 0) return Refuse("jumps to where no instruction of the function begins");
                    Way way = WayOf(state, line);
                    if (way != Way::On && !Meet(static_cast<size_t>(target), state)) return false;
                    if (way == Way::Away) return true;
                    break;
                }
                default: break;
            }
            if (last) return Refuse("runs past the function's end");
            if (lines_[line + 1].leads) return Meet(line + 1, state);
        }
    }
    // Where a branch goes. Known after the test of a register that holds a known number: so compilers write calls of
    // members by constant pointers, beside a look into a table of virtual functions that is never made.
    enum class Way { Either, On, Away };
    Way WayOf(const State& s, size_t line) const {
        if (image_.Code() == Processor::A64) return WayOfA64(s, lines_[line].one.word);
        if (line == 0 || lines_[line].leads) return Way::Either;
        const Encoding &test = lines_[line - 1].one.code, &branch = lines_[line].one.code;
        bool of_al = test.map == 0 && !test.vex && test.opcode == 0xa8;
        bool of_any = test.map == 0 && !test.vex && test.opcode == 0xf6 && !test.memory && test.reg == 0;
        if (of_any && test.rm >= kFirstOfBytes && !test.rex) return Way::Either;  // the second byte of another register
        if (!of_al && !of_any) return Way::Either;
        Value value = s.registers[of_al ? agreed_.result : test.rm];
        if (value.symbol != kConstant) return Way::Either;
        bool zero = (value.offset & test.constant & 0xff) == 0;
        uint8_t condition = branch.map == 0 ? branch.opcode - 0x70 : branch.opcode - 0x80;
        bool short_or_long = branch.map == 0 ? branch.opcode >> 4 == 7 : branch.map == 1 && branch.opcode >> 4 == 8;
        if (!short_or_long || condition >> 1 != 2) return Way::Either;  // neither "equal" nor "not equal"
        return zero == (condition == 4) ? Way::Away : Way::On;
    }
    static Way WayOfA64(const State& s, uint32_t word) {
        bool of_bit = Is(word, 0x7e000000, 0x36000000), of_all = Is(word, 0x7e000000, 0x34000000);
        uint32_t tested = Field(word, 0, 5);
        Value value = tested == kZeroRegister ? Value{kConstant, 0} : s.registers[tested];
        if ((!of_bit && !of_all) || value.symbol != kConstant) return Way::Either;
        auto number = static_cast<uint64_t>(value.offset);
        bool wide = word >> 31 != 0, if_not_zero = Field(word, 24, 1) != 0;
        if (of_bit)
            number = number >> (Field(word, 19, 5) | (wide ? 32 : 0)) & 1;
        else if (!wide)
            number &= 0xffffffff;
        return (number != 0) == if_not_zero ? Way::Away : Way::On;
    }
    bool Jump(const State& state) {
        if (int32_t target = Inside(now_); target >= 0) return Meet(static_cast<size_t>(target), state);
        uint32_t arguments = 0;
        uint64_t target = Target(now_);
        ImportKind import = image_.ImportAt(target).kind;
        if (import == ImportKind::Computed) arguments = image_.MostArgumentBytes();
        bool known = import != ImportKind::None || image_.Begins(target, &arguments);
        if (!known) return Refuse("jumps to where no function begins");
        if (arguments > argument_bytes_) argument_bytes_ = arguments;  // its arguments are this function's
        HaveAll(state, agreed_.passed);
        return Returns(state) || Refuse(kChanged, Refusal::Forged);
    }
    bool Returns(const State& s) const {
        if (s.registers[agreed_.stack] != Value{kFrame, 0}) return false;
        for (int i = 0; i < agreed_.registers; ++i) {
            Value before{kEntered + static_cast<uint32_t>(i), 0};
            if ((agreed_.preserved >> i & 1) && s.registers[i] != before) return false;
        }
        return true;
    }

    // Another way to `line`.
    bool Meet(size_t line, const State& from) {
        State& to = states_[line];
        if (uses_ != nullptr) return Merge(to, from);
        if (!to.reached) {
            to = from;
            to.reached = true;
            to.checked = false;
            waiting_.Add(line);
            return true;
        }
        if (to.aligned_at != from.aligned_at) return Refuse("aligns its stack on one way only");
        bool changed = false;
        for (uint32_t i = 0; i < static_cast<uint32_t>(agreed_.registers); ++i)
            changed = Met(line, i, &to.registers[i], from.registers[i]) || changed;
        size_t kept = 0, behind = 0;
        for (Slot& slot : to.slots) {
            const Slot* other = from.FindNext(&behind, slot);
            changed = changed || other == nullptr;
            if (other == nullptr) continue;
            uint64_t place = static_cast<uint64_t>(slot.at) << 8 | slot.frame << 5 | 16;
            changed = Met(line, place, &slot.value, other->value) || changed;
            to.slots[kept++] = slot;
        }
        to.slots.Resize(kept);
        if (changed) waiting_.Add(line);
        return true;
    }
    bool Met(size_t line, uint64_t place, Value* to, Value from) {
        if (*to == from) return false;
        Value met = symbols_.Of(Origin::Met, line, place);
        if (*to == met) return false;
        *to = met;
        return true;
    }

    // What becomes of a state's values on the way to `to`, which is all that is known there.
    bool Merge(const State& to, const State& from) {
        for (int i = 0; i < agreed_.registers; ++i) {
            if (to.registers[i] != from.registers[i]) uses_->Meet(to.registers[i], from.registers[i]);
        }
        size_t behind = 0;
        for (const Slot& slot : from.slots) {
            const Slot* other = to.FindNext(&behind, slot);
            if (other == nullptr)
                uses_->Lose(slot);
            else if (other->value != slot.value)
                uses_->Meet(other->value, slot.value);
        }
        return true;
    }

    // What the instruction does with values, other than to make one of them.
    void Note(const State& s, const Line& line, const Effect& e, Value place) {
        const Encoding& c = line.one.code;
        if (e.load_bytes != 0 && InFrame(place)) NoteLoad(s, e, place);
        if (e.act == Act::Plain || (e.act == Act::Mask && e.target != agreed_.stack))
            HaveAll(s, ComputesWith(line.one));
        if (c.memory && c.base >= 0 && c.base < kNextInstruction) uses_->Read(s.registers[c.base]);
        if (c.memory && c.index >= 0) uses_->Read(s.registers[c.index]);
        if (e.act == Act::Push && e.source >= 0) uses_->Have(s.registers[e.source]);
        if (e.act != Act::Move || e.source < 0) return;
        Value value = s.registers[e.source];
        bool kept = e.from == 8 && (e.store_bytes == 0 || (InFrame(place) && c.base != agreed_.stack));
        if (!kept) return uses_->Have(value);
        uses_->Read(value);
        if (e.store_bytes != 0) uses_->Put(value);
    }
    void NoteLoad(const State& s, const Effect& e, Value place) {
        const Slot* same = s.Find(place, e.load_bytes);
        if (same == nullptr) uses_->ReadFrame(place, e.load_bytes);
        if (same != nullptr && e.act == Act::Move && e.from == 8) return uses_->Read(same->value);
        for (size_t i = s.From(place.symbol, place.offset - kSlotBytes + 1); i < s.slots.size(); ++i) {
            const Slot& slot = s.slots[i];
            if (slot.frame != place.symbol || slot.at >= place.offset + e.load_bytes) break;
            if (slot.at + slot.bytes > place.offset) uses_->Have(slot.value);
        }
    }
    // A sum or a product, which may be an address.
    void NoteMade(const State& s, const Line& line, const Effect& e, Value result) {
        const Encoding& c = line.one.code;
        Value none{kConstant, 0}, a = none, b = none;
        switch (e.act) {
            case Act::Address:
                if (c.base >= 0 && c.base < kNextInstruction) a = s.registers[c.base];
                if (c.index >= 0) b = s.registers[c.index];
                break;
            case Act::Add: b = s.registers[e.source]; [[fallthrough]];
            case Act::AddConstant:
            case Act::Shift: a = s.registers[e.target]; break;
            case Act::Multiply:
                if (e.source >= 0) a = s.registers[e.source];
                break;
            default: return;
        }
        uses_->Make(result, a, b);
        if (line.one.for_addresses == 0) return;
        if (IsPlace(a) && IsPlace(b))
            uses_->Place(begin_ + line.at);
        else
            uses_->Doubt(begin_ + line.at, result);
    }
    // Whether it is an address of the function's own, or of a variable: such are known before the program runs.
    bool IsPlace(Value value) const {
        Origin origin = symbols_.OriginOf(value.symbol);
        return value.symbol <= kPointerPlace || origin == Origin::Seen || origin == Origin::Aligned;
    }
    void HaveAll(const State& s, uint64_t registers) {
        for (int i = 0; uses_ != nullptr && i < agreed_.registers; ++i) {
            if (registers >> i & 1) uses_->Have(s.registers[i]);
        }
    }
    void NoteCall(const State& s, ImportKind kind) {
        switch (kind) {
            case ImportKind::Count:
            case ImportKind::PointerPlace: return;
            case ImportKind::Announce: return uses_->Read(s.registers[agreed_.first]);
            case ImportKind::Fill:
                uses_->Read(s.registers[agreed_.first]);
                return HaveAll(s, agreed_.passed & ~(1ull << agreed_.first));
            default: return HaveAll(s, agreed_.passed);
        }
    }

    Value Anything(uint64_t which) { return symbols_.Of(Origin::Anything, now_, which, static_cast<uint64_t>(part_)); }

    bool Step(State& s) {
        const Line& line = lines_[now_];
        Effects all = EffectsOf(image_.Code(), line.one);
        if (all.of[0].act == Act::Refused) return RefuseInstruction();
        for (part_ = 0; part_ < all.count; ++part_) {
            if (!Do(s, line, all.of[part_])) return false;
        }
        return line.one.flow != Flow::Call || Call(s);
    }
    // Of other processors than x86-64 not all is known that compilers make.
    bool RefuseInstruction() {
        bool known = image_.Code() == Processor::X86_64;
        return Refuse(kForeign, known ? Refusal::Foreign : Refusal::Unproven);
    }
    bool Do(State& s, const Line& line, const Effect& e) {
        const Encoding& code = line.one.code;
        Value place{};
        bool touches = e.load_bytes != 0 || e.store_bytes != 0;
        if (touches || e.act == Act::Address) place = AddressOf(s, line, e);
        if (e.load_bytes != 0 && !Reach(s, place, e.load_bytes, false))
            return Refuse("reads what it has not announced");
        if (e.store_bytes != 0 && !Reach(s, place, e.store_bytes, true))
            return Refuse("writes what it has not announced");
        if (uses_ != nullptr) Note(s, line, e, place);
        if (line.one.flow == Flow::Call) return true;
        if (e.act == Act::Push || e.act == Act::Pop) return Stack(s, e, place);
        Value result{};
        bool known = Result(s, e, code, place, &result);
        if (uses_ != nullptr && known) NoteMade(s, line, e, result);
        if (e.store_bytes != 0) {
            Stored(s, place, e, known ? result : Anything(kRegisters));
            bool large = known && symbols_.OriginOf(result.symbol) == Origin::Seen && result.offset < -kFrameBytes;
            if (large && place.symbol == kPointerPlace) return Refuse(kLargeFrame, Refusal::Foreign);
        }
        for (int i = 0; i < agreed_.registers; ++i) {
            if (!(e.writes >> i & 1)) continue;
            Value value = known && i == e.target ? result : Anything(static_cast<uint64_t>(i));
            if (i != agreed_.stack)
                s.registers[i] = value;
            else if (!SetStack(s, value, e.act == Act::Mask ? e.constant : 0))
                return RefuseStack(value);
        }
        return true;
    }
    bool RefuseStack(Value to) {
        if (InFrame(to) && to.offset < -kFrameBytes) return Refuse(kLargeFrame, Refusal::Foreign);
        return Refuse("moves its stack pointer where it does not belong", Refusal::Forged);
    }

    Value AddressOf(const State& s, const Line& line, const Effect& e) {
        auto here = static_cast<int64_t>(begin_ + line.at);
        Value at{kConstant, 0};
        if (e.base == kNextInstruction)
            at = {kImage, here + line.one.bytes};
        else if (e.base == kInstruction)
            at = {kImage, here};
        else if (e.base == kItsPage)
            at = {kImage, here / kCodePage * kCodePage};
        else if (e.base >= 0)
            at = s.registers[e.base];
        if (e.index >= 0) {
            Value index = symbols_.Extend(s.registers[e.index], e.index_bytes, e.index_is_signed, 8);
            at = symbols_.Add(at, symbols_.Times(index, e.scale));
        }
        return at + e.displacement;
    }

    // What the instruction puts into its target or into memory; false where that is not followed.
    bool Result(const State& s, const Effect& e, const Encoding& code, Value place, Value* result) {
        Value own = e.target >= 0 ? s.registers[e.target] : Value{};
        if ((e.act == Act::Mask || e.act == Act::Shift) && e.source >= 0) own = s.registers[e.source];
        switch (e.act) {
            case Act::Move:
                if (e.source == kFromConstant)
                    *result = symbols_.Extend({kConstant, e.constant}, e.from, e.width == 8, e.width);
                else
                    *result =
                        symbols_.Extend(e.source == kFromMemory ? Loaded(s, place, e.from) : s.registers[e.source],
                                        e.from, e.is_signed, e.width);
                return true;
            case Act::Address: *result = place; return true;
            case Act::Add: *result = symbols_.Add(own, s.registers[e.source]); return true;
            case Act::AddConstant: *result = own + e.constant; return true;
            case Act::Shift: *result = symbols_.Times(own, static_cast<int64_t>(1ull << e.constant)); return true;
            case Act::Multiply:
                *result =
                    symbols_.Times(e.source == kFromMemory ? Loaded(s, place, 8) : s.registers[e.source], e.constant);
                return true;
            case Act::Mask: return Masked(e, own, result);
            default: return image_.Code() == Processor::X86_64 && code.map == 0 && BecomesZero(code, e, result);
        }
    }
    static bool BecomesZero(const Encoding& c, const Effect& e, Value* result) {
        bool same = (c.opcode == 0x31 || c.opcode == 0x33) && !c.memory && c.reg == c.rm && e.width >= 4;
        *result = {kConstant, 0};
        return same && e.target >= 0;
    }
    bool Masked(const Effect& e, Value own, Value* result) {
        bool aligns = e.constant < 0 && -e.constant <= kAlignment && (e.constant & -e.constant) == -e.constant;
        if (e.target == agreed_.stack && aligns) {
            *result = own;
            return true;
        }
        bool seen = symbols_.OriginOf(own.symbol) == Origin::Seen && own.offset <= 0 && own.offset >= -kFrameBytes;
        if (!aligns || !seen) return false;
        *result = symbols_.Of(Origin::Aligned, own.symbol, static_cast<uint64_t>(own.offset),
                              static_cast<uint64_t>(e.constant));
        return true;
    }

    static bool InFrame(Value at) { return at.symbol == kFrame || at.symbol == kAlignedFrame; }
    Value Loaded(const State& s, Value place, uint8_t bytes) {
        if (place.symbol == kPointerPlace && place.offset == 0 && bytes == 8 && s.checked)
            return symbols_.Of(Origin::Seen, now_);
        auto at = static_cast<uint64_t>(place.offset);
        if (place.symbol == kImage && image_.Sealed(at, bytes)) return symbols_.Of(Origin::Sealed, at, bytes);
        const Slot* slot = InFrame(place) ? s.Find(place, bytes) : nullptr;
        return slot == nullptr ? Anything(kRegisters + 1) : slot->value;
    }
    void Stored(State& s, Value place, const Effect& e, Value value) {
        if (place.symbol == kPointerPlace) s.checked = false;
        if (!InFrame(place)) return;
        if (e.act == Act::Move && e.store_bytes == e.from)
            s.Keep(place, e.store_bytes, value);
        else
            s.Forget(place.symbol, place.offset, place.offset + e.store_bytes);
    }

    // Whether the function may touch what lies there.
    bool Reach(const State& s, Value at, uint64_t bytes, bool write) {
        Value top = s.registers[agreed_.stack];
        int64_t size = static_cast<int64_t>(bytes), end = at.offset + size;
        bool near = at.offset > -kFar && at.offset < kFar;
        if (!near) return false;
        if (at.symbol == kAlignedFrame && top.symbol == kAlignedFrame && at.offset >= top.offset - agreed_.red_zone &&
            end <= 0)
            return true;
        if (at.symbol == kFrame && InFrame(top)) {
            int64_t low = top.symbol == kFrame ? top.offset - agreed_.red_zone : s.aligned_at;
            if (at.offset >= low && end <= (write ? 0 : kArgumentBytes)) return true;
            if (write && at.offset >= agreed_.return_bytes && end <= kArgumentBytes) {
                int64_t arguments = end - agreed_.return_bytes;
                if (arguments > argument_bytes_) argument_bytes_ = static_cast<uint32_t>(arguments);
                return true;
            }
        }
        auto place = static_cast<uint64_t>(at.offset);
        if (at.symbol == kImage && (write ? image_.Writable(place, bytes) : image_.Holds(place, bytes))) return true;
        if (at.symbol == kPointerPlace && at.offset == 0 && bytes == 8) return true;
        Origin origin = symbols_.OriginOf(at.symbol);
        bool second = origin == Origin::Seen || origin == Origin::Aligned;
        if (second && at.offset >= -kFrameBytes && end <= 0) return true;
        return Spend(at, bytes, write);
    }
    bool Spend(Value at, uint64_t bytes, bool write) {
        for (size_t i = announced_.size(); i-- > 0;) {
            Announced& one = announced_[i];
            if (one.write != write || one.at.symbol != at.symbol || at.offset < one.at.offset) continue;
            auto from = static_cast<uint64_t>(at.offset - one.at.offset);
            if (from >= one.bytes || bytes > one.bytes - from) continue;
            uint64_t bits = Bits(bytes, from);
            if ((one.left & bits) != bits) continue;
            one.left &= ~bits;
            return true;
        }
        return false;
    }

    // The new stack pointer; `mask` is not 0 where it was aligned.
    bool SetStack(State& s, Value to, int64_t mask) const {
        Value& top = s.registers[agreed_.stack];
        if (!InFrame(to) || to.offset > 0 || to.offset < -kFrameBytes) return false;
        if (mask != 0) {
            if (to.symbol != kFrame || top.symbol != kFrame || to.offset > top.offset || to.offset >= 0) return false;
            s.Forget(kFrame, -kFar, to.offset);
            s.aligned_at = to.offset;
            top = {kAlignedFrame, 0};
            return true;
        }
        if (to.symbol != top.symbol) {
            if (to.symbol != kFrame) return false;
            s.Forget(kAlignedFrame, -kFar, kFar);
            s.aligned_at = 0;
        }
        s.Forget(to.symbol, -kFar, to.offset - agreed_.red_zone);
        top = to;
        return true;
    }
    bool Stack(State& s, const Effect& e, Value place) {
        Value top = s.registers[agreed_.stack];
        if (e.act == Act::Pop) {
            const Slot* slot = s.Find(top, 8);
            Value value = slot == nullptr ? Anything(kRegisters + 1) : slot->value;
            if (!SetStack(s, top + 8, 0)) return RefuseStack(top + 8);
            s.registers[e.target] = value;
            return e.target != agreed_.stack || RefuseStack(value);
        }
        Value value = e.source >= 0               ? s.registers[e.source]
                      : e.source == kFromConstant ? Value{kConstant, e.constant}
                                                  : Loaded(s, place, 8);
        if (!SetStack(s, top + -8, 0)) return RefuseStack(top + -8);
        s.Keep(s.registers[agreed_.stack], 8, value);
        return true;
    }

    bool Call(State& s) {
        uint64_t target = Target(now_);
        Import import = image_.ImportAt(target);
        uint32_t arguments = 0;
        if (import.kind == ImportKind::None && !image_.Begins(target, &arguments))
            return Refuse("calls what is no function", Refusal::Forged);
        if (import.kind == ImportKind::Computed) arguments = image_.MostArgumentBytes();
        Value top = s.registers[agreed_.stack];
        if (uses_ != nullptr) NoteCall(s, import.kind);
        if (!InFrame(top) || top.offset + arguments > 0) return Refuse("passes fewer arguments than are taken");
        s.Forget(top.symbol, -kFar, top.offset + arguments);
        Value destination = s.registers[agreed_.first], source = s.registers[agreed_.second],
              third = s.registers[agreed_.third];
        s.checked = import.kind == ImportKind::PointerPlace;
        for (int i = 0; i < agreed_.registers; ++i) {
            if (i != agreed_.stack && !(agreed_.kept >> i & 1)) s.registers[i] = Anything(static_cast<uint64_t>(i));
        }
        if (s.checked) s.registers[agreed_.result] = {kPointerPlace, 0};
        if (import.kind == ImportKind::Announce)
            Announce(destination, import.bytes != 0 ? Value{kConstant, import.bytes} : source, import.write);
        if (import.kind == ImportKind::Fill) Announce(destination, third, true);
        return true;
    }
    void Announce(Value at, Value bytes, bool write) {
        bool fits = bytes.symbol == kConstant && bytes.offset > 0 && bytes.offset <= int64_t{kMostAnnounced};
        if (!fits) return;
        auto count = static_cast<uint64_t>(bytes.offset);
        announced_.Add({at, count, Bits(count, 0), write});
    }

    const Surroundings& image_;
    const Convention& agreed_;
    uint64_t begin_, bytes_;
    List<Line> lines_;
    List<int32_t> lines_of_;
    State* states_ = nullptr;
    List<size_t> waiting_;
    List<Announced> announced_;
    Symbols symbols_;
    Uses* uses_ = nullptr;  // what becomes of values is noted, once all of them are known
    Verdict verdict_;
    size_t now_ = 0;
    int part_ = 0;  // of what the instruction does
    uint32_t argument_bytes_ = 0;
};

}  // namespace

Verdict VerifyFunction(const Surroundings& image, uint64_t begin, uint64_t bytes, Findings* findings) {
    Proof proof(image, begin, bytes);
    return proof.Run(findings) ? Verdict{} : proof.verdict();
}

}  // namespace twin
