// Synchronisation between cores: barriers, flags, and the order of blocks. Flags that Ascend C keeps in global memory
// are kept by the runtime; the memory that the kernel gives for them is checked, but not written.
#include "cores/barriers.h"

#include <pthread.h>
#include <stdlib.h>

#include "cores/core.h"
#include "matmul/sharing.h"
#include "check/operand_check.h"
#include "check/tracker.h"

namespace twin {
namespace {

pthread_mutex_t g_tables = PTHREAD_MUTEX_INITIALIZER;

constexpr uint64_t kSlotBytes = 32;

const void* AddressOf(const void* global_tensor) { return *static_cast<const void* const*>(global_tensor); }

const void* SlotOf(const void* workspace, int64_t index) {
    return static_cast<const uint8_t*>(workspace) + static_cast<uint64_t>(index) * kSlotBytes;
}

void CheckWorkspaces(Core& core, const char* name, const void* gm, uint64_t gm_bytes, const npukb::BufferView* ub,
                     uint64_t ub_bytes, const void* pc) {
    CheckWaves(core, name, pc);
    CheckGlobal(core, {name, gm, gm_bytes, 4, true}, pc);
    CheckLocal(core, {name, "ubWorkspace", ub->address, ub_bytes, ub->bytes, 32, true}, pc);
    if (core.order != nullptr) core.order->Forget();
}

// A flag in global memory counts from zero; whatever was there before would be taken for a core that has arrived.
void CheckZero(Core& core, const char* name, const void* slot, const void* pc) {
    auto value = *static_cast<const volatile int32_t*>(slot);
    if (value == 0) return;
    core.Violate("sync_not_zeroed", pc,
                 "Fill the whole workspace with zeros, on the host or in every core, before it is used.",
                 "%s: gmWorkspace holds %d where the flag of block %lld lies; it has to be zero", name, value,
                 static_cast<long long>(core.index));
}

void LeaveTogether(Core& core, double time) {
    const Machine& m = core.launch->machine;
    core.time.Meet(time, m.sync_all_s * m.clock_hz);
}

void Drain(Core& core) { core.time.HoldAllUntil(core.time.End()); }

uint64_t& WaitsFor(Core& core, const PairFlag* flag, const char* name, const void* pc) {
    CrossCoreState& mine = core.cross;
    for (int i = 0; i < mine.pair_count; ++i) {
        if (mine.pairs[i].flag == flag) return mine.pairs[i].waits;
    }
    if (mine.pair_count == 64) {
        core.Violate("limit_exceeded", pc, "Use fewer events.", "%s: one core waits for more than 64 different flags",
                     name);
    }
    mine.pairs[mine.pair_count].flag = flag;
    return mine.pairs[mine.pair_count++].waits;
}

}  // namespace

void CheckWaves(Core& core, const char* name, const void* pc) {
    const Launch& launch = *core.launch;
    if (launch.blocks <= launch.cores) return;
    core.Violate("deadlock", pc, "Start no more blocks than there are cores when blocks wait for each other.",
                 "%s: %lld blocks run in waves on %lld cores; the first wave waits for blocks that have no core yet",
                 name, static_cast<long long>(launch.blocks), static_cast<long long>(launch.cores));
}

int64_t NameOf(const Launch& launch, const Signal* signal) {
    if (signal->name != 0) return signal->name;
    return reinterpret_cast<const uint8_t*>(signal) - reinterpret_cast<const uint8_t*>(launch.cross);
}

void CrossCore::Start(const Launch& launch) {
    int vectors = launch.per_block[static_cast<int>(CoreKind::Vector)];
    all.expected = vectors > 0 ? launch.blocks * vectors : launch.blocks;
    all.whole = !launch.Mixed();
    everyone.expected = launch.CoreCount();
    everyone.whole = true;
    flags = NewCoreFlags(launch);
    turns = static_cast<Signal*>(calloc(static_cast<size_t>(launch.CoreCount()), sizeof(Signal)));
    if (turns == nullptr) abort();
    for (int64_t c = 0; c < launch.CoreCount(); ++c) turns[c].name = TurnName(c);
    orders = NewMatmulOrders(launch);
}

SoftMeeting* CrossCore::SoftAt(const void* workspace, int64_t expected) {
    pthread_mutex_lock(&g_tables);
    SoftMeeting* taken = nullptr;
    for (SoftMeeting& place : soft) {
        if (place.workspace != nullptr && (place.workspace != workspace || place.meeting.expected != expected))
            continue;
        place.workspace = workspace;
        place.meeting.expected = expected;
        place.meeting.whole = all.whole && expected == all.expected;
        taken = &place;
        break;
    }
    pthread_mutex_unlock(&g_tables);
    return taken;
}

PairFlag* CrossCore::PairAt(const void* slot) {
    pthread_mutex_lock(&g_tables);
    PairFlag* taken = nullptr;
    auto start = static_cast<uint32_t>(reinterpret_cast<uint64_t>(slot) / kSlotBytes % kPairs);
    for (uint32_t i = 0; i < kPairs; ++i) {
        PairFlag& flag = pairs[(start + i) % kPairs];
        if (flag.slot != nullptr && flag.slot != slot) continue;
        flag.slot = slot;
        taken = &flag;
        break;
    }
    pthread_mutex_unlock(&g_tables);
    return taken;
}

}  // namespace twin

