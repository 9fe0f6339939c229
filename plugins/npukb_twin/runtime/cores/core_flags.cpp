// CrossCoreSetFlag and CrossCoreWaitFlag. Every core has a counter per flag id. Mode 0: when all cores of one kind have
// set a flag, it is raised on each of them. Mode 1: the same among the vector cores of one block. Mode 2: the cube core
// raises it on its vector cores; these raise it on their cube core when all of them have set it.
//
// A set takes its turn in its pipe. A wait is documented to hold up what its core issues after it, on all pipes, and
// not what it issued before: that is over for the core only where the flag tells it so. Predicted times say that the
// pipes run dry first, which measured kernels bear out (docs/twin.md).
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cores/core_clock.h"
#include "cores/core.h"
#include "check/late_stores.h"

namespace twin {
namespace {

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

template <typename T>
class Log {
  public:
    void Add(const T& item) { At(count_) = item; }
    // The item with this number, made if it is not there.
    T& At(uint64_t index) {
        if (index >= room_) {
            uint64_t room = room_ == 0 ? 16 : room_;
            while (room <= index) room *= 2;
            items_ = static_cast<T*>(realloc(static_cast<void*>(items_), room * sizeof(T)));
            if (items_ == nullptr) abort();
            memset(static_cast<void*>(items_ + room_), 0, (room - room_) * sizeof(T));
            room_ = room;
        }
        if (index >= count_) count_ = index + 1;
        return items_[index];
    }
    uint64_t size() const { return count_; }
    const T& operator[](uint64_t i) const { return items_[i]; }

  private:
    T* items_;
    uint64_t count_;
    uint64_t room_;
};

struct Raising {
    double time;
    const void* pc;
    Clock known;  // of the cores that set it; belongs to the one that it is raised on
};

// One flag of one core: when it was raised, and when a wait took one off.
struct Counter {
    Signal signal;
    Log<Raising> raised;
    Log<double> taken;
};

// The sets of several cores that raise a flag together, by their number.
struct Gathering {
    int64_t arrived;
    double latest;
    Clock known;
    const void* pc;  // of the core with the lowest number
    int64_t by;
};
struct Group {
    Log<Gathering> sets;
    uint64_t complete;
};

// Neighbouring cores that a flag is raised on.
struct Reach {
    int64_t first;
    int64_t count;
};

}  // namespace

// Mapped, and zero: its pages take memory once a kernel uses a flag.
struct CoreFlags {
    Counter* counters;              // kCoreFlags of every core
    Group* kinds[kCoreKinds];       // mode 0
    Group* blocks[kCoreFlagModes];  // modes 1 and 2: of the vector cores of every block
    int64_t cores_per_block;
    bool used;  // somebody has set a flag or waited for one

