// What objects that multiply matrices ask of the runtime.
#include <stdlib.h>
#include <string.h>

#include "matmul/job.h"
#include "check/raw_access.h"
#include "check/operand_check.h"
#include "check/tracker.h"
#include "check/late_stores.h"

namespace twin {
namespace {

using npukb::MatmulForm;
using npukb::MatmulState;
using npukb::MatmulTarget;

// Rules that a tiling structure has to keep, whoever made it.
void CheckTiling(Core& core, const MatmulForm& form, const TCubeTiling& t, const char* name, const void* pc) {
    const char* remedy = "Take the structure from matmul_tiling, or keep the documented rules of TCubeTiling.";
    auto refuse = [&](const char* what, int64_t value, int64_t limit) {
        core.Violate("bad_tiling", pc, remedy, "%s: %s is %lld; the limit is %lld", name, what,
                     static_cast<long long>(value), static_cast<long long>(limit));
    };
    const struct {
        const char* name;
        int32_t value;
    } positive[] = {{"usedCoreNum", t.usedCoreNum},
                    {"singleCoreM", t.singleCoreM},
                    {"singleCoreN", t.singleCoreN},
                    {"singleCoreK", t.singleCoreK},
                    {"baseM", t.baseM},
                    {"baseN", t.baseN},
                    {"baseK", t.baseK},
                    {"depthA1", t.depthA1},
                    {"depthB1", t.depthB1},
                    {"stepKa", t.stepKa},
                    {"stepKb", t.stepKb},
                    {"stepM", t.stepM},
                    {"stepN", t.stepN}};
    for (const auto& field : positive) {
        if (field.value <= 0)
            core.Violate("bad_tiling", pc, remedy, "%s: %s is %d; it has to be positive", name, field.name,
                         field.value);
    }
    const struct {
        const char* name;
        int32_t value, least;
    } choices[] = {{"dbL0A", t.dbL0A, 1},
                   {"dbL0B", t.dbL0B, 1},
                   {"dbL0C", t.dbL0C, 1},
                   {"isBias", t.isBias, 0},
                   {"iterateOrder", t.iterateOrder, 0}};
    for (const auto& field : choices) {
        if (field.value != field.least && field.value != field.least + 1)
            core.Violate("bad_tiling", pc, remedy, "%s: %s is %d; it has to be %d or %d", name, field.name, field.value,
                         field.least, field.least + 1);
    }
    if (t.baseM % kFractalSide != 0 || t.baseN % kFractalSide != 0) {
        core.Violate("bad_tiling", pc, remedy, "%s: baseM and baseN are %d and %d; they have to be multiples of 16",
                     name, t.baseM, t.baseN);
    }
    if (BytesOfType(form.a, t.baseK) % 32 != 0) {
        core.Violate("bad_tiling", pc, remedy, "%s: baseK is %d; it has to be a multiple of %lld", name, t.baseK,
                     static_cast<long long>(64 / BytesOfType(form.a, 2)));
    }
    // What lies in L1 is one part of a matrix, or two of which one comes in while the other is used.
    const struct {
        const char* name;
        int32_t value;
        int64_t part;
    } depths[] = {{"depthA1", t.depthA1, int64_t{t.stepM} * t.stepKa},
                  {"depthB1", t.depthB1, int64_t{t.stepN} * t.stepKb}};
    for (const auto& depth : depths) {
        if (depth.value != depth.part && depth.value != 2 * depth.part)
            core.Violate("bad_tiling", pc, remedy, "%s: %s is %d; its steps make %lld, which it may hold once or twice",
                         name, depth.name, depth.value, static_cast<long long>(depth.part));
    }
    const int64_t a = BytesOfType(form.a, int64_t{t.baseM} * t.baseK),
                  b = BytesOfType(form.b, int64_t{t.baseN} * t.baseK);
    const int64_t twice_a = t.dbL0A == 2 ? 2 : 1, twice_b = t.dbL0B == 2 ? 2 : 1, twice_c = t.dbL0C == 2 ? 2 : 1;
    const Machine& machine = core.launch->machine;
    if (a * twice_a > machine.l0a_bytes) refuse("baseM * baseK in bytes, times dbL0A,", a * twice_a, machine.l0a_bytes);
    if (b * twice_b > machine.l0b_bytes) refuse("baseN * baseK in bytes, times dbL0B,", b * twice_b, machine.l0b_bytes);
    const int64_t c = int64_t{4} * t.baseM * t.baseN * twice_c;
    if (c > machine.l0c_bytes) refuse("baseM * baseN in sums of 4 bytes, times dbL0C,", c, machine.l0c_bytes);
    const int64_t ahead = a * t.depthA1 + b * t.depthB1;
    if (ahead > machine.l1_bytes) refuse("what depthA1 and depthB1 put into L1", ahead, machine.l1_bytes);
}

// What a configuration fixes takes the place of the tiling's numbers.
void Fix(int32_t& value, int32_t constant) {
    if (constant > 0) value = constant;
}

void Complete(TCubeTiling& t, const TCubeTiling& constant) {
    Fix(t.baseM, constant.baseM);
    Fix(t.baseN, constant.baseN);
    Fix(t.baseK, constant.baseK);
    Fix(t.singleCoreM, constant.singleCoreM);
    Fix(t.singleCoreN, constant.singleCoreN);
    Fix(t.singleCoreK, constant.singleCoreK);
}

// All of the tiling out of constants: one core's shape is the whole shape.
TCubeTiling Constant(const TCubeTiling& constant) {
    TCubeTiling t = constant;
    t.M = t.singleCoreM, t.N = t.singleCoreN, t.Ka = t.Kb = t.singleCoreK;
    t.usedCoreNum = t.stepM = t.stepN = t.stepKa = t.stepKb = 1;
    t.depthA1 = t.depthB1 = t.dbL0A = t.dbL0B = t.dbL0C = 1;
    return t;
}

int Number(Core& core, MatmulState* state, const char* name, const void* pc) {
    MatmulCore& own = MatmulOf(core);
    for (int i = 0; i < own.count; ++i) {
        if (own.objects[i] == state) return state->number = i + 1;
    }
    if (own.count == kMatmulObjects) {
        core.Violate("limit_exceeded", pc, "Use an object for several multiplications.",
                     "%s: a kernel has at most %d Matmul objects", name, kMatmulObjects);
    }
    own.objects[own.count++] = state;
    return state->number = own.count;
}

void Init(Core& core, MatmulState* state, const MatmulForm* form, const TCubeTiling* tiling, const char* name,
          const void* pc) {
    if (core.kind == CoreKind::Vector && !core.launch->Mixed()) {
        core.Violate("wrong_core", pc, "Declare KERNEL_TYPE_MIX_AIC_1_2, or leave the type out.",
                     "%s: a kernel of vector cores alone has no cube core that could multiply", name);
    }
    if (core.late != nullptr) core.late->Stop();  // the cube core reads for it
    CheckResult(state, sizeof *state, pc);
    CheckSource(form, sizeof *form, pc);
    const int number = Number(core, state, name, pc);
    state->form = form;
    if (tiling == nullptr && form->constant.singleCoreM <= 0) return;
    TCubeTiling t = tiling == nullptr ? Constant(form->constant) : *tiling;
    if (tiling != nullptr) Complete(t, form->constant);
    CheckTiling(core, *form, t, name, pc);
    uint8_t*& sums = MatmulOf(core).sums[number - 1];
    free(sums);
    sums = nullptr;
    state->tiling = t;
    state->ready = true;
    state->begun = state->ahead = false;
    state->org_m = t.M, state->org_n = t.N, state->org_ka = t.Ka, state->org_kb = t.Kb, state->org_c = 0;
    state->m = t.singleCoreM, state->n = t.singleCoreN, state->k = t.singleCoreK;
    ChargeInit(core, form->constant.singleCoreM > 0);
}

// Whether this core's call is one that the block's cube core hears. With both matrices shared, both vector cores call
// and the multiplication happens once; where both kinds of cores run the same code, the cube core's own call is not
// another one.
bool Heard(MatmulJob& job) {
    const MatmulForm& form = job.form();
    Core& core = job.core();
    if (form.config.enableMixDualMaster && core.kind == CoreKind::Cube) return false;
    return core.kind == CoreKind::Cube || !(form.a_shared && form.b_shared) || core.sub_block == 0;
}

// The other vector core's multiplication is this one's, too.
void Share(MatmulJob& job, const char* name, const void* pc) {
    Core& core = job.core();
    const MatmulForm& form = job.form();
    if (core.kind == CoreKind::Cube || !(form.a_shared && form.b_shared)) return;
    if (core.launch->per_block[static_cast<int>(CoreKind::Vector)] < 2) return;
    MatmulOrders& first = core.launch->cross->orders[core.number - core.sub_block];
    if (core.sub_block == 0) return Raise(&first.shared, MatmulOf(core).done_at);
    MatmulCore& own = MatmulOf(core);
    uint64_t nth = ++own.shared_seen;
    WaitFor(&first.shared, nth, {name, pc});
    own.done_at = first.shared.At(nth);
    own.due = nth;
    own.due_place = (core.number - core.sub_block) % core.launch->CoresPerBlock();
}

void IterateAhead(MatmulJob& job) {
    MatmulState& s = job.state();
    const int64_t area = int64_t{s.tiling.baseM} * s.tiling.baseN;
    for (int64_t i = 0; i < job.BlockCount(); ++i) {
        Block block = job.BlockAt(i);
        job.Multiply(block, job.Sums(), block.columns, false);
        job.StoreAside(block, job.Sums(), block.columns, i * area);
    }
    s.ahead = true;
    s.taken = 0;
    const MatmulTarget aside{&s.workspace, nullptr, 0, true};
    Charge(job.core(), job.Plan(&aside, {}));
}

// Into a tensor of the caller's in L0C: fractals of 16 by 16.
void KeepSums(MatmulJob& job, const Block& block, const npukb::BufferView* view, bool partial) {
    Core& core = job.core();
    const int64_t height = AlignUp(block.rows, kFractalSide), width = AlignUp(block.columns, kFractalSide);
    const Pinned pinned[] = {view};
    auto* to = static_cast<uint32_t*>(view->address);
    CheckLocal(core,
               {"Iterate", "localCmatrix", to, static_cast<uint64_t>(height * width * 4), view->bytes, 64, true,
                SetOf(Memory::L0C)},
               job.pc());
    auto* sums = reinterpret_cast<uint32_t*>(job.Sums());
    auto at = [&](int64_t r, int64_t c) { return (c / kFractalSide * height + r) * kFractalSide + c % kFractalSide; };
    for (int64_t r = 0; partial && r < block.rows; ++r) {
        for (int64_t c = 0; c < block.columns; ++c) sums[r * block.columns + c] = to[at(r, c)];
    }
    job.Multiply(block, sums, block.columns, partial);
    for (int64_t r = 0; r < block.rows; ++r) {
        for (int64_t c = 0; c < block.columns; ++c) to[at(r, c)] = sums[r * block.columns + c];
    }
}

// What vector cores have their cube core do is over with the call only where they wait for it.
void Served(Core& core, bool sync = true) {
    if (core.order == nullptr) return;
    core.order->Served();
    if (sync) core.order->Waited();
}

bool Iterate(MatmulState* state, bool sync, bool partial, const npukb::BufferView* sums, const void* pc) {
    MatmulJob job(state, "Iterate", pc);
    job.Require();
    MatmulState& s = *state;
    if (s.begun && s.ahead) {
        s.begun = s.taken < job.BlockCount();
        return s.begun;
    }
    s.block = s.begun ? s.block + 1 : 0;
    s.begun = s.block < job.BlockCount();
    if (!s.begun) return false;
    job.Open({});
    if (!sync) {
        IterateAhead(job);
        Served(job.core(), false);
        return true;
    }
    Block block = job.BlockAt(s.block);
    if (sums != nullptr)
        KeepSums(job, block, sums, partial);
    else
        job.Multiply(block, job.Sums(), block.columns, partial);
    Served(job.core());
    MatmulPlan plan = job.Plan(nullptr, {});
    plan.only = block;
    Charge(job.core(), plan);
    return true;
}

// Block number `taken` out of the workspace.
uint8_t* TakeAside(MatmulJob& job) {
    MatmulState& s = job.state();
    if (!s.ahead) job.Misuse("Call Iterate<false>() first.", "nothing was computed ahead");
    if (s.taken >= job.BlockCount()) job.Misuse("Take as many blocks as there are.", "all blocks have been taken");
    AwaitMatmul(job.core());
    int64_t area = int64_t{s.tiling.baseM} * s.tiling.baseN;
    return static_cast<uint8_t*>(s.workspace.address) + BytesOfType(s.form->c, area * s.taken++);
}

// The sums of a block to where the caller wants them. A local tensor has room for one block; only in global memory is
// there a matrix in which the block has its place.
void GiveBlock(MatmulJob& job, const Block& block, const MatmulTarget& target) {
    if (target.global != nullptr)
        job.Store({target.global, nullptr, target.atomic, target.sequential}, block, job.Sums(), block.columns, {});
    if (target.local != nullptr)
        job.Store({nullptr, target.local, target.atomic, true}, block, job.Sums(), block.columns, {});
}

void Get(MatmulState* state, bool, const MatmulTarget* target, const void* pc) {
    MatmulJob job(state, "GetTensorC", pc);
    job.Require();
    MatmulState& s = *state;
    if (s.ahead) {
        s.block = s.taken;
        TakeAside(job);
        // What was put aside has the result's type already: it is computed again rather than unpacked.
        job.Open({});
        Block block = job.BlockAt(s.block);
        job.Multiply(block, job.Sums(), block.columns, false);
        GiveBlock(job, block, *target);
        return Served(job.core());
    }
    if (!s.begun) job.Misuse("Call Iterate before GetTensorC.", "there is no block that was computed");
    job.Open({});
    const Block block = job.BlockAt(s.block);
    GiveBlock(job, block, *target);
    Served(job.core());
    MatmulPlan plan = job.Plan(target, {});
    plan.multiplies = false;
    plan.only = block;
    Charge(job.core(), plan);
    AwaitMatmul(job.core());
}

void All(MatmulState* state, bool sync, const MatmulTarget* target, const void* pc) {
    MatmulJob job(state, "IterateAll", pc);
    job.Require();
    state->begun = state->ahead = false;
    if (Heard(job)) {
        job.Whole(*target, {});
        Served(job.core(), sync);
        Charge(job.core(), job.Plan(target, {}));
    }
    Share(job, "IterateAll", pc);
    if (sync) AwaitMatmul(job.core());
    if (target->awaited && !job.form().cube_only) MatmulOf(job.core()).promised = pc;
}

// Matrix number `i` of a batch: how far its operands and its result lie behind the first ones.
BatchPlace PlaceOfBatch(const MatmulJob& job, const npukb::MatmulBatch& batch, int64_t i) {
    const MatmulState& s = job.state();
    const MatmulForm& f = job.form();
    const TCubeTiling& t = s.tiling;
    const int64_t all = batch.batch_a > batch.batch_b ? batch.batch_a : batch.batch_b;
    const int64_t a = i * batch.batch_a / all, b = i * batch.batch_b / all;
    BatchPlace place;
    place.on = true;
    auto step = [](LayoutMode layout, int64_t plain, int64_t narrow) {
        return layout == LayoutMode::NORMAL || layout == LayoutMode::NONE || layout == LayoutMode::BNGS1S2 ? plain
                                                                                                           : narrow;
    };
    auto row = [](LayoutMode layout, int64_t plain, int64_t b_, int64_t n, int64_t g, int64_t d) {
        if (layout == LayoutMode::BSNGD) return n * g * d;
        return layout == LayoutMode::SBNGD ? b_ * n * g * d : layout == LayoutMode::BNGS1S2 ? d : plain;
    };
    const int64_t plain_a = int64_t{s.org_m} * s.org_ka, plain_b = int64_t{s.org_n} * s.org_kb,
                  columns = s.org_c > 0 ? s.org_c : s.org_n;
    place.a = a * (batch.stride_a > 0 ? batch.stride_a : step(f.a_layout, plain_a, t.ALayoutInfoD));
    place.b = b * (batch.stride_b > 0 ? batch.stride_b : step(f.b_layout, plain_b, t.BLayoutInfoD));
    place.stride_a = row(f.a_layout, s.a.transposed ? s.org_m : s.org_ka, t.ALayoutInfoB, t.ALayoutInfoN,
                         t.ALayoutInfoG, t.ALayoutInfoD);
    place.stride_b = row(f.b_layout, s.b.transposed ? s.org_kb : s.org_n, t.BLayoutInfoB, t.BLayoutInfoN,
                         t.BLayoutInfoG, t.BLayoutInfoD);
    place.stride_c = row(f.c_layout, columns, t.CLayoutInfoB, t.CLayoutInfoN, t.CLayoutInfoG, t.CLayoutInfoS2);
    place.c = i * step(f.c_layout, int64_t{s.org_m} * columns, t.CLayoutInfoS2);
    place.bias = f.config.isBiasBatch ? i * s.n : 0;
    return place;
}

// How many results are added up into one: where the result has no groups and the operands have.
int64_t Reduced(const MatmulJob& job) {
    const TCubeTiling& t = job.state().tiling;
    const LayoutMode layout = job.form().c_layout;
    if (layout == LayoutMode::NORMAL || layout == LayoutMode::NONE || t.CLayoutInfoG != 1) return 1;
    return t.ALayoutInfoG > t.BLayoutInfoG ? t.ALayoutInfoG : t.BLayoutInfoG;
}

void CheckBatch(const MatmulJob& job, const npukb::MatmulBatch& batch) {
    uint32_t more = batch.batch_a > batch.batch_b ? batch.batch_a : batch.batch_b;
    uint32_t less = batch.batch_a + batch.batch_b - more;
    if (less == 0 || more % less != 0) {
        job.Misuse("Let one number of batches be a multiple of the other.",
                   "the numbers of batches of A and B do not fit together");
    }
}

void OneBatch(MatmulJob& job, const npukb::MatmulBatch& batch, const MatmulTarget& target, const BatchPlace& before,
              bool sync) {
    const MatmulState& s = job.state();
    const int64_t all = batch.batch_a > batch.batch_b ? batch.batch_a : batch.batch_b, reduced = Reduced(job);
    auto* sums = static_cast<float*>(malloc(static_cast<size_t>(s.m) * static_cast<size_t>(s.n) * 4));
    if (sums == nullptr) abort();
    for (int64_t i = 0; i < all; ++i) {
        BatchPlace place = PlaceOfBatch(job, batch, i);
        place.a += before.a;
        place.b += before.b;
        if (reduced > 1) place.c = PlaceOfBatch(job, batch, i / reduced).c;
        place.c += before.c;
        job.Open(place);
        Block block{0, 0, s.m, s.n, 0, s.k};
        job.Multiply(block, sums, s.n, i % reduced != 0);
        bool last = i % reduced == reduced - 1 || i == all - 1;
        if (last) job.Store(target, block, sums, s.n, place);
        Served(job.core(), sync);
        Charge(job.core(), job.Plan(last ? &target : nullptr, place));
    }
    free(sums);
}

void Batch(MatmulState* state, bool sync, const npukb::MatmulBatch* batch, const MatmulTarget* target, const void* pc) {
    MatmulJob job(state, target != nullptr ? "IterateBatch" : "IterateNBatch", pc);
    job.Require();
    CheckBatch(job, *batch);
    MatmulState& s = *state;
    if (target == nullptr && s.workspace.address == nullptr) {
        job.Misuse("Call SetWorkspace before IterateNBatch.", "there is no workspace that the results could wait in");
    }
    const int64_t all = batch->batch_a > batch->batch_b ? batch->batch_a : batch->batch_b;
    for (uint32_t loop = 0; loop < batch->loops; ++loop) {
        MatmulTarget aside{&s.workspace, nullptr, 0, false};
        npukb::MatmulBatch next = *batch;
        next.batch_a = batch->batch_a * (loop + 1);
        next.batch_b = batch->batch_b * (loop + 1);
        BatchPlace before = PlaceOfBatch(job, next, all * loop);
        OneBatch(job, *batch, target != nullptr ? *target : aside, before, sync);
    }
    s.taken = 0;
    if (sync) AwaitMatmul(job.core());
}

void* GetBatch(MatmulState* state, uint32_t batches, const npukb::BufferView* local, const void* pc) {
    MatmulJob job(state, "GetBatchTensorC", pc);
    job.Require();
    MatmulState& s = *state;
    if (s.workspace.address == nullptr)
        job.Misuse("Call SetWorkspace and IterateNBatch first.", "nothing was computed ahead");
    AwaitMatmul(job.core());
    const int64_t elements = int64_t{batches} * s.m * s.n;
    auto bytes = static_cast<uint64_t>(BytesOfType(s.form->c, elements));
    uint8_t* from = static_cast<uint8_t*>(s.workspace.address) + bytes * static_cast<uint64_t>(s.taken++);
    if (local != nullptr) {
        const Pinned pinned[] = {local};
        CheckLocal(job.core(), {"GetBatchTensorC", "c", local->address, bytes, local->bytes, 32, true}, pc);
        memcpy(local->address, from, bytes);
        Served(job.core());
    }
    return from;
}

void* GetWorkspace(MatmulState* state, const void* pc) {
    MatmulJob job(state, "GetTensorC", pc);
    job.Require();
    return TakeAside(job);
}

void Wait(MatmulState* state, const void* pc) {
    OwnState(state, pc);
    AwaitMatmul(ThisCore());
}

void End(MatmulState* state, const void* pc) {
    OwnState(state, pc);
    AwaitMatmul(ThisCore());
    state->begun = state->ahead = false;
}

void Regist(MatmulState* state, const MatmulForm* form, const TCubeTiling* tiling, const void* pc) {
    Core& core = ThisCore();
    if (core.kind == CoreKind::Vector && core.buffer_count > 0 && !form->cube_only) {
        core.Warn("regist_late", pc, "Call REGIST_MATMUL_OBJ before any InitBuffer.",
                  "REGIST_MATMUL_OBJ: %u buffers were made before the objects were registered", core.buffer_count);
    }
    Init(core, state, form, tiling, "REGIST_MATMUL_OBJ", pc);
}

}  // namespace
}  // namespace twin

