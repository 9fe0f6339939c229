// Order of calls, as the pages of Hccl give it: Init, the tiling, then per task Prepare, Commit and Wait as often as it
// has rounds, tasks in turn, and Finalize. With one rank each round copies what it sends to where it is received.
#include "cores/ranks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "check/data_cache.h"
#include "check/late_stores.h"
#include "check/tracker.h"

namespace twin {
namespace {

using npukb::Exchange;
using npukb::RankClient;
using npukb::RankInit;
using npukb::RankTask;

// Addresses that lie nowhere: the layout of a context is not documented, so nothing can be read in it.
constexpr uint64_t kContext = 0x4843434c0000;  // "HCCL"
constexpr uint64_t kContextStep = 0x1000;
constexpr uint64_t kMostBytes = 1ull << 48;  // more than any memory: sizes come from kernels
constexpr const char* kRule = "hccl_misuse";
constexpr const char* kNames[] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll", "AlltoAllV"};
constexpr uint8_t kTypeBytes[] = {1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16, 0, 1, 1, 1, 1};

struct Given {
    RankTask task;
    uint64_t bytes;  // of a round
    const void* pc;
    uint32_t committed;
    uint32_t waited;
    uint32_t over;          // rounds that the kernel knows to be over
    uint32_t stepped;       // rounds that Iterate has told of
    uint32_t stepped_over;  // and has waited for
};

struct Group {
    bool open;
    bool has_tiling;
    RankInit how;
    bool finalized;
    int count;
    Given tasks[kRankTasks];
};

pthread_mutex_t g_server = PTHREAD_MUTEX_INITIALIZER;

RankServer* NewServer() {
    auto* server = static_cast<RankServer*>(calloc(1, sizeof(RankServer)));
    if (server == nullptr) abort();
    for (auto& group : server->done) {
        for (Signal& done : group) done.name = kUntimed;  // a server takes its time beside the cores
    }
    return server;
}

RankServer& ServerOf(Core& core) {
    CrossCore& cross = *core.launch->cross;
    pthread_mutex_lock(&g_server);
    if (cross.ranks == nullptr) cross.ranks = NewServer();
    pthread_mutex_unlock(&g_server);
    return *cross.ranks;
}

}  // namespace

struct RankCore {
    Group groups[kRankGroups];
    int under_way;  // rounds
    bool serving;
    bool gives;  // it has given tasks to the server
};

namespace {

RankCore& RanksOf(Core& core) {
    if (core.ranks == nullptr) core.ranks = static_cast<RankCore*>(calloc(1, sizeof(RankCore)));
    if (core.ranks == nullptr) abort();
    return *core.ranks;
}

// The communicator of an object that is ready to be used.
Group& GroupOf(Core& core, uint32_t number, const char* name, bool needs_tiling, const void* pc) {
    if (number < 1 || number > kRankGroups || !RanksOf(core).groups[number - 1].open) {
        core.Violate(kRule, pc, "Call InitV2 with what GetHcclContext gives, then SetCcTilingV2.",
                     "%s: the Hccl object is not initialised", name);
    }
    Group& group = RanksOf(core).groups[number - 1];
    if (needs_tiling && group.how != RankInit::Plain && !group.has_tiling) {
        core.Violate(kRule, pc, "Call SetCcTilingV2 with the offset of the task's Mc2CcTiling in the tiling structure.",
                     "%s: the Hccl object has no tiling of a task", name);
    }
    return group;
}

Given& GivenBy(Core& core, Group& group, int32_t handle, const char* name, const void* pc) {
    if (handle < 0 || handle >= group.count) {
        core.Violate(kRule, pc, "Give the handle that AllReduce or another such function returned.",
                     "%s: the handle %d is that of no task; this core has prepared %d", name, handle, group.count);
    }
    return group.tasks[handle];
}

// Whether this core is the one that gives its tasks to the server.
bool Gives(const Core& core, const RankClient& client) {
    bool of_kind = client.core_type == 0 || (client.core_type == 1) == (core.kind == CoreKind::Vector);
    return of_kind && core.index == client.block;
}

bool Reduces(const RankTask& t) { return t.what == Exchange::AllReduce || t.what == Exchange::ReduceScatter; }

// The types and operations that the pages list.
bool Listed(const RankTask& t) {
    constexpr uint32_t kReduced = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 11;
    bool known = t.type >= 0 && t.type < static_cast<int32_t>(sizeof kTypeBytes) && kTypeBytes[t.type] > 0;
    if (!known || t.type == 12) return false;
    return !Reduces(t) || ((kReduced >> t.type & 1) != 0 && (t.reduce == 0 || t.reduce == 2 || t.reduce == 3));
}

void CheckTask(Core& core, const RankTask& t, const char* name, const void* pc) {
    if (!Listed(t)) {
        core.Violate(kRule, pc, "Use a data type and an operation that the function's page lists.",
                     "%s: data type %d with operation %d is not supported", name, t.type, t.reduce);
    }
    if (t.repeat == 0) core.Violate(kRule, pc, "Repeat at least once.", "%s: repeat is 0", name);
    if (t.what == Exchange::AlltoAllV && (t.received_type != t.type || t.received != t.count)) {
        core.Violate(kRule, pc, "Receive from a rank what it sends: as many elements, of the same type.",
                     "%s: this rank sends itself %llu elements of type %d and receives %llu of type %d", name,
                     static_cast<unsigned long long>(t.count), t.type, static_cast<unsigned long long>(t.received),
                     t.received_type);
    }
    uint64_t most = kMostBytes / kTypeBytes[t.type];
    if (t.count > most || t.send_offset > most || t.receive_offset > most) {
        core.Violate("limit_exceeded", pc, "Count elements of the tensor.", "%s: no tensor has %llu elements", name,
                     static_cast<unsigned long long>(t.count));
    }
}

uint8_t* PlaceOf(const Given& given, uint32_t round, bool receive) {
    const RankTask& t = given.task;
    uint64_t offset = (receive ? t.receive_offset : t.send_offset) * kTypeBytes[t.type] + round * given.bytes;
    return static_cast<uint8_t*>(receive ? t.receive : t.send) + offset;
}

// What the server reads has to be complete when it is told so, and what it writes not in use.
void HandOver(Core& core, const Given& given, const uint8_t* at, bool write, const void* pc) {
    const char* name = kNames[static_cast<int>(given.task.what)];
    const Access access{name,  "gm",  pc,   Whole(reinterpret_cast<uint64_t>(at), given.bytes), write, true,
                        false, false, false};
    CheckGlobal(core, {name, at, given.bytes, kTypeBytes[given.task.type], write}, pc);
    if (core.order != nullptr) core.order->Handed(access);
    PastCaches(core, access);
}

// What the server does: from here to there.
void CarryOut(Core& core, const Given& given, uint32_t round, const void* pc) {
    uint8_t *from = PlaceOf(given, round, false), *to = PlaceOf(given, round, true);
    if (given.bytes == 0) return;
    core.time.Access(core.launch->machine.scalar_issue_cycles);  // an instruction of its own, which others learn of
    core.ranks->serving = true;                                  // rounds that are under way are its own
    HandOver(core, given, from, false, pc);
    HandOver(core, given, to, true, pc);
    memmove(to, from, given.bytes);
    TrackStored(core, to, given.bytes);
    if (core.order != nullptr) core.order->Served(), core.order->Waited();  // CheckUnderWay looks at it
    core.ranks->serving = false;
}

// When a round is over: nothing is known of the server's own time, so only the bytes count, out and in again.
double OverAt(const Core& core, uint64_t bytes) {
    const Machine& m = core.launch->machine;
    double seconds = static_cast<double>(bytes) * (1 / m.hbm_read_bytes_per_s + 1 / m.hbm_write_bytes_per_s);
    return core.time.End() + seconds * m.clock_hz;
}

void Commit(Core& core, const RankClient& client, int32_t handle, const char* name, const void* pc) {
    Group& group = GroupOf(core, client.group, name, true, pc);
    Given& given = GivenBy(core, group, handle, name, pc);
    if (group.finalized) {
        core.Violate(kRule, pc, "Call Finalize behind the last Commit.", "%s: Finalize has told the server to end",
                     name);
    }
    if (given.committed == given.task.repeat) {
        core.Violate(kRule, pc, "Commit a task as often as its repeat says.",
                     "%s: the task %d has %d rounds, and all are committed", name, handle, given.task.repeat);
    }
    uint32_t round = given.committed++;
    if (!Gives(core, client)) return;
    CarryOut(core, given, round, pc);
    ++RanksOf(core).under_way;
    Raise(&ServerOf(core).done[client.group - 1][handle], OverAt(core, given.bytes));
}

// Rounds up to `rounds` are known to be over.
void Know(Core& core, Given& given, uint32_t rounds, bool gives) {
    if (rounds <= given.over) return;
    if (gives) RanksOf(core).under_way -= static_cast<int>(rounds - given.over);
    given.over = rounds;
}

void Await(Core& core, const RankClient& client, int32_t handle, uint32_t rounds, const char* name, const void* pc) {
    Signal& done = ServerOf(core).done[client.group - 1][handle];
    WaitFor(&done, rounds, {name, pc});
    core.time.AssumeOver(done.At(rounds) > core.time.End() ? done.At(rounds) : core.time.End());
    Know(core, RanksOf(core).groups[client.group - 1].tasks[handle], rounds, Gives(core, client));
}

// A task's rounds are waited for when those of all tasks before it have been.
void CheckTurn(Core& core, const Group& group, int32_t handle, const void* pc) {
    for (int i = 0; i < handle; ++i) {
        const Given& before = group.tasks[i];
        if (std::max(before.waited, before.stepped_over) == before.task.repeat) continue;
        core.Violate(kRule, pc, "Wait for tasks in the order in which they were prepared, as often as each repeats.",
                     "Wait: the task %d is waited for before the task %d, of which %u of %d rounds were", handle, i,
                     before.waited, before.task.repeat);
    }
}

bool Meets(const Given& given, uint32_t round, bool receive, const GlobalRegion& r) {
    auto begin = reinterpret_cast<uint64_t>(r.address),
         mine = reinterpret_cast<uint64_t>(PlaceOf(given, round, receive));
    return begin < mine + given.bytes && mine < begin + r.bytes;
}

void Refuse(Core& core, const Given& given, uint32_t round, const GlobalRegion& r, const void* pc) {
    bool result = Meets(given, round, true, r);
    if (!result && !(r.write && Meets(given, round, false, r))) return;
    core.related = given.pc;
    core.Violate("missing_sync", pc, "Call Wait with the task's handle before.",
                 "%s %s what %s %s; round %u of it is committed and not waited for", r.instruction,
                 r.write ? "writes" : "reads", kNames[static_cast<int>(given.task.what)], result ? "receives" : "sends",
                 round);
}

}  // namespace

void CheckUnderWay(Core& core, const GlobalRegion& r, const void* pc) {
    if (core.ranks->serving || core.ranks->under_way == 0 || core.launch->checker == Checker::Off) return;
    for (const Group& group : core.ranks->groups) {
        for (int i = 0; i < group.count; ++i) {
            const Given& given = group.tasks[i];
            for (uint32_t round = given.over; round < given.committed; ++round) Refuse(core, given, round, r, pc);
        }
    }
}

void FinishRanks(Core& core) {
    if (core.ranks == nullptr) return;
    for (const Group& group : core.ranks->groups) {
        if (group.count == 0 || group.finalized || !core.ended || !core.ranks->gives) continue;
        core.Warn(kRule, group.tasks[0].pc, "Call Finalize when there are no more tasks.",
                  "the kernel ended without Finalize: the server of its %d tasks waits for more", group.count);
    }
    free(core.ranks);
    core.ranks = nullptr;
}

}  // namespace twin

