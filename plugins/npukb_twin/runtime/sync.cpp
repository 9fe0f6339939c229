// Flags and barriers inside one core.
#include "core.h"

namespace twin {
namespace {

void CheckEvent(Core& core, Pipe from, Pipe to, int32_t id, const char* operation, const void* pc) {
    if (id < 0 || id >= kFlagIds) {
        core.Violate("bad_event_id", pc, "Take ids from AllocEventID or FetchEventID.",
                     "%s<%s_%s>: event id %d is outside of 0 to %d", operation, PipeName(from), PipeName(to), id, kFlagIds - 1);
    }
    bool vector_core = from != Pipe::M && from != Pipe::MTE1 && from != Pipe::FIX && to != Pipe::M && to != Pipe::MTE1 && to != Pipe::FIX;
    if (!vector_core || from == to) {
        core.Violate("bad_event_pair", pc, "Use two different pipes of S, V, MTE2 and MTE3.",
                     "%s<%s_%s>: the vector core has no such event", operation, PipeName(from), PipeName(to));
    }
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_flag_set(npukb::Pipe from, npukb::Pipe to, int32_t id) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    CheckEvent(core, from, to, id, "SetFlag", pc);
    int f = static_cast<int>(from), t = static_cast<int>(to);
    if (core.flags[f][t] >> id & 1) {
        core.Violate("flag_set_twice", pc, "Wait for the flag before setting it again.",
                     "SetFlag<%s_%s>(%d): the flag is set already", PipeName(from), PipeName(to), id);
    }
    core.flags[f][t] = static_cast<uint8_t>(core.flags[f][t] | 1u << id);
    core.flag_set_by[f][t] = pc;
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
    core.flag_time[f][t][id] = core.time.At(from);
}

void npukb_flag_wait(npukb::Pipe from, npukb::Pipe to, int32_t id) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    CheckEvent(core, from, to, id, "WaitFlag", pc);
    int f = static_cast<int>(from), t = static_cast<int>(to);
    if (!(core.flags[f][t] >> id & 1)) {
        core.Violate("deadlock", pc, "Set the flag, with the same event and id, before waiting for it.",
                     "WaitFlag<%s_%s>(%d): nothing sets this flag; the device waits for ever", PipeName(from), PipeName(to), id);
    }
    core.flags[f][t] = static_cast<uint8_t>(core.flags[f][t] & ~(1u << id));
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
    core.time.HoldUntil(to, core.flag_time[f][t][id] + core.launch->machine.flag_cycles);
}

int32_t npukb_event_id(npukb::Pipe from, npukb::Pipe to, int hold) {
    using namespace twin;
    Core& core = ThisCore();
    int f = static_cast<int>(from), t = static_cast<int>(to);
    uint8_t taken = static_cast<uint8_t>(core.held_ids[f][t] | core.flags[f][t]);
    for (int32_t id = 0; id < kFlagIds; ++id) {
        if (taken >> id & 1) continue;
        if (hold) core.held_ids[f][t] = static_cast<uint8_t>(core.held_ids[f][t] | 1u << id);
        return id;
    }
    core.Violate("limit_exceeded", NPUKB_PC, "Release ids with ReleaseEventID.",
                 "all %d event ids of %s_%s are in use", kFlagIds, PipeName(from), PipeName(to));
}

void npukb_event_release(npukb::Pipe from, npukb::Pipe to, int32_t id) {
    twin::Core& core = twin::ThisCore();
    twin::CheckEvent(core, from, to, id, "ReleaseEventID", NPUKB_PC);
    uint8_t& held = core.held_ids[static_cast<int>(from)][static_cast<int>(to)];
    held = static_cast<uint8_t>(held & ~(1u << id));
}

void npukb_barrier(npukb::Pipe pipe) {
    using namespace twin;
    Core& core = ThisCore();
    const Machine& m = core.launch->machine;
    if (pipe == Pipe::All) {
        core.time.HoldAllUntil(core.time.End() + m.barrier_all_cycles);
        return;
    }
    core.time.Issue(m, pipe, m.barrier_cycles);
    core.time.Barrier(pipe);
}
}
