// Flags and barriers inside one core.
#include "check/journal.h"
#include "cores/core.h"

namespace twin {
namespace {

constexpr uint32_t Bit(Pipe pipe) { return 1u << static_cast<int>(pipe); }

// Whether a core of this kind has an event from one pipe to the other.
bool LegalPair(CoreKind kind, Pipe from, Pipe to) {
    constexpr uint32_t vector = Bit(Pipe::S) | Bit(Pipe::V) | Bit(Pipe::MTE2) | Bit(Pipe::MTE3);
    if (kind == CoreKind::Vector) return from != to && (vector & Bit(from)) != 0 && (vector & Bit(to)) != 0;
    uint32_t targets = 0;
    switch (from) {
        case Pipe::M: targets = Bit(Pipe::S) | Bit(Pipe::MTE1) | Bit(Pipe::MTE2) | Bit(Pipe::FIX); break;
        case Pipe::MTE1: targets = Bit(Pipe::M) | Bit(Pipe::MTE2) | Bit(Pipe::MTE3) | Bit(Pipe::FIX); break;
        case Pipe::MTE2: targets = Bit(Pipe::M) | Bit(Pipe::MTE1) | Bit(Pipe::MTE3) | Bit(Pipe::FIX); break;
        case Pipe::MTE3: targets = Bit(Pipe::MTE1) | Bit(Pipe::MTE2); break;
        case Pipe::FIX:
            targets = Bit(Pipe::S) | Bit(Pipe::M) | Bit(Pipe::MTE1) | Bit(Pipe::MTE2) | Bit(Pipe::MTE3);
            break;
        default: break;
    }
    return (targets & Bit(to)) != 0;
}

// Whatever a kernel made of a number: beyond the last pipe there is none.
void CheckPipes(Core& core, Pipe from, Pipe to, const char* operation, const void* pc) {
    auto known = [](Pipe pipe) { return static_cast<uint32_t>(pipe) < static_cast<uint32_t>(npukb::kPipes); };
    if (known(from) && known(to)) return;
    core.Violate("bad_event_pair", pc, "Name the pipes by HardEvent.", "%s: there are no pipes %d and %d", operation,
                 static_cast<int>(from), static_cast<int>(to));
}

// This core, which has to have such an event.
Core& CoreOfEvent(Pipe from, Pipe to, int32_t id, const char* operation, const void* pc) {
    Core& core = ThisCore();
    CheckPipes(core, from, to, operation, pc);
    if (id < 0 || id >= kFlagIds) {
        core.Violate("bad_event_id", pc, "Take ids from AllocEventID or FetchEventID.",
                     "%s<%s_%s>: event id %d is outside of 0 to %d", operation, PipeName(from), PipeName(to), id,
                     kFlagIds - 1);
    }
    bool with_scalar = core.kind == CoreKind::Cube && from != to && from != Pipe::V && to != Pipe::V &&
                       (from == Pipe::S || to == Pipe::S);
    if (with_scalar && !LegalPair(core.kind, from, to)) {
        core.Warn("bad_event_pair", pc, "Use PipeBarrier<PIPE_ALL> where the scalar unit has to wait.",
                  "%s<%s_%s>: no event of a cube core with its scalar unit is documented", operation, PipeName(from),
                  PipeName(to));
        return core;
    }
    if (!LegalPair(core.kind, from, to)) {
        const char* remedy = core.kind == CoreKind::Vector ? "Use two different pipes of S, V, MTE2 and MTE3."
                                                           : "Use a documented pair of M, MTE1, MTE2, MTE3 and FIX.";
        core.Violate("bad_event_pair", pc, remedy, "%s<%s_%s>: the %s core has no such event", operation,
                     PipeName(from), PipeName(to), CoreKindName(core.kind));
    }
    return core;
}

// The scalar unit issues an operation on a flag.
void IssueEvent(Core& core, Pipe from, Pipe to, int32_t id, const char* operation, const void* pc) {
    if (core.launch->journal != nullptr)
        core.launch->journal->Event(core, operation, pc, "%s_%s %d", PipeName(from), PipeName(to), id);
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_flag_set(npukb::Pipe from, npukb::Pipe to, int32_t id) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = CoreOfEvent(from, to, id, "SetFlag", pc);
    int f = static_cast<int>(from), t = static_cast<int>(to);
    if (core.flags[f][t] >> id & 1) {
        core.Violate("flag_set_twice", pc, "Wait for the flag before setting it again.",
                     "SetFlag<%s_%s>(%d): the flag is set already", PipeName(from), PipeName(to), id);
    }
    core.flags[f][t] = static_cast<uint8_t>(core.flags[f][t] | 1u << id);
    core.flag_set_by[f][t] = pc;
    IssueEvent(core, from, to, id, "SetFlag", pc);
    core.flag_time[f][t][id] = core.time.At(from);
}

void npukb_flag_wait(npukb::Pipe from, npukb::Pipe to, int32_t id) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = CoreOfEvent(from, to, id, "WaitFlag", pc);
    int f = static_cast<int>(from), t = static_cast<int>(to);
    if (!(core.flags[f][t] >> id & 1)) {
        core.Violate("deadlock", pc, "Set the flag, with the same event and id, before waiting for it.",
                     "WaitFlag<%s_%s>(%d): nothing sets this flag; the device waits for ever", PipeName(from),
                     PipeName(to), id);
    }
    core.flags[f][t] = static_cast<uint8_t>(core.flags[f][t] & ~(1u << id));
    IssueEvent(core, from, to, id, "WaitFlag", pc);
    core.Place(pc);
    core.time.HoldUntil(to, core.flag_time[f][t][id] + core.launch->machine.flag_cycles);
}

int32_t npukb_event_id(npukb::Pipe from, npukb::Pipe to, int hold) {
    using namespace twin;
    Core& core = ThisCore();
    CheckPipes(core, from, to, "FetchEventID", NPUKB_PC);
    int f = static_cast<int>(from), t = static_cast<int>(to);
    uint8_t taken = static_cast<uint8_t>(core.held_ids[f][t] | core.flags[f][t]);
    for (int32_t id = 0; id < kFlagIds; ++id) {
        if (taken >> id & 1) continue;
        if (hold) core.held_ids[f][t] = static_cast<uint8_t>(core.held_ids[f][t] | 1u << id);
        return id;
    }
    core.Violate("limit_exceeded", NPUKB_PC, "Release ids with ReleaseEventID.", "all %d event ids of %s_%s are in use",
                 kFlagIds, PipeName(from), PipeName(to));
}

void npukb_event_release(npukb::Pipe from, npukb::Pipe to, int32_t id) {
    twin::Core& core = twin::CoreOfEvent(from, to, id, "ReleaseEventID", NPUKB_PC);
    uint8_t& held = core.held_ids[static_cast<int>(from)][static_cast<int>(to)];
    if ((held >> id & 1) == 0) {
        core.Warn("bad_event_id", NPUKB_PC, "Release what AllocEventID returned, once.",
                  "ReleaseEventID: event id %d does not come from AllocEventID, or has been released", id);
    }
    held = static_cast<uint8_t>(held & ~(1u << id));
}

void npukb_barrier(npukb::Pipe pipe) {
    using namespace twin;
    Core& core = ThisCore();
    if (pipe != Pipe::All) CheckPipes(core, pipe, pipe, "PipeBarrier", NPUKB_PC);
    const Machine& m = core.launch->machine;
    core.Place(NPUKB_PC);
    if (core.launch->journal != nullptr)
        core.launch->journal->Event(core, "PipeBarrier", NPUKB_PC, "%s", PipeName(pipe));
    if (pipe == Pipe::All) {
        core.time.BarrierAll(m.barrier_all_cycles);
        return;
    }
    core.time.Issue(m, pipe, m.barrier_cycles, kTapeBarrier);
    core.time.Barrier(pipe);
}
}