    Counter& Of(int64_t core, uint32_t id) {
        Counter& counter = counters[core * kCoreFlags + id];
        counter.signal.name = CoreFlagName(core % cores_per_block, static_cast<int>(id));
        return counter;
    }
    // The cores that `core` sets a flag together with; null when its set alone raises the flag.
    Group* GroupOf(const Core& core, int mode, uint32_t id) {
        if (mode == 0) return &kinds[static_cast<int>(core.kind)][id];
        return core.kind == CoreKind::Cube || blocks[mode] == nullptr ? nullptr
                                                                      : &blocks[mode][core.block * kCoreFlags + id];
    }
};

namespace {

template <typename T>
T* Zeroed(int64_t count) {
    auto* memory = static_cast<T*>(calloc(static_cast<size_t>(count), sizeof(T)));
    if (memory == nullptr) abort();
    return memory;
}

void RaiseOn(const Core& core, const Reach& reach, uint32_t id, double time, const void* pc, const uint32_t* known) {
    for (int64_t i = 0; i < reach.count; ++i) {
        Counter& counter = core.launch->cross->flags->Of(reach.first + i, id);
        Raising raising{time, pc, nullptr};
        JoinClocks(core, known, &raising.known);
        counter.raised.Add(raising);
        Raise(&counter.signal, time, nullptr);
    }
}

// A set by one core: its number among the core's sets of this kind, and what is known by then.
struct Setting {
    uint64_t nth;
    double time;
    const void* pc;
    Pipe pipe;
};

// Counts one core in; the gathering of all of them when it was the last, so that the flag is raised.
Gathering* Complete(const Core& core, Group* group, const Setting& set, int64_t expected) {
    Gathering& gathering = group->sets.At(set.nth);
    if (set.time > gathering.latest) gathering.latest = set.time;
    Publish(core, set.pipe, &gathering.known);
    if (gathering.pc == nullptr || core.number < gathering.by) {
        gathering.pc = set.pc;
        gathering.by = core.number;
    }
    if (++gathering.arrived != expected) return nullptr;
    ++group->complete;
    return &gathering;
}

void Release(Gathering* gathering) {
    free(gathering->known);
    gathering->known = nullptr;
}

void SetAmongAll(Core& core, uint32_t id, const Setting& set) {
    const Launch& launch = *core.launch;
    int64_t per_block = launch.per_block[static_cast<int>(core.kind)];
    Gathering* all = Complete(core, launch.cross->flags->GroupOf(core, 0, id), set, launch.blocks * per_block);
    if (all == nullptr) return;
    int64_t first = core.kind == CoreKind::Cube ? 0 : launch.per_block[static_cast<int>(CoreKind::Cube)];
    for (int64_t b = 0; b < launch.blocks; ++b) {
        RaiseOn(core, {first + b * launch.CoresPerBlock(), per_block}, id, all->latest, all->pc, all->known);
    }
    Release(all);
}

// Modes 1 and 2, inside a block.
void SetInBlock(Core& core, uint32_t mode, uint32_t id, const Setting& set) {
    const Launch& launch = *core.launch;
    int64_t cube = core.block * launch.CoresPerBlock();
    int vectors = launch.per_block[0];
    const Reach siblings{cube + 1, vectors};
    if (core.kind == CoreKind::Cube) {
        Clock known = nullptr;
        Publish(core, set.pipe, &known);
        RaiseOn(core, siblings, id, set.time, set.pc, known);
        free(known);
        return;
    }
    Gathering* all = Complete(core, launch.cross->flags->GroupOf(core, static_cast<int>(mode), id), set, vectors);
    if (all == nullptr) return;
    RaiseOn(core, mode == 1 ? siblings : Reach{cube, 1}, id, all->latest, all->pc, all->known);
    Release(all);
}

// For the replay: who sets which flag together with how many.
void TellCoreFlag(Core& core, Pipe pipe, int mode, int id, uint64_t nth) {
    const Launch& launch = *core.launch;
    int64_t per_block = launch.per_block[static_cast<int>(core.kind)];
    bool alone = mode != 0 && core.kind == CoreKind::Cube;
    int64_t expected = alone ? 1 : (mode == 0 ? launch.blocks * per_block : per_block);
    core.time.TellFlag(pipe, {mode, id, core.kind == CoreKind::Cube}, nth, expected);
}

// Flags come with types of kernels that are documented to have them; a kernel of both kinds has such a type.
void CheckSupport(Core& core, const char* name, const void* pc) {
    const Launch& launch = *core.launch;
    if (launch.core_flags == FlagSupport::Yes || launch.Mixed()) return;
    const char* right = core.kind == CoreKind::Cube ? "KERNEL_TYPE_MIX_AIC_1_0" : "KERNEL_TYPE_MIX_AIV_1_0";
    if (launch.core_flags == FlagSupport::No) {
        core.Violate("flag_task_type", pc,
                     "Declare KERNEL_TYPE_MIX_AIV_1_0 (vector cores) or KERNEL_TYPE_MIX_AIC_1_0 (cube cores).",
                     "%s: the kernel declares a type of %s cores alone, without flags between cores; they need %s",
                     name, CoreKindName(core.kind), right);
    }
    core.Warn("flag_task_type", pc, "Say so by KERNEL_TASK_TYPE_DEFAULT at the entry's beginning.",
              "%s: the kernel declares no type; flags between %s cores are documented to need %s", name,
              CoreKindName(core.kind), right);
}

void CheckSet(Core& core, uint32_t mode, uint32_t id, const void* pc) {
    if (mode != 0 && !core.launch->Mixed()) {
        core.Violate("bad_sync_mode", pc, "Use mode 0, or SyncAll.",
                     "CrossCoreSetFlag: mode %u needs a kernel of cube and vector cores; this is one of %s cores alone",
                     mode, CoreKindName(core.kind));
    }
    if (mode == 1 && core.kind == CoreKind::Cube) {
        core.Violate("bad_sync_mode", pc, "Use mode 2 between a cube core and its vector cores.",
                     "CrossCoreSetFlag: mode 1 is for the vector cores of a block, and this is its cube core");
    }
    if (mode == 0) CheckWaves(core, "CrossCoreSetFlag", pc);
    if (id > kFreeCoreFlag) {
        core.Warn("reserved_flag", pc, "Use ids 0 to 10.",
                  "CrossCoreSetFlag: flag id %u is used by the system, SyncAll among others", id);
    }
}

void CheckId(Core& core, const char* name, uint32_t id, const void* pc) {
    if (id < kCoreFlags) return;
    core.Violate("bad_event_id", pc, "Use ids 0 to 10.", "%s: flag id %u is outside of 0 to %d", name, id,
                 kCoreFlags - 1);
}

[[noreturn]] void RanOver(Core& core, uint32_t id, const void* pc) {
    core.Violate("limit_exceeded", pc, "Wait for the flag before setting it again.",
                 "CrossCoreSetFlag(%u): the flag was set %d times without a wait; its counter ends at %d", id,
                 kCoreFlagLimit + 1, kCoreFlagLimit);
}

const char* WaitName(uint32_t id) {
    static const char* const names[kCoreFlags] = {
        "CrossCoreWaitFlag(0)",  "CrossCoreWaitFlag(1)",  "CrossCoreWaitFlag(2)",  "CrossCoreWaitFlag(3)",
        "CrossCoreWaitFlag(4)",  "CrossCoreWaitFlag(5)",  "CrossCoreWaitFlag(6)",  "CrossCoreWaitFlag(7)",
        "CrossCoreWaitFlag(8)",  "CrossCoreWaitFlag(9)",  "CrossCoreWaitFlag(10)", "CrossCoreWaitFlag(11)",
        "CrossCoreWaitFlag(12)", "CrossCoreWaitFlag(13)", "CrossCoreWaitFlag(14)", "CrossCoreWaitFlag(15)"};
    return names[id];
}

// How often the flag has been raised, and who set it without raising it.
void Explain(const Core& core, char* text, size_t size) {
    CoreFlags& flags = *core.launch->cross->flags;
    uint32_t id = core.cross.flag_awaited;
    auto raised = static_cast<unsigned long long>(flags.Of(core.number, id).raised.size());
    auto used = static_cast<size_t>(snprintf(text, size, ": the flag was raised %llu time%s and this is wait %llu",
                                             raised, raised == 1 ? "" : "s",
                                             static_cast<unsigned long long>(core.cross.flag_waits[id])));
    for (int mode = 0; mode < kCoreFlagModes && used < size; ++mode) {
        const Group* group = core.kind == CoreKind::Cube && mode == 2 && flags.blocks[2] != nullptr
                                 ? &flags.blocks[2][core.block * kCoreFlags + id]
                                 : (mode == 2 ? nullptr : flags.GroupOf(core, mode, id));
        if (group == nullptr || group->sets.size() == group->complete) continue;
        snprintf(text + used, size - used, "; only %lld of the cores that raise it together have set it",
                 static_cast<long long>(group->sets[group->complete].arrived));
        return;
    }
}

// Whether the counter passes its end, in the order of predicted time. Both logs are sorted; a wait at the moment of a
// set comes first. The raising that is too many is given back.
const Raising* TooMany(const Counter& counter) {
    uint64_t taken = 0;
    for (uint64_t i = 0; i < counter.raised.size(); ++i) {
        while (taken < counter.taken.size() && taken < i && counter.taken[taken] <= counter.raised[i].time) ++taken;
        if (i + 1 - taken > kCoreFlagLimit) return &counter.raised[i];
    }
    return nullptr;
}

}  // namespace

CoreFlags* NewCoreFlags(const Launch& launch) {
    auto* flags = Zeroed<CoreFlags>(1);
    flags->cores_per_block = launch.CoresPerBlock();
    flags->counters = Zeroed<Counter>(launch.CoreCount() * kCoreFlags);
    for (auto& kind : flags->kinds) kind = Zeroed<Group>(kCoreFlags);
    if (!launch.Mixed()) return flags;
    for (int mode = 1; mode < kCoreFlagModes; ++mode) flags->blocks[mode] = Zeroed<Group>(launch.blocks * kCoreFlags);
    return flags;
}

// Flags that are still set; not where a core did not come to its end, since what it would have waited for is unknown.
static void CheckLeft(Core& core, uint32_t id) {
    const Counter& counter = core.launch->cross->flags->Of(core.number, id);
    bool left = counter.raised.size() > core.cross.flag_waits[id];
    const void* pc = left ? counter.raised[counter.raised.size() - 1].pc : core.cross.flag_set_by[id];
    for (int mode = 0; mode < kCoreFlagModes; ++mode) {
        const Group* group = core.launch->cross->flags->GroupOf(core, mode, id);
        left = left || (group != nullptr && core.cross.flag_sets[mode][id] > group->complete);
    }
    if (!left) return;
    core.Fault("unpaired_flag", pc, "Give every CrossCoreSetFlag a CrossCoreWaitFlag with the same id.",
               "the cross-core flag %u was set and not waited for; it would still be set when the next kernel starts",
               id);
}

void CheckCoreFlags(Core* const* cores, int64_t count) {
    if (!cores[0]->launch->cross->flags->used) return;
    bool ended = true;
    for (int64_t i = 0; i < count; ++i) ended = ended && cores[i]->ended;
    for (int64_t i = 0; i < count; ++i) {
        Core& core = *cores[i];
        for (uint32_t id = 0; id < kCoreFlags; ++id) {
            const Raising* many = TooMany(core.launch->cross->flags->Of(core.number, id));
            if (many != nullptr) {
                core.Fault("limit_exceeded", many->pc, "Have the other side set a flag back, and wait for it.",
                           "CrossCoreSetFlag(%u): the flag was set %d times before the %s core waited for it; its "
                           "counter ends at %d",
                           id, kCoreFlagLimit + 1, CoreKindName(core.kind), kCoreFlagLimit);
            }
            if (ended) CheckLeft(core, id);
        }
    }
}

}  // namespace twin

