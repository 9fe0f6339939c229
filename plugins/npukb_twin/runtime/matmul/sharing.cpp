// Objects' work goes to the core that does it on the device, which is not always the one that calls.
#include "matmul/sharing.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "check/pipe_order.h"
#include "matmul/schedule.h"
#include "time/cube_pace.h"

namespace twin {

struct Order {
    MatmulPlan plan;
    double given_at;
};

namespace {

double Cycles(const Machine& m, double seconds) { return seconds * m.clock_hz; }

// Names of signals on tapes, by the place of a vector core in its block.
int64_t GivenName(int64_t place) { return -(3000 + place); }
int64_t OverName(int64_t place) { return -(3100 + place); }

int64_t PlaceIn(const Core& core) { return core.number % core.launch->CoresPerBlock(); }

// What a plan takes a cube core that has memory to itself.
double EstimateOf(const Machine& m, const MatmulPlan& p) {
    const Block whole{0, 0, p.m, p.n, 0, p.k};
    const Block& b = p.only.rows > 0 ? p.only : whole;
    const double in = static_cast<double>(BytesOfType(p.type, b.rows * b.depth + b.depth * b.columns)),
                 out = p.stores ? static_cast<double>(BytesOfType(p.c.type, b.rows * b.columns)) : 0;
    const double products =
        static_cast<double>(b.rows * b.columns * b.depth) / (256 * DepthPerCycle(m, p.type, p.hf32));
    return Cycles(m, m.copy_in_latency_s) +
           std::max({Cycles(m, in / m.l1_in_bytes_per_s), Cycles(m, out / m.fixpipe_bytes_per_s), products});
}

void Append(MatmulOrders& orders, const Order& order) {
    if (orders.count == orders.room) {
        orders.room = orders.room == 0 ? 8 : 2 * orders.room;
        orders.first = static_cast<Order*>(realloc(static_cast<void*>(orders.first), orders.room * sizeof(Order)));
        if (orders.first == nullptr) abort();
    }
    memcpy(static_cast<void*>(orders.first + orders.count++), &order, sizeof order);
}

}  // namespace

MatmulOrders* NewMatmulOrders(const Launch& launch) {
    auto* all = static_cast<MatmulOrders*>(calloc(static_cast<size_t>(launch.CoreCount()), sizeof(MatmulOrders)));
    if (all == nullptr) abort();
    for (int64_t c = 0; c < launch.CoreCount(); ++c) {
        all[c].over.name = kUntimed;  // the cube core works while the others run, not after them
        all[c].shared.name = SharedResultName(c % launch.CoresPerBlock());
    }
    return all;
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
        if (core.matmul->promised != nullptr) {
            core.Fault("matmul_misuse", core.matmul->promised, "Call WaitIterateAll before the kernel ends.",
                       "IterateAll: waitIterateAll says that WaitIterateAll follows, and the kernel has ended without");
        }
        for (uint8_t* sums : core.matmul->sums) free(sums);
        free(core.matmul);
        core.matmul = nullptr;
    }
    if (core.launch->Mixed() && core.kind == CoreKind::Vector)
        Raise(&core.launch->cross->orders[core.number].over, core.time.End());
}

void ChargeInit(Core& core, bool constant) {
    const Machine& m = core.launch->machine;
    core.time.Scalar(Cycles(m, constant ? m.matmul_constant_init_s : m.matmul_init_s));
}

void Charge(Core& core, const MatmulPlan& plan) {
    const Machine& machine = core.launch->machine;
    if (core.kind == CoreKind::Cube) {
        Carry(core, plan);
        core.time.AssumeOver(core.time.End());
        return;
    }
    MatmulOrders& orders = core.launch->cross->orders[core.number];
    double half = Cycles(machine, machine.matmul_order_s) / 2;
    core.time.Scalar(machine.scalar_issue_cycles);
    Append(orders, {plan, core.time.End()});
    core.time.Tell(TapeMark::Raise, Pipe::S, GivenName(PlaceIn(core)), 0, 0);
    double shares = core.launch->per_block[static_cast<int>(CoreKind::Vector)];
    orders.free_at = std::max(orders.free_at, core.time.End() + half) + EstimateOf(machine, plan) * shares;
    MatmulOf(core).done_at = orders.free_at + half;
    MatmulOf(core).due = orders.count;
    MatmulOf(core).due_place = PlaceIn(core);
}

void AwaitMatmul(Core& core) {
    MatmulCore& own = MatmulOf(core);
    if (own.due > 0) {
        const Machine& m = core.launch->machine;
        core.time.Tell(TapeMark::Wait, Pipe::S, OverName(own.due_place), own.due, 0);
        core.time.Scalar(Cycles(m, m.matmul_order_s) / 2);
    }
    own.due = 0;
    own.promised = nullptr;
    if (core.order != nullptr) core.order->Waited();
    if (own.done_at > 0) core.time.AssumeOver(own.done_at);
    own.done_at = 0;
}

}  // namespace twin

extern "C" void npukb_matmul_serve(void) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const Launch& launch = *core.launch;
    const Machine& m = launch.machine;
    int vectors = launch.per_block[static_cast<int>(CoreKind::Vector)];
    if (vectors == 0) {
        core.Violate("deadlock", pc, "Define ASCENDC_CUBE_ONLY before lib/matmul_intf.h is included.",
                     "REGIST_MATMUL_OBJ: the cube core waits for orders of vector cores, and this kernel has none");
    }
    MatmulOrders* of = launch.cross->orders + core.number;  // from 1 on
    for (int i = 1; i <= vectors; ++i) WaitFor(&of[i].over, 1, {"REGIST_MATMUL_OBJ", pc});
    core.time.Scalar(Cycles(m, m.matmul_serve_s));
    // Whatever a vector core had to know before it gave an order lies before that order: the earliest comes first.
    const MatmulPlan* before = nullptr;
    int last = 0;
    for (uint64_t done[kCoreKinds * 8] = {};;) {
        int next = 0;
        for (int i = 1; i <= vectors; ++i) {
            if (done[i] == of[i].count) continue;
            if (next == 0 || of[i].first[done[i]].given_at < of[next].first[done[next]].given_at) next = i;
        }
        if (next == 0) break;
        const Order& order = of[next].first[done[next]++];
        core.Place(order.plan.pc);
        core.time.Tell(TapeMark::Wait, Pipe::S, GivenName(next), done[next], 0);
        core.time.Scalar(Cycles(m, m.matmul_order_s) / 2);
        Carry(core, order.plan, next == last ? nullptr : before);
        before = order.plan.multiplies && order.plan.only.rows == 0 ? &order.plan : nullptr;
        last = next;
        core.time.Tell(TapeMark::Raise, order.plan.stores ? Pipe::FIX : Pipe::M, OverName(next), 0, 0);
    }
    for (int i = 1; i <= vectors; ++i) free(of[i].first);
    EndFiber();
}
