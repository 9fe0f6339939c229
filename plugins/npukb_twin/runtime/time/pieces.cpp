// Blocks of instructions between jumps, the ways between them, and sums over what is reached without an announcement.
#include "time/pieces.h"

#include "time/machine_code.h"

namespace twin {
namespace {

constexpr uint32_t kOfBranch = 2;
constexpr int32_t kNowhere = -1;

struct Block {
    uint32_t at;          // from the function's beginning
    uint32_t behind;      // its first instruction
    int32_t ways[2];      // blocks that follow: at a branch's target, and behind it; kNowhere
    uint32_t operations;  // without the branch
    uint32_t checks;      // calls of the compiler's checks
    bool announced;       // begins with an announcement
    bool branches;        // ends in a branch that the program pays for
    bool quiet;           // leaves nothing in memory and calls nothing but checks
    bool locked;          // changes memory at once, as atomic operations do
    bool leaves;          // returns, or goes on elsewhere
};

// Which vector registers hold one number and zeros, as long as code goes straight on. What compilers do with all of
// such a register is one operation: so they change signs. Conversions of one number from and to half are free.
class SingleNumbers {
  public:
    void Forget() {
        single_ = narrow_ = 0;
        halfs_ = kNone;
    }
    // What an instruction costs; what one before it turns out not to have cost is taken off.
    int32_t Operations(const Instruction& one) {
        const Encoding& c = one.code;
        int32_t refund = TakesOneHalf(c) ? owed_ : 0;
        halfs_ = kNone;
        if (!c.vex)
            return one.operations;  // also of other processors, whose instructions say how many numbers they take
        bool between = Holds(c.source), second = !c.memory && Holds(c.rm);
        int32_t operations = one.operations;
        if (IsLogic(c) && operations != 0 && (between || second)) operations = 1;
        if (FromHalf(c) && !c.memory && (narrow_ >> c.rm & 1) != 0) operations = 0;
        if (ToHalf(c) && !c.memory) {
            halfs_ = c.rm;
            owed_ = operations;
        }
        int written = ToHalf(c) ? c.rm : c.reg;
        if (ToHalf(c) && c.memory) return operations - refund;
        Set(&single_, written, LeavesOne(one, between, second));
        Set(&narrow_, written, c.map == 1 && c.opcode == 0x6e && !c.wide);
        return operations - refund;
    }

  private:
    static constexpr int kNone = -1;
    static bool FromHalf(const Encoding& c) { return c.map == 2 && c.opcode == 0x13; }
    static bool ToHalf(const Encoding& c) { return c.map == 3 && c.opcode == 0x1d; }
    // Compilers fetch 32 bits of a conversion's result, of which they use one number.
    bool TakesOneHalf(const Encoding& c) const {
        return halfs_ != kNone && c.vex && c.map == 1 && c.opcode == 0x7e && c.repeat == 0 && !c.wide && !c.memory &&
               c.reg == halfs_;
    }
    static bool IsLogic(const Encoding& c) { return c.map == 1 && c.opcode >= 0x54 && c.opcode <= 0x57 && !c.long_; }
    bool Holds(int number) const { return (single_ >> number & 1) != 0; }
    static void Set(uint16_t* all, int number, bool holds) {
        auto bit = static_cast<uint16_t>(1u << number);
        *all = static_cast<uint16_t>(holds ? *all | bit : *all & ~bit);
    }
    static bool LeavesOne(const Instruction& one, bool between, bool second) {
        const Encoding& c = one.code;
        if (c.map != 1) return false;
        if (IsLogic(c)) return one.operations == 0 || (between && second) || (c.opcode == 0x54 && (between || second));
        if (c.opcode == 0x10) return c.repeat != 0 && (c.memory || between);
        if (c.opcode == 0x28) return second;
        bool of_one = c.repeat != 0 && (c.opcode == 0x2a || c.opcode == 0x51 || (c.opcode >= 0x58 && c.opcode <= 0x5f));
        return c.opcode == 0x6e || (c.opcode == 0x7e && c.repeat == 0xf3) || (of_one && between);
    }
    uint16_t single_ = 0;
    uint16_t narrow_ = 0;  // filled out of a general register's 32 bits, as one half is
    int halfs_ = kNone;    // the register that the instruction before has converted numbers into
    int32_t owed_ = 0;     // what that costs, unless one number is all that is taken of it
};

class Scale {
  public:
    Scale(Processor processor, const uint8_t* code, uint64_t bytes, const Callees& callees)
        : processor_(processor), code_(code), bytes_(bytes), callees_(callees) {}

