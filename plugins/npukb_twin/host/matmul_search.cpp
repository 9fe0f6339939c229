// The search for a tiling of a matrix multiplication.
//
// A core computes singleCoreM × singleCoreN of the result in base blocks of baseM × baseN, each of which adds up over K
// in steps of baseK. A, B and the sums of a base block have to fit into L0A, L0B (twice, so that loading and computing
// overlap) and L0C, what is loaded ahead into L1. Among the base blocks that fit, the fastest by the documented rates
// of the core is taken.
#include "call.h"

namespace npukb_host {
namespace {

using matmul_tiling::CubeFormat;
using matmul_tiling::DataType;

constexpr int32_t kFractal = 16;
constexpr int64_t kSumBytes = 4;  // of an element in L0C
constexpr int32_t kMostBase = 1024;

constexpr double kStepCycles =
    30;  // of every base block in addition: what makes larger ones better, other things being equal
constexpr double kWholeRow = 512;  // bytes of a row from which on a transfer is as fast as it gets

int32_t Up(int32_t value, int32_t to) { return (value + to - 1) / to * to; }
int32_t Parts(int32_t value, int32_t by) { return (value + by - 1) / by; }

int64_t Bits(DataType type) {
    switch (type) {
        case DataType::DT_INT4: return 4;
        case DataType::DT_INT8: return 8;
        case DataType::DT_FLOAT16:
        case DataType::DT_BF16: return 16;
        default: return 32;
    }
}

bool Fail(const char* why) {
    fprintf(stderr, "warning: MatmulApi Tiling: %s\n", why);
    return false;
}

// One core's share, and the rules that hold for its base blocks.
struct Share {
    const MatmulProblem& told;
    int32_t m, n, k;
    int64_t bits = 16;
    int32_t c0 = 16, align_k = 16;