extern "C" {

void* npukb_rank_context(uint32_t index) {
    return reinterpret_cast<void*>(twin::kContext + index * twin::kContextStep);
}

uint32_t npukb_rank_open(npukb::RankInit how, const void* context, const void* tiling) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const char* name = how == RankInit::Copied ? "InitV2" : "Init";
    auto index = static_cast<uint32_t>((reinterpret_cast<uint64_t>(context) - kContext) / kContextStep);
    if (index >= kRankGroups || npukb_rank_context(index) != context) {
        core.Violate(kRule, pc, "Give what GetHcclContext returns.",
                     "%s: the context is no communicator of this launch", name);
    }
    bool global = tiling != nullptr && core.launch->memory.Holding(tiling) != nullptr;
    if (how == RankInit::Copied && (global || tiling == nullptr)) {
        core.Violate(kRule, pc, "Give the address of the structure that GET_TILING_DATA_WITH_STRUCT made.",
                     "InitV2: the tiling lies in global memory; it has to be a copy of the kernel");
    }
    Group& group = RanksOf(core).groups[index];
    if (group.open) {
        core.Violate(kRule, pc, "Initialise one Hccl object with each context.",
                     "%s: this context has initialised an Hccl object before", name);
    }
    group.open = true;
    group.how = how;
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
    return index + 1;
}

