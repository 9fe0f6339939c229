// Loads wait for a free place in L1, loads of L0 for the data, products for both operands, results for the last
// product; the pipes go on side by side in between.
#include "matmul/schedule.h"

#include <algorithm>

#include "semantics/copy.h"
#include "time/cube_pace.h"

namespace twin {
namespace {

constexpr int64_t kPlaces = 64;          // of one operand in L1 that are told apart
constexpr int64_t kSide = 3;             // of the left matrix that N_BUFFER_33 keeps in L1, in base blocks
constexpr int64_t kAhead = 32;           // steps that the scalar unit may be ahead of MTE1, at most
constexpr int64_t kMostSteps = 1 << 15;  // of one call; beyond that, several steps along K are one

// `pipe` goes on after `moment`, if that has ever been.
void After(Core& core, Pipe pipe, const Moment& moment) {
    if (moment.entry > 0) core.time.HoldUntil(pipe, moment);
}

// The places of one operand in L1: each holds a panel until another one needs it.
class Shelf {
  public:
    Shelf(Core& core, const Feed& feed, int64_t places, const Feed* before)
        : core_(core),
          feed_(feed),
          places_(places),
          all_there_(before != nullptr && feed.shared > 0 && feed.shared == before->shared &&
                     feed.stored.address == before->stored.address) {
        for (int64_t& key : keys_) key = -1;
    }
    // Panel number `panel` of a row of panels, known by `key`: when it is there. It is ordered at `moment`.
    Moment Bring(const Moment& moment, int64_t key, int64_t panel, int64_t row, int64_t column, int64_t rows,
                 int64_t columns) {
        int64_t place = panel % places_;
        last_ = place;
        if (all_there_ || keys_[place] == key) return there_[place];
        After(core_, Pipe::MTE2, used_[place]);
        After(core_, Pipe::MTE2, moment);
        Load(row, column, rows, columns);
        keys_[place] = key;
        return there_[place] = core_.time.At(Pipe::MTE2);
    }
    bool HasRoomFor(int64_t panels) const { return panels <= places_; }
    // The panel that was brought last has been read by everything that was given to MTE1 so far.
    void Used() { used_[last_] = core_.time.At(Pipe::MTE1); }

  private:
    void Load(int64_t row, int64_t column, int64_t rows, int64_t columns) {
        const Stored& s = feed_.stored;
        if (s.turned) std::swap(row, column), std::swap(rows, columns);
        int64_t bytes = BytesOfType(s.type, rows * columns);
        if (s.constant) return;
        if (!feed_.global) {
            const Machine& m = core_.launch->machine;
            core_.time.Issue(m, Pipe::MTE2, static_cast<double>(bytes) * m.clock_hz / m.l1_in_l2_bytes_per_s);
            return;
        }
        core_.bytes_in += static_cast<uint64_t>(bytes);
        const int64_t first = s.fractal ? (column / s.lanes * s.height + row) * s.lanes : row * s.stride + column;
        const int64_t piece = s.fractal ? rows * s.lanes : columns,
                      pieces = s.fractal ? PartsOf(columns, s.lanes) : rows,
                      stride = s.fractal ? s.height * s.lanes : s.stride;
        TimeTransfer(core_, Pipe::MTE2, {s.address + BytesOfType(s.type, first), feed_.origin},
                     static_cast<uint64_t>(BytesOfType(s.type, piece)), static_cast<uint64_t>(pieces),
                     BytesOfType(s.type, stride));
    }