    PiecesOfCode Weigh() {
        Split();
        for (uint32_t i = 0; i < blocks_.size(); ++i) Spare(blocks_[i]);
        for (uint32_t i = 0; i < blocks_.size(); ++i) {
            if (blocks_[i].announced) pieces_.found.Add({blocks_[i].behind, Sum(static_cast<int32_t>(i))});
        }
        if (pieces_.untold == Untold::None) Begins();
        if (pieces_.untold == Untold::None) Loops();
        return pieces_;
    }

  private:
    void Miss(Untold untold, uint32_t place) {
        pieces_.untold = untold;
        pieces_.place = place;
    }
    const uint8_t* Called(uint64_t at, const Instruction& one) const {
        return code_ + static_cast<int64_t>(at) + one.target;
    }
    uint64_t Target(uint64_t at, const Instruction& one) const { return at + static_cast<uint64_t>(one.target); }

    // Calls visit(place, instruction, callee) until code ends that is known.
    template <typename F>
    void Walk(F visit) {
        for (uint64_t at = 0; at < bytes_;) {
            Instruction one = ReadInstruction(processor_, code_ + at, bytes_ - at);
            if (one.flow == Flow::Unknown) return Miss(Untold::Unreadable, static_cast<uint32_t>(at));
            bool calls = one.flow == Flow::Call;
            visit(at, one, calls ? callees_.At(Called(at, one)) : Callee::Other);
            at += one.bytes;
        }
    }
    static bool Ends(Flow flow) { return flow != Flow::On && flow != Flow::Call && flow != Flow::Computed; }

    void Split() {
        List<uint8_t> leads;
        leads.Resize(bytes_ + 1);
        leads[0] = 1;
        Walk([&](uint64_t at, const Instruction& one, Callee callee) {
            if (callee == Callee::Announcement) leads[at] = 1;
            if (Ends(one.flow)) leads[at + one.bytes] = 1;
            bool jumps = one.flow == Flow::Jump || one.flow == Flow::Branch;
            if (jumps && Target(at, one) < bytes_) leads[Target(at, one)] = 1;
        });
        block_at_.Resize(bytes_ + 1);  // one more than the block that begins there
        Walk([&](uint64_t at, const Instruction& one, Callee callee) {
            if (leads[at]) {
                blocks_.Add({static_cast<uint32_t>(at),
                             static_cast<uint32_t>(at) + one.bytes,
                             {kNowhere, kNowhere},
                             0,
                             0,
                             callee == Callee::Announcement,
                             false,
                             true,
                             false,
                             false});
                block_at_[at] = static_cast<int32_t>(blocks_.size());
            }
            if (leads[at]) numbers_.Forget();
            if (!blocks_.empty()) Add(blocks_[blocks_.size() - 1], at, one, callee);
            if (one.flow != Flow::On) numbers_.Forget();
        });
        Join();
    }
    void Add(Block& block, uint64_t at, const Instruction& one, Callee callee) {
        bool calls = one.flow == Flow::Call || one.flow == Flow::Computed;
        block.operations = static_cast<uint32_t>(static_cast<int32_t>(block.operations) + numbers_.Operations(one));
        if (callee == Callee::Library) block.operations += callees_.PriceAt(Called(at, one));
        if (one.for_addresses != 0 && !callees_.MakesAddress(code_ + at)) block.operations += one.for_addresses;
        block.checks += callee == Callee::Check;
        block.branches = one.flow == Flow::Branch;
        block.locked = block.locked || one.locked;
        bool silent = !calls || callee == Callee::Check || callee == Callee::Announcement;
        block.quiet = block.quiet && silent && !one.stores;
    }
    void Join() {
        size_t now = 0;
        Walk([&](uint64_t at, const Instruction& one, Callee) {
            if (block_at_[at] != 0) now = static_cast<size_t>(block_at_[at]) - 1;
            uint64_t next = at + one.bytes;
            bool last = Ends(one.flow) || next == bytes_ || block_at_[next] != 0;
            if (!last) return;
            Block& block = blocks_[now];
            bool jumps = one.flow == Flow::Jump || one.flow == Flow::Branch;
            bool goes_on = one.flow == Flow::Branch || !Ends(one.flow);
            if (jumps) block.ways[0] = At(Target(at, one));
            if (goes_on) block.ways[1] = At(next);
            block.leaves = one.flow == Flow::Return || (one.flow == Flow::Jump && block.ways[0] == kNowhere);
        });
    }
    int32_t At(uint64_t place) const { return place < bytes_ ? block_at_[place] - 1 : kNowhere; }
    const Block& Of(int32_t block) const { return blocks_[static_cast<size_t>(block)]; }