int32_t npukb_rank_tiling(uint32_t number, uint64_t, const void* address) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const char* name = address == nullptr ? "SetCcTilingV2" : "SetCcTiling";
    Group& group = GroupOf(core, number, name, false, pc);
    RankInit wanted = address == nullptr ? RankInit::Copied : RankInit::Global;
    if (group.how != wanted) {
        core.Violate(kRule, pc, "Use InitV2 with SetCcTilingV2, or Init with SetCcTiling.",
                     "%s belongs to %s, and the object was initialised otherwise", name,
                     wanted == RankInit::Copied ? "InitV2" : "Init with a tiling");
    }
    group.has_tiling = true;
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
    return 0;  // HCCL_SUCCESS
}

int32_t npukb_rank_prepare(npukb::RankClient client, const npukb::RankTask* task, int commit) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const RankTask t = *task;
    if (static_cast<uint32_t>(t.what) >= npukb::kExchanges)
        core.Violate(kRule, pc, "Call Hccl's functions.", "no task");
    const char* name = kNames[static_cast<int>(t.what)];
    Group& group = GroupOf(core, client.group, name, true, pc);
    CheckTask(core, t, name, pc);
    if (group.finalized) {
        core.Violate(kRule, pc, "Call Finalize behind the last task.", "%s: Finalize has told the server to end", name);
    }
    if (group.count == kRankTasks) {
        core.Violate("limit_exceeded", pc, "Use repeat, or prepare fewer tasks.",
                     "%s: a communicator takes %d tasks at most", name, kRankTasks);
    }
    if (Gives(core, client)) {
        core.ranks->gives = true;
        uint32_t* givers = &ServerOf(core).givers[client.group - 1];
        uint32_t kinds = __atomic_or_fetch(givers, 1u << static_cast<int>(core.kind), __ATOMIC_RELAXED);
        if (client.core_type == 0 && (kinds & (kinds - 1)) != 0) {
            core.Violate(kRule, pc, "Put it under ASCEND_IS_AIC or ASCEND_IS_AIV.",
                         "%s: cube and vector cores both give tasks to one communicator", name);
        }
    }
    group.tasks[group.count] = {t, t.count * kTypeBytes[t.type], pc, 0, 0, 0, 0, 0};
    int32_t handle = group.count++;
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
    for (int i = 0; commit != 0 && i < t.repeat; ++i) Commit(core, client, handle, name, pc);
    return handle;
}