    Core& core_;
    const Feed& feed_;
    int64_t places_, last_ = 0;
    bool all_there_;
    int64_t keys_[kPlaces];
    Moment there_[kPlaces], used_[kPlaces];
};

class Carrier {
  public:
    Carrier(Core& core, const MatmulPlan& plan, const MatmulPlan* before)
        : core_(core),
          m_(core.launch->machine),
          p_(plan),
          t_(plan.tiling),
          group_a_(plan.large_loads ? std::max(t_.stepKa, 1) : 1),
          group_b_(plan.large_loads ? std::max(t_.stepKb, 1) : 1),
          a_(core, plan.a, plan.nine ? kSide * PartsOf(kSide, group_a_) : Places(t_.depthA1, group_a_),
             before == nullptr ? nullptr : &before->a),
          b_(core, plan.b, plan.nine ? 2 * PartsOf(kSide, group_b_) : Places(t_.depthB1, group_b_),
             before == nullptr ? nullptr : &before->b),
          ahead_(StepsAhead()) {
        int64_t down = PartsOf(plan.m, t_.baseM), across = PartsOf(plan.n, t_.baseN);
        depth_ = t_.baseK;
        while (down * across * PartsOf(plan.k, depth_) > kMostSteps && depth_ < plan.k) depth_ *= 2;
    }
    void All() {
        int64_t down = PartsOf(p_.m, t_.baseM), across = PartsOf(p_.n, t_.baseN);
        for (int64_t i = 0; i < down * across; ++i) {
            int64_t row = (p_.down_first ? i % down : i / across) * t_.baseM,
                    column = (p_.down_first ? i / down : i % across) * t_.baseN;
            One({row, column, std::min<int64_t>(t_.baseM, p_.m - row), std::min<int64_t>(t_.baseN, p_.n - column), 0,
                 p_.k});
        }
    }
    void One(const Block& block) {
        core_.time.Scalar((p_.constant ? m_.matmul_constant_block_s : m_.matmul_block_s) * m_.clock_hz);
        if (p_.multiplies) Multiply(block);
        if (p_.stores) Store(block);
    }