    // Behind blocks that do nothing but lead to the next.
    int32_t Past(int32_t at) const {
        for (size_t steps = 0; at != kNowhere && steps < blocks_.size(); ++steps) {
            const Block& block = Of(at);
            bool idle = !block.announced && block.quiet && block.checks == 0 && block.operations == 0 &&
                        !block.branches && !block.leaves;
            if (!idle) break;
            at = OnlyWay(block);
        }
        return at;
    }
    static int32_t OnlyWay(const Block& block) {
        return block.ways[0] == kNowhere ? block.ways[1] : block.ways[1] == kNowhere ? block.ways[0] : kNowhere;
    }
    // A branch to a check of the compiler's is none of the program's, so it counts on the way that leads to the check.
    // A kernel can make such calls itself, but then it has decided nothing: what calls the check leaves nothing behind,
    // and both ways lead to the same place.
    void Spare(Block& block) {
        for (int i = 0; i < 2 && block.branches; ++i) {
            int32_t way = Past(block.ways[i]), other = Past(block.ways[1 - i]);
            if (way == kNowhere || other == kNowhere) continue;
            Block& check = blocks_[static_cast<size_t>(way)];
            bool only = check.announced && check.quiet && check.checks == 1 && !check.branches;
            if (!only || Past(OnlyWay(check)) != other) continue;
            block.branches = false;
            check.operations += kOfBranch;
        }
    }

    // Of an announced block, and what is reached from it unannounced. A block that leaves nothing behind but where it
    // goes on is one comparison of a switch, which is one comparison as a whole.
    uint32_t Sum(int32_t from) {
        Visit(from);
        uint32_t sum = 0;
        for (size_t i = 0; i < reached_.size(); ++i) {
            const Block& block = Of(reached_[i]);
            bool of_switch = i != 0 && block.branches && block.quiet;
            if (!of_switch) sum += block.operations + (block.branches ? kOfBranch : 0);
        }
        return sum;
    }
    // Notes a block and all that follow it unannounced.
    void Visit(int32_t from) {
        ++visit_;
        seen_.Resize(blocks_.size());
        reached_.Clear();
        Note(from);
        for (size_t i = 0; i < reached_.size(); ++i) {
            for (int32_t way : Of(reached_[i]).ways) {
                if (way != kNowhere && !Of(way).announced) Note(way);
            }
        }
    }
    void Note(int32_t block) {
        uint32_t& seen = seen_[static_cast<size_t>(block)];
        if (seen == visit_) return;
        seen = visit_;
        reached_.Add(block);
    }

    // Before the first announcement arguments are put away and stacks are aligned. A function that ends without one
    // has nothing to compute or to decide.
    void Begins() {
        if (blocks_.empty() || blocks_[0].announced) return;
        Visit(0);
        bool works = false, leaves = false;
        for (int32_t at : reached_) {
            const Block& block = Of(at);
            works = works || block.operations != 0 || block.branches;
            leaves = leaves || block.leaves;
        }
        if (works && leaves) Miss(Untold::Begins, 0);
    }
    // Looks for blocks that lead round: what is left when blocks that nothing leads to are taken away, one by one.
    void Loops() {
        List<uint32_t> leading;  // plain blocks that lead to each
        leading.Resize(blocks_.size());
        EachWay([&](size_t, size_t to) { ++leading[to]; });
        reached_.Clear();
        for (size_t i = 0; i < blocks_.size(); ++i) {
            if (Plain(blocks_[i]) && leading[i] == 0) reached_.Add(static_cast<int32_t>(i));
        }
        for (size_t i = 0; i < reached_.size(); ++i) {
            for (int32_t way : Of(reached_[i]).ways) {
                if (way != kNowhere && Plain(Of(way)) && --leading[static_cast<size_t>(way)] == 0) reached_.Add(way);
            }
        }
        for (size_t i = 0; i < blocks_.size(); ++i) {
            if (Plain(blocks_[i]) && leading[i] != 0) return Miss(Untold::Loops, blocks_[i].at);
        }
    }
    static bool Plain(const Block& block) { return !block.announced && !block.locked; }
    // Calls visit(from, to) for every way between plain blocks.
    template <typename F>
    void EachWay(F visit) const {
        for (size_t i = 0; i < blocks_.size(); ++i) {
            for (int32_t way : blocks_[i].ways) {
                if (way != kNowhere && Plain(blocks_[i]) && Plain(Of(way))) visit(i, static_cast<size_t>(way));
            }
        }
    }

    Processor processor_;
    const uint8_t* code_;
    uint64_t bytes_;
    const Callees& callees_;
    List<Block> blocks_;
    List<int32_t> block_at_;
    List<uint32_t> seen_;  // the visit that came last
    List<int32_t> reached_;
    uint32_t visit_ = 0;
    SingleNumbers numbers_;
    PiecesOfCode pieces_;
};

}  // namespace

PiecesOfCode WeighPieces(Processor processor, const uint8_t* code, uint64_t bytes, const Callees& callees) {
    return Scale(processor, code, bytes, callees).Weigh();
}

}  // namespace twin