void npukb_rank_commit(npukb::RankClient client, int32_t handle) {
    twin::Commit(twin::ThisCore(), client, handle, "Commit", NPUKB_PC);
}

int32_t npukb_rank_wait(npukb::RankClient client, int32_t handle) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    CheckWaves(core, "Wait", pc);
    Group& group = GroupOf(core, client.group, "Wait", true, pc);
    Given& given = GivenBy(core, group, handle, "Wait", pc);
    CheckTurn(core, group, handle, pc);
    if (given.waited == given.task.repeat) {
        core.Violate(kRule, pc, "Wait for a task as often as its repeat says.",
                     "Wait: the task %d has %d rounds, and all have been waited for", handle, given.task.repeat);
    }
    if (Gives(core, client) && given.waited == given.committed) {
        core.Violate("deadlock", pc, "Call Commit before Wait.",
                     "Wait: round %u of the task %d has not been committed; the core waits for ever", given.waited,
                     handle);
    }
    Await(core, client, handle, ++given.waited, "Wait", pc);
    return 0;  // HCCL_SUCCESS
}

int32_t npukb_rank_iterate(npukb::RankClient client, int32_t handle, uint32_t blocks, int wait) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    Group& group = GroupOf(core, client.group, "Iterate", true, pc);
    Given& given = GivenBy(core, group, handle, "Iterate", pc);
    if (given.task.what != Exchange::AlltoAllV && given.task.what != Exchange::AlltoAll) {
        core.Violate(kRule, pc, "Call Wait, or exchange by AlltoAllV.", "Iterate: %s has no steps",
                     kNames[static_cast<int>(given.task.what)]);
    }
    if (blocks != 1) {
        core.Violate(kRule, pc, "Let the tiling function cut steps of at most as many blocks as there are ranks.",
                     "Iterate: seqSliceLen is %u, and a step of a rank alone has 1 block", blocks);
    }
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
    if (given.stepped == given.task.repeat) return 0;
    ++given.stepped;
    if (wait == 0) return 1;
    CheckWaves(core, "Iterate", pc);
    if (Gives(core, client) && given.committed < given.stepped) {
        core.Violate("deadlock", pc, "Call Commit before, or Iterate<false> where the kernel computes what it sends.",
                     "Iterate: round %u of the task %d has not been committed; the core waits for ever",
                     given.stepped - 1, handle);
    }
    Await(core, client, handle, given.stepped, "Iterate", pc);
    given.stepped_over = given.stepped;
    return 1;
}