extern "C" {

void npukb_sync_all(int vector_only) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const Launch& launch = *core.launch;
    CheckWaves(core, "SyncAll", pc);
    if (vector_only && launch.Mixed() && core.kind == CoreKind::Cube) {
        core.Warn("bad_sync_mode", pc, "Use SyncAll<false> on both kinds of cores.",
                  "SyncAll: on a cube core it does not wait; only vector cores meet");
        return;
    }
    if (!vector_only && launch.per_block[static_cast<int>(CoreKind::Cube)] == 0) {
        core.Violate("bad_sync_mode", pc, "Use SyncAll, or a kernel of cube and vector cores.",
                     "SyncAll<false> waits for cube cores, and this kernel runs on vector cores alone");
    }
    Drain(core);
    bool everyone = !vector_only && launch.Mixed();
    Meeting& meeting = everyone ? launch.cross->everyone : launch.cross->all;
    uint64_t nth = everyone ? ++core.cross.everyone : ++core.cross.all;
    Arrive(&meeting, nth, core.time.End());
    WaitFor(&meeting.complete, nth, {"SyncAll", pc});
    ++core.cross.met;
    LeaveTogether(core, meeting.complete.At(nth));
}

void npukb_sync_all_soft(const void* gm, const npukb::BufferView* ub, int32_t used) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    int64_t blocks = core.launch->cross->all.expected;
    if (used < 0 || used > blocks) {
        core.Violate("bad_core_index", pc, "Give the number of blocks that synchronise, or leave it out.",
                     "SyncAll: usedCores is %d of %lld blocks", used, static_cast<long long>(blocks));
    }
    const void* workspace = AddressOf(gm);
    CheckWorkspaces(core, "SyncAll", workspace, static_cast<uint64_t>(blocks) * kSlotBytes, ub,
                    static_cast<uint64_t>(blocks) * kSlotBytes, pc);
    CrossCore& cross = *core.launch->cross;
    SoftMeeting* soft = cross.SoftAt(workspace, used == 0 ? blocks : used);
    if (soft == nullptr) {
        core.Violate("limit_exceeded", pc, "Use one workspace for all calls of SyncAll.",
                     "SyncAll: more than %d workspaces", kMeetings);
    }
    uint64_t nth = ++core.cross.soft[soft - cross.soft];
    if (nth == 1) CheckZero(core, "SyncAll", SlotOf(workspace, core.index), pc);
    Drain(core);
    Arrive(&soft->meeting, nth, core.time.End());
    WaitFor(&soft->meeting.complete, nth, {"SyncAll", pc});
    if (soft->meeting.expected == blocks) ++core.cross.met;
    core.cross.paired = core.cross.paired || soft->meeting.expected != blocks;
    LeaveTogether(core, soft->meeting.complete.At(nth));
}

void npukb_block_flag(const void* gm, const npukb::BufferView* ub, int32_t block, int32_t event, int wait) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const char* name = wait ? "IBWait" : "IBSet";
    int64_t blocks = core.launch->cross->all.expected;
    if (block < 0 || block >= blocks || event < 0 || (wait && block == core.index)) {
        core.Violate("bad_core_index", pc, "Name a block of this launch; IBWait waits for another block than its own.",
                     "%s: block %d, event %d; the launch has %lld blocks and this is block %lld", name, block, event,
                     static_cast<long long>(blocks), static_cast<long long>(core.index));
    }
    const void* workspace = AddressOf(gm);
    const void* slot = SlotOf(workspace, blocks * event + block);
    CheckWorkspaces(core, name, slot, kSlotBytes, ub, kSlotBytes, pc);
    PairFlag* flag = core.launch->cross->PairAt(slot);
    if (flag == nullptr) {
        core.Violate("limit_exceeded", pc, "Use fewer events.", "%s: more than %d flags in one launch", name, kPairs);
    }
    Drain(core);
    if (!wait) {
        if (flag->signal.count == 0) CheckZero(core, name, slot, pc);
        Raise(&flag->signal, core.time.End());
        return;
    }
    core.cross.paired = true;
    uint64_t nth = ++WaitsFor(core, flag, name, pc);
    WaitFor(&flag->signal, nth, {name, pc});
    LeaveTogether(core, flag->signal.At(nth));
}

void npukb_block_order(const void* gm, const npukb::BufferView* ub, int step) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    static const char* const names[] = {"InitDetermineComputeWorkspace", "WaitPreBlock", "NotifyNextBlock"};
    Core& core = ThisCore();
    int64_t blocks = core.launch->cross->all.expected;
    uint64_t slots = static_cast<uint64_t>(blocks) * kSlotBytes;
    CheckWorkspaces(core, names[step], AddressOf(gm), slots, ub, slots + kSlotBytes, pc);
    Drain(core);
    if (step == 0) {
        core.cross.order_ready = true;
        return;
    }
    if (!core.cross.order_ready) {
        core.Violate("sync_not_zeroed", pc, "Call InitDetermineComputeWorkspace first, in every block.",
                     "%s: the workspace was not initialised by this block", names[step]);
    }
    if (step == 2) {
        Raise(&core.launch->cross->turns[core.index], core.time.End());
        return;
    }
    // Block 0 opens the first round; every later round begins when the last block has finished the one before.
    core.cross.paired = true;
    uint64_t round = ++core.cross.turns_waited;
    uint64_t target = core.index == 0 ? round - 1 : round;
    const Signal& before = core.launch->cross->turns[(core.index + blocks - 1) % blocks];
    WaitFor(&before, target, {"WaitPreBlock", pc});
    if (target > 0) LeaveTogether(core, before.At(target));
}
}