using namespace npukb;

#define NPUKB_MATMUL_API(prefix)                                                                               \
    void prefix##_regist(MatmulState* state, const MatmulForm* form, const TCubeTiling* tiling) {              \
        twin::Regist(state, form, tiling, NPUKB_PC);                                                           \
    }                                                                                                          \
    void prefix##_init(MatmulState* state, const MatmulForm* form, const TCubeTiling* tiling) {                \
        twin::Init(twin::ThisCore(), state, form, tiling, "Init", NPUKB_PC);                                   \
    }                                                                                                          \
    bool prefix##_iterate(MatmulState* state, bool sync, bool partial, const BufferView* sums) {               \
        return twin::Iterate(state, sync, partial, sums, NPUKB_PC);                                            \
    }                                                                                                          \
    void prefix##_get(MatmulState* state, bool sync, const MatmulTarget* target) {                             \
        twin::Get(state, sync, target, NPUKB_PC);                                                              \
    }                                                                                                          \
    void* prefix##_get_workspace(MatmulState* state) { return twin::GetWorkspace(state, NPUKB_PC); }           \
    void prefix##_all(MatmulState* state, bool sync, const MatmulTarget* target) {                             \
        twin::All(state, sync, target, NPUKB_PC);                                                              \
    }                                                                                                          \
    void prefix##_batch(MatmulState* state, bool sync, const MatmulBatch* batch, const MatmulTarget* target) { \
        twin::Batch(state, sync, batch, target, NPUKB_PC);                                                     \
    }                                                                                                          \
    void* prefix##_get_batch(MatmulState* state, uint32_t batches, const BufferView* local) {                  \
        return twin::GetBatch(state, batches, local, NPUKB_PC);                                                \
    }                                                                                                          \
    void prefix##_wait(MatmulState* state) { twin::Wait(state, NPUKB_PC); }                                    \
    void prefix##_end(MatmulState* state) { twin::End(state, NPUKB_PC); }

extern "C" {
NPUKB_MATMUL_API(npukb_matmul)
NPUKB_MATMUL_API(npukb_cube_matmul)
}
