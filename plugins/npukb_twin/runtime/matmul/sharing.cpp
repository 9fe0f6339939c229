// Objects' work is billed here, to the core that does it on the device, which is not the one that calls.
#include "matmul/sharing.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "time/cube_pace.h"

namespace twin {
namespace {

double Cycles(const Machine& m, double seconds) { return seconds * m.clock_hz; }

}  // namespace

double MatmulCost::Span() const { return first + std::max({load, feed, compute, store}); }

void MatmulCost::Add(const MatmulCost& other) {
    load += other.load;
    feed += other.feed;
    compute += other.compute;
    store += other.store;
    first += other.first;
    bytes_in += other.bytes_in;
    bytes_out += other.bytes_out;
    blocks += other.blocks;
}

MatmulBill* NewMatmulBills(const Launch& launch) {
    auto* bills = static_cast<MatmulBill*>(calloc(static_cast<size_t>(launch.CoreCount()), sizeof(MatmulBill)));
    if (bills == nullptr) abort();
    for (int64_t c = 0; c < launch.CoreCount(); ++c) {
        bills[c].over.name = kUntimed;  // the cube core works while the others run, not after them
        bills[c].shared.name = SharedResultName(c % launch.CoresPerBlock());
    }
    return bills;
}

MatmulCore& MatmulOf(Core& core) {
    if (core.matmul == nullptr) {
        core.matmul = static_cast<MatmulCore*>(calloc(1, sizeof(MatmulCore)));
        if (core.matmul == nullptr) abort();
    }
    return *core.matmul;
}

void FinishMatmul(Core& core) {
    if (core.matmul != nullptr) {
        for (uint8_t* sums : core.matmul->sums) free(sums);
        free(core.matmul);
        core.matmul = nullptr;
    }
    if (core.launch->Mixed() && core.kind == CoreKind::Vector)
        Raise(&core.launch->cross->bills[core.number].over, core.time.End());
}

MatmulCost CostOf(const Machine& machine, const npukb::MatmulState& s, int64_t m, int64_t n, int64_t k) {
    const DType type = s.form->a;
    const TCubeTiling& t = s.tiling;
    const double m_blocks = static_cast<double>(PartsOf(m, t.baseM)),
                 n_blocks = static_cast<double>(PartsOf(n, t.baseN));
    const double steps = static_cast<double>(PartsOf(k, t.baseK));
    const double a = static_cast<double>(BytesOfType(type, m * k)), b = static_cast<double>(BytesOfType(type, n * k));
    // A matrix that lies in L1 as a whole is loaded once.
    bool whole_a = int64_t{t.depthA1} * t.baseM * t.baseK >= AlignUp(m, kFractalSide) * k;
    bool whole_b = int64_t{t.depthB1} * t.baseN * t.baseK >= AlignUp(n, kFractalSide) * k;
    bool rows_stay = t.stepKa >= steps && t.iterateOrder == 1, columns_stay = t.stepKb >= steps && t.iterateOrder == 0;
    double times_a = whole_a || rows_stay ? 1 : n_blocks, times_b = whole_b || columns_stay ? 1 : m_blocks;
    MatmulCost cost;
    double in = a * times_a + b * times_b, out = static_cast<double>(BytesOfType(s.form->c, m * n));
    cost.blocks = static_cast<uint32_t>(m_blocks * n_blocks);
    cost.bytes_in = static_cast<uint64_t>(in);
    cost.bytes_out = static_cast<uint64_t>(out);
    cost.load = Cycles(machine, in / machine.l1_in_bytes_per_s);
    cost.feed = a * n_blocks / machine.load_a_bytes_per_cycle + b * m_blocks / machine.load_b_bytes_per_cycle;
    int64_t k0 = LanesOf(type);
    double products = static_cast<double>(AlignUp(m, kFractalSide)) * static_cast<double>(AlignUp(n, kFractalSide)) *
                      static_cast<double>(AlignUp(k, k0)) / (256 * DepthPerCycle(machine, type, s.hf32));
    cost.compute = std::max(products, machine.mmad_issue_cycles * m_blocks * n_blocks * steps);
    cost.store = Cycles(machine, out / machine.fixpipe_bytes_per_s + machine.copy_out_latency_s);
    double blocks = static_cast<double>(BytesOfType(type, int64_t{t.baseM + t.baseN} * t.baseK));
    cost.first = Cycles(machine, machine.copy_in_latency_s + blocks / machine.l1_in_bytes_per_s);
    return cost;
}

void Charge(Core& core, npukb::MatmulState& s, const MatmulCost& cost, bool sync) {
    const Machine& machine = core.launch->machine;
    if (core.kind == CoreKind::Cube) {
        double begin = core.time.End();
        core.time.Issue(machine, Pipe::MTE2, cost.load + Cycles(machine, machine.copy_in_latency_s));
        core.time.Issue(machine, Pipe::MTE1, cost.feed);
        core.time.Issue(machine, Pipe::M, cost.compute);
        core.time.Issue(machine, Pipe::FIX, cost.store);
        core.bytes_in += cost.bytes_in;
        core.bytes_out += cost.bytes_out;
        s.done_at = begin + cost.Span();
        core.time.HoldAllUntil(s.done_at);
        return;
    }
    MatmulBill& bill = core.launch->cross->bills[core.number];
    bill.cost.Add(cost);
    double order = Cycles(machine, machine.matmul_order_s);
    double shares = core.launch->per_block[static_cast<int>(CoreKind::Vector)];
    bill.free_at = std::max(bill.free_at, core.time.End() + order / 2) + cost.Span() * shares;
    s.done_at = bill.free_at + order / 2;
    core.time.Scalar(machine.scalar_issue_cycles);
    if (sync) AwaitMatmul(core, s);
}

void AwaitMatmul(Core& core, npukb::MatmulState& s) {
    if (s.done_at > 0) core.time.HoldAllUntil(s.done_at);
    s.done_at = 0;
}

}  // namespace twin

extern "C" void npukb_matmul_serve(void) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const Launch& launch = *core.launch;
    int vectors = launch.per_block[static_cast<int>(CoreKind::Vector)];
    if (vectors == 0) {
        core.Violate("deadlock", pc, "Define ASCENDC_CUBE_ONLY before lib/matmul_intf.h is included.",
                     "REGIST_MATMUL_OBJ: the cube core waits for orders of vector cores, and this kernel has none");
    }
    for (int i = 1; i <= vectors; ++i) {
        MatmulBill& bill = launch.cross->bills[core.number + i];
        WaitFor(&bill.over, 1, {"REGIST_MATMUL_OBJ", pc});
        if (bill.cost.blocks == 0) continue;
        core.time.Issue(launch.machine, Pipe::MTE2, bill.cost.load);
        core.time.Issue(launch.machine, Pipe::MTE1, bill.cost.feed);
        core.time.Issue(launch.machine, Pipe::M, bill.cost.compute);
        core.time.Issue(launch.machine, Pipe::FIX, bill.cost.store);
        core.bytes_in += bill.cost.bytes_in;
        core.bytes_out += bill.cost.bytes_out;
        core.time.HoldAllUntil(bill.free_at);
    }
    EndFiber();
}