    Share(const MatmulProblem& problem, int32_t m_, int32_t n_, int32_t k_) : told(problem), m(m_), n(n_), k(k_) {
        bits = Bits(problem.a.type);
        c0 = static_cast<int32_t>(256 / bits);
        align_k = !problem.a.transposed && problem.b.transposed ? c0 : std::max(c0, kFractal);
    }
    int64_t Bytes(int64_t elements) const { return elements * bits / 8; }
    int32_t BiasBytes() const { return told.has_bias ? static_cast<int32_t>(Bits(told.bias.type) / 8) : 0; }
};

struct Block {
    int32_t m = 0, n = 0, k = 0;
    double cycles = 0;
};

// The largest step along K for a base block, 0 when there is none.
int32_t StepOf(const Share& s, int32_t m, int32_t n) {
    int64_t a = s.told.l0a / (s.told.double_a ? 2 : 1) * 8 / s.bits / m;
    int64_t b = s.told.l0b / (s.told.double_b ? 2 : 1) * 8 / s.bits / n;
    int64_t l1 = (s.told.l1 - int64_t{n} * s.BiasBytes()) * 8 / s.bits / (Up(m, s.c0) + Up(n, s.c0));
    auto most = static_cast<int32_t>(std::min({a, b, l1, int64_t{Up(s.k, s.align_k)}}));
    if (s.told.most_base.k > 0) most = std::min(most, s.told.most_base.k);
    if (s.told.fixed_base.k > 0) most = std::min(most, Up(s.told.fixed_base.k, s.align_k));
    most = most / s.align_k * s.align_k;
    int32_t step = most;
    if (most < s.k && s.told.fixed_base.k <= 0) {  // rows of a power of two load without rests
        for (step = s.align_k; 2 * step <= most;) step *= 2;
    }
    return most == 0 || s.told.least_base.k > step ? 0 : step;
}

// How much longer a base block of `matrix` takes to load whose stored rows are so many elements: short rows cost as
// much as longer ones, unless rows follow one another without gaps.
double Slower(const Share& s, const Matrix& matrix, int32_t row, int32_t whole) {
    if (matrix.format != CubeFormat::ND || row >= whole) return 1;
    return std::max(1.0, kWholeRow / static_cast<double>(s.Bytes(row)));
}

double Cycles(const Share& s, const Block& b) {
    const Platform& chip = ThePlatform();
    const auto load_rate = static_cast<double>(chip.load_rate), rate_a = static_cast<double>(chip.feed_a_rate),
               rate_b = static_cast<double>(chip.feed_b_rate);
    double m_blocks = Parts(s.m, b.m), n_blocks = Parts(s.n, b.n), k_blocks = Parts(s.k, b.k);
    double slower_a = s.told.a.transposed ? Slower(s, s.told.a, b.m, s.m) : Slower(s, s.told.a, b.k, s.k),
           slower_b = s.told.b.transposed ? Slower(s, s.told.b, b.k, s.k) : Slower(s, s.told.b, b.n, s.told.org.n);
    double load =
        static_cast<double>(s.Bytes(s.k)) * (slower_a * n_blocks * s.m + slower_b * m_blocks * s.n) / load_rate;
    double place = m_blocks * n_blocks * (s.Bytes(int64_t{b.m} * s.k) / rate_a + s.Bytes(int64_t{b.n} * s.k) / rate_b);
    double per_k = s.bits == 32 ? 4 : 256.0 / static_cast<double>(s.bits);
    double compute = double{1} * Up(s.m, kFractal) * Up(s.n, kFractal) * Up(s.k, s.align_k) / (256 * per_k);
    return std::max({load, place, compute}) + kStepCycles * m_blocks * n_blocks * k_blocks;
}

bool Allowed(int32_t value, int32_t fixed, int32_t least, int32_t most) {
    if (fixed > 0) return value == fixed;
    return (least <= 0 || value >= least) && (most <= 0 || value <= most);
}

bool FitsSums(const Share& s, int32_t m, int32_t n) {
    return int64_t{m} * n * kSumBytes <= s.told.l0c &&
           (!s.told.has_bias || int64_t{n} * kSumBytes <= s.told.bias_table);
}

Block BestBlock(const Share& s) {
    Block best;
    const MatmulProblem& t = s.told;
    for (int32_t m = kFractal; m <= std::min(Up(s.m, kFractal), kMostBase); m += kFractal) {
        if (!Allowed(m, t.fixed_base.m, t.least_base.m, t.most_base.m)) continue;
        for (int32_t n = kFractal; n <= std::min(Up(s.n, std::max(kFractal, s.c0)), kMostBase); n += kFractal) {
            if (!Allowed(n, t.fixed_base.n, t.least_base.n, t.most_base.n) || !FitsSums(s, m, n)) continue;
            Block block{m, n, StepOf(s, m, n), 0};
            if (block.k == 0) continue;
            block.cycles = Cycles(s, block);
            bool better = best.m == 0 || block.cycles < best.cycles || (block.cycles == best.cycles && n > best.n);
            if (better) best = block;
        }
    }
    return best;
}

// How much is loaded into L1 ahead: as many steps along K as fit twice.
void LoadAhead(const Share& s, const Block& b, AscendC::tiling::TCubeTiling& t) {
    int64_t step = s.Bytes(int64_t{b.k} * (Up(b.m, s.c0) + Up(b.n, s.c0)));
    int64_t room = s.told.l1 - int64_t{b.n} * s.BiasBytes();
    int32_t steps = Parts(s.k, b.k);
    bool once = int64_t{steps} * step <= room && Parts(s.m, b.m) == 1 && Parts(s.n, b.n) == 1;
    int32_t twice = once || room < 2 * step ? 1 : 2;
    auto fitting = static_cast<int32_t>(std::min<int64_t>(steps, room / (twice * step)));
    t.stepM = t.stepN = 1;
    t.stepKa = t.stepKb = std::max(fitting, 1);
    t.depthA1 = t.stepM * t.stepKa * twice;
    t.depthB1 = t.stepN * t.stepKb * twice;
}

int32_t Told(int32_t told, int32_t otherwise) { return told > 0 ? told : otherwise; }

// The share of one of `cores` cores along an axis.
int32_t Cut(int32_t size, int32_t cores, int32_t align, int32_t fixed, int32_t least, int32_t most) {
    if (fixed > 0) return std::min(fixed, size);
    int32_t share = Up(Parts(size, cores), align);
    if (most > 0) share = std::min(share, most);
    if (least > 0) share = std::max(share, least);
    return std::min(share, size);
}

struct Split {
    int32_t m = 0, n = 0, k = 0, m_cores = 0, n_cores = 0, k_cores = 0;
    double area = 0, traffic = 0;
};

// Cuts the result over the cores: the largest share of a core as small as possible, then the least to load.
Split BestSplit(const MatmulProblem& p, int32_t m, int32_t n, int32_t k) {
    Split best;
    const int32_t align_m = Told(p.align.m, kFractal), align_n = Told(p.align.n, kFractal);
    const int32_t align_k = Up(Told(p.align.k, 1), std::max(static_cast<int32_t>(256 / Bits(p.a.type)), kFractal));
    for (int32_t cores = 1; cores <= p.cores; ++cores) {
        Split s;
        s.m = Cut(m, cores, align_m, p.single.m, p.least_single.m, p.most_single.m);
        s.m_cores = Parts(m, s.m);
        if (s.m_cores > p.cores) continue;
        s.n = Cut(n, p.cores / s.m_cores, align_n, p.single.n, p.least_single.n, p.most_single.n);
        s.n_cores = Parts(n, s.n);
        int32_t left = s.n_cores == 0 ? 0 : p.cores / (s.m_cores * s.n_cores);
        if (left < 1) continue;
        s.k = p.split_k || p.single.k > 0 ? Cut(k, left, align_k, p.single.k, p.least_single.k, p.most_single.k) : k;
        s.k_cores = Parts(k, s.k);
        if (s.k_cores > left) continue;
        s.area = double{1} * Up(s.m, kFractal) * Up(s.n, kFractal) * s.k;
        s.traffic = (double{1} * s.m + s.n) * s.k;
        if (best.m == 0 || s.area < best.area || (s.area == best.area && s.traffic < best.traffic)) best = s;
    }
    return best;
}

void PutLayouts(const MatmulProblem& p, AscendC::tiling::TCubeTiling& t) {
    t.ALayoutInfoB = p.layout_a[0], t.ALayoutInfoS = p.layout_a[1], t.ALayoutInfoN = p.layout_a[2];
    t.ALayoutInfoG = p.layout_a[3], t.ALayoutInfoD = p.layout_a[4];
    t.BLayoutInfoB = p.layout_b[0], t.BLayoutInfoS = p.layout_b[1], t.BLayoutInfoN = p.layout_b[2];
    t.BLayoutInfoG = p.layout_b[3], t.BLayoutInfoD = p.layout_b[4];
    t.CLayoutInfoB = p.layout_c[0], t.CLayoutInfoS1 = p.layout_c[1], t.CLayoutInfoN = p.layout_c[2];
    t.CLayoutInfoG = p.layout_c[3], t.CLayoutInfoS2 = p.layout_c[4];
    t.BatchNum = p.batches;
    t.batchM = t.batchN = t.singleBatchM = t.singleBatchN = 1;
}

// A matrix that lies in UB passes through a buffer there.
int32_t TransLength(const MatmulProblem& p, const Share& s, const Block& b) {
    int64_t most = 0;
    if (p.a.position == matmul_tiling::TPosition::VECOUT) most = std::max(most, s.Bytes(int64_t{b.m} * b.k));
    if (p.b.position == matmul_tiling::TPosition::VECOUT) most = std::max(most, s.Bytes(int64_t{b.k} * b.n));
    if (p.c.position == matmul_tiling::TPosition::VECIN) most = std::max(most, int64_t{b.m} * b.n * Bits(p.c.type) / 8);
    if (p.has_bias && p.bias.position == matmul_tiling::TPosition::VECOUT)
        most = std::max<int64_t>(most, b.n * kSumBytes);
    return static_cast<int32_t>(most);
}

}  // namespace

bool SolveMatmul(const MatmulProblem& p, MatmulCut& cut) {
    const int32_t m = Told(p.shape.m, p.org.m), n = Told(p.shape.n, p.org.n), k = Told(p.shape.k, p.org.k);
    if (m <= 0 || n <= 0 || k <= 0)
        return Fail("the shape is not known: call SetShape or SetOrgShape with positive sizes");
    if (Bits(p.a.type) != Bits(p.b.type)) return Fail("A and B have element types of different sizes");
    if (p.fixed_base.m % kFractal > 0 || p.fixed_base.n % kFractal > 0)
        return Fail("SetFixSplit: baseM and baseN have to be multiples of 16");
    const Split split = BestSplit(p, m, n, k);
    if (split.m == 0) return Fail("the single shapes need more cores than SetDim allows");
    const Share share(p, split.m, split.n, split.k);
    const Block block = BestBlock(share);
    if (block.m == 0)
        return Fail(
            "no base block fits: it must not exceed the single shape, L0A, L0B, L0C, L1 and what SetFixSplit or "
            "SetSplitRange say");
    cut.m_cores = split.m_cores, cut.n_cores = split.n_cores, cut.k_cores = split.k_cores;
    AscendC::tiling::TCubeTiling t;
    t.usedCoreNum = split.m_cores * split.n_cores * split.k_cores;
    t.M = Told(p.org.m, m), t.N = Told(p.org.n, n), t.Ka = Told(p.org.k, k), t.Kb = Told(p.org_kb, t.Ka);
    t.singleCoreM = split.m, t.singleCoreN = split.n, t.singleCoreK = split.k;
    t.baseM = block.m, t.baseN = block.n, t.baseK = block.k;
    LoadAhead(share, block, t);
    t.isBias = p.has_bias;
    t.transLength = TransLength(p, share, block);
    t.iterateOrder = p.order == matmul_tiling::MatrixTraverse::FIRSTN ? 1 : 0;
    t.dbL0A = p.double_a ? 2 : 1, t.dbL0B = p.double_b ? 2 : 1;
    bool several = Parts(split.m, block.m) * Parts(split.n, block.n) > 1;
    t.dbL0C = several && int64_t{2} * block.m * block.n * kSumBytes <= p.l0c ? 2 : 1;
    PutLayouts(p, t);
    int64_t l1 = share.Bytes(int64_t{t.depthA1} * Up(t.baseM, share.c0) * t.baseK +
                             int64_t{t.depthB1} * Up(t.baseN, share.c0) * t.baseK);
    t.shareL1Size = static_cast<int32_t>(l1 + int64_t{t.baseN} * share.BiasBytes());
    t.shareL0CSize = static_cast<int32_t>(int64_t{t.dbL0C} * t.baseM * t.baseN * kSumBytes);
    cut.tiling = t;
    return true;
}

int32_t MatmulSpace(const AscendC::tiling::TCubeTiling& t, matmul_tiling::SysTilingTempBufSize& size) {
    size.ubSize = t.transLength;
    size.l1Size = t.shareL1Size;
    size.l0cSize = t.shareL0CSize;
    return t.baseM > 0 ? 0 : -1;
}

}  // namespace npukb_host