  private:
    static int64_t Places(int32_t depth, int64_t group) { return std::clamp<int64_t>(depth / group, 1, kPlaces); }
    // Blocks of sums that products and stores work on at the same time. With unit flags products of the next block
    // follow the store of this one through the same sums, so that they overlap as in two places.
    int64_t Sums() const { return t_.dbL0C == 2 || p_.unit_flag ? 2 : 1; }
    void Multiply(const Block& block) {
        After(core_, Pipe::M, stored_[blocks_ % Sums()]);
        const int64_t steps = PartsOf(block.depth, depth_), first = First(steps);
        for (int64_t i = 0; i < steps; ++i) {
            const int64_t k = (first + i) % steps * depth_, at = block.from + k,
                          depth = std::min(depth_, block.depth - k);
            After(core_, Pipe::MTE1, BringA(block, at));
            After(core_, Pipe::MTE1, BringB(block, at));
            After(core_, Pipe::MTE1, multiplied_[steps_ % 2]);
            Feed(block, depth);
            fed_[steps_ % ahead_] = core_.time.At(Pipe::MTE1);
            core_.time.HoldUntil(Pipe::M, core_.time.At(Pipe::MTE1));
            core_.time.Issue(m_, Pipe::M, Products(block, depth), 0, m_.mmad_drain_cycles);
            multiplied_[steps_++ % 2] = core_.time.At(Pipe::M);
        }
        ++blocks_;
    }
    // The step along K that the running core begins with.
    int64_t First(int64_t steps) const {
        const int64_t group = std::max(group_a_, group_b_), panels = PartsOf(steps, group);
        if (!p_.staggered || a_.HasRoomFor(PartsOf(steps, group_a_)) || b_.HasRoomFor(PartsOf(steps, group_b_)))
            return 0;
        return core_.block % panels * group;
    }
    // When the scalar unit comes to a step's transfers, MTE1 has done all but so many steps before it: its queue is
    // full of loads of L0. No page says how many a step has: here one for a column of the left block's fractals, and
    // one for a row of the right block's.
    int64_t StepsAhead() const {
        const int64_t loads = 2 * PartsOf(t_.baseK, LanesOf(p_.type));
        return std::clamp<int64_t>(static_cast<int64_t>(m_.queue_depth) / loads + 1, 1, kAhead);
    }
    // When a transfer is ordered: the scalar unit comes to it in the order of the program.
    Moment Ordered(bool ahead) const { return ahead ? Moment{} : fed_[steps_ % ahead_]; }
    Moment BringA(const Block& block, int64_t at) {
        const int64_t wide = group_a_ * depth_, panel = at / wide, row = block.row / t_.baseM;
        const int64_t panels = PartsOf(p_.k, wide);
        return a_.Bring(Ordered(p_.ahead_a), row * panels + panel, row * panels + panel, block.row, panel * wide,
                        block.rows, std::min(wide, p_.k - panel * wide));
    }
    Moment BringB(const Block& block, int64_t at) {
        const int64_t wide = group_b_ * depth_, panel = at / wide, column = block.column / t_.baseN;
        const int64_t panels = PartsOf(p_.k, wide);
        return b_.Bring(Ordered(p_.ahead_b), column * panels + panel, column * panels + panel, panel * wide,
                        block.column, std::min(wide, p_.k - panel * wide), block.columns);
    }
    // L1 to L0A and L0B, whole fractals.
    void Feed(const Block& block, int64_t depth) {
        const int64_t deep = AlignUp(depth, LanesOf(p_.type));
        double a = static_cast<double>(BytesOfType(p_.type, AlignUp(block.rows, kFractalSide) * deep)),
               b = static_cast<double>(BytesOfType(p_.type, AlignUp(block.columns, kFractalSide) * deep));
        core_.time.Issue(m_, Pipe::MTE1,
                         2 * m_.load_head_cycles + a / m_.load_a_bytes_per_cycle + b / m_.load_b_bytes_per_cycle);
        a_.Used();
        b_.Used();
    }
    double Products(const Block& block, int64_t depth) const {
        double products = static_cast<double>(AlignUp(block.rows, kFractalSide) * AlignUp(block.columns, kFractalSide) *
                                              AlignUp(depth, LanesOf(p_.type)));
        return std::max(products / (256 * DepthPerCycle(m_, p_.type, p_.hf32)), m_.mmad_issue_cycles);
    }
    void Store(const Block& block) {
        const Placed& c = p_.c;
        After(core_, Pipe::FIX, core_.time.At(Pipe::M));
        const int64_t row = p_.sequential ? 0 : block.row, column = p_.sequential ? 0 : block.column;
        const int64_t bytes = BytesOfType(c.type, block.rows * block.columns);
        if (!p_.stores_global) {
            core_.time.Issue(m_, Pipe::FIX, static_cast<double>(bytes) * m_.clock_hz / m_.fixpipe_bytes_per_s);
        } else {
            core_.bytes_out += static_cast<uint64_t>(bytes);
            const uint8_t* to = c.address + BytesOfType(c.type, c.At(row, column) + aside_);
            const int64_t piece = c.fractal ? block.rows * c.lanes : block.columns,
                          pieces = c.fractal ? PartsOf(block.columns, c.lanes) : block.rows,
                          stride = c.fractal       ? c.height * c.lanes
                                   : p_.sequential ? block.columns
                                                   : c.stride;
            TimeTransfer(core_, Pipe::FIX, {to, p_.c_origin}, static_cast<uint64_t>(BytesOfType(c.type, piece)),
                         static_cast<uint64_t>(pieces), BytesOfType(c.type, stride));
            if (p_.sequential) aside_ += block.rows * block.columns;
        }
        stored_[(blocks_ + Sums() - 1) % Sums()] = core_.time.At(Pipe::FIX);
    }

    Core& core_;
    const Machine& m_;
    const MatmulPlan& p_;
    const TCubeTiling& t_;
    int64_t group_a_, group_b_, depth_;
    Shelf a_, b_;
    Moment multiplied_[2], stored_[2], fed_[kAhead];
    const int64_t ahead_;
    int64_t steps_ = 0, blocks_ = 0, aside_ = 0;
};

}  // namespace

void Carry(Core& core, const MatmulPlan& plan, const MatmulPlan* before) {
    core.Place(plan.pc);
    Carrier carrier(core, plan, before);
    if (plan.only.rows > 0) return carrier.One(plan.only);
    carrier.All();
}

}  // namespace twin