extern "C" {

void npukb_core_flag_set(uint32_t mode, npukb::Pipe pipe, uint32_t id) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    CheckId(core, "CrossCoreSetFlag", id, pc);
    CheckSupport(core, "CrossCoreSetFlag", pc);
    CheckSet(core, mode, id, pc);
    uint64_t nth = core.cross.flag_sets[mode][id]++;
    core.cross.flag_set_by[id] = pc;
    if (mode == 0 && nth >= core.cross.flag_waits[id] + kCoreFlagLimit) RanOver(core, id, pc);
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
    const double ended = core.time.At(pipe).time, issued = core.time.At(Pipe::S).time;
    const Setting set{nth, ended > issued ? ended : issued, pc, pipe};
    core.Place(pc);
    TellCoreFlag(core, pipe, static_cast<int>(mode), static_cast<int>(id), nth);
    if (core.late != nullptr) core.late->Settle(core.time.At(pipe).known);
    pthread_mutex_lock(&g_lock);
    core.launch->cross->flags->used = true;
    mode == 0 ? SetAmongAll(core, id, set) : SetInBlock(core, mode, id, set);
    pthread_mutex_unlock(&g_lock);
}

void npukb_core_flag_wait(uint32_t, uint32_t id) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    CheckId(core, "CrossCoreWaitFlag", id, pc);
    if (core.launch->core_flags == FlagSupport::No) CheckSupport(core, "CrossCoreWaitFlag", pc);
    if (!core.launch->Mixed()) CheckWaves(core, "CrossCoreWaitFlag", pc);
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
    double reached = core.time.At(Pipe::S).time;
    pthread_mutex_lock(&g_lock);
    core.launch->cross->flags->used = true;
    Counter& counter = core.launch->cross->flags->Of(core.number, id);
    pthread_mutex_unlock(&g_lock);
    uint64_t nth = core.cross.flag_waits[id]++;
    core.cross.flag_awaited = id;
    core.cross.paired = true;
    WaitFor(&counter.signal, nth + 1, {WaitName(id), pc, Explain});
    pthread_mutex_lock(&g_lock);
    Raising& raised = counter.raised.At(nth);
    Raising raising = raised;
    raised.known = nullptr;
    counter.taken.Add(reached > raising.time ? reached : raising.time);
    pthread_mutex_unlock(&g_lock);
    Adopt(core, raising.known);
    free(raising.known);
    const Machine& m = core.launch->machine;
    core.time.MeetFlag(raising.time, (core.launch->Mixed() ? m.core_flag_s : m.sync_all_s) * m.clock_hz);
}
}