int32_t npukb_rank_query(npukb::RankClient client, int32_t handle) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    Given& given = GivenBy(core, GroupOf(core, client.group, "Query", true, pc), handle, "Query", pc);
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
    if (!Gives(core, client)) Poll({"Query", pc});
    auto rounds =
        static_cast<uint32_t>(__atomic_load_n(&ServerOf(core).done[client.group - 1][handle].count, __ATOMIC_ACQUIRE));
    if (rounds > given.over) Await(core, client, handle, rounds, "Query", pc);
    return static_cast<int32_t>(rounds);
}

void npukb_rank_finalize(npukb::RankClient client) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    Group& group = GroupOf(core, client.group, "Finalize", true, pc);
    bool gives = Gives(core, client);
    for (int i = 0; i < group.count; ++i) {
        Given& given = group.tasks[i];
        if (given.committed < given.task.repeat) {
            core.Violate(
                "deadlock", pc, "Commit every task as often as its repeat says.",
                "Finalize: %u of %d rounds of the task %d are committed; the server waits for the rest for ever",
                given.committed, given.task.repeat, i);
        }
        if (gives && given.over < given.committed) Await(core, client, i, given.committed, "Finalize", pc);
    }
    group.finalized = true;
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
}

uint32_t npukb_rank_number(uint32_t group, int dimension) {
    using namespace twin;
    GroupOf(ThisCore(), group, dimension != 0 ? "GetRankDim" : "GetRankId", false, NPUKB_PC);
    return dimension != 0 ? 1 : 0;
}
}
