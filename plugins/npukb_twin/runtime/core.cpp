#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "tracker.h"

namespace twin {

const char* PipeName(npukb::Pipe pipe) {
    static const char* const names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
    return names[static_cast<int>(pipe)];
}

const char* PositionName(int position) {
    static const char* const names[] = {"GM", "A1", "A2", "B1", "B2", "C1", "C2", "CO1",
                                        "CO2", "VECIN", "VECOUT", "VECCALC", "SPM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL", "MAX"};
    return position >= 0 && position < 17 ? names[position] : "?";
}

namespace {

// On the device the unified buffer holds whatever was there before. A seeded pattern makes reading it visible and repeatable:
// the words are NaN as float, half and bfloat16, and no plausible integer.
void FillUndefined(uint8_t* memory, uint32_t bytes, uint64_t seed, int64_t block) {
    uint64_t state = seed ^ (static_cast<uint64_t>(block) * 0x9e3779b97f4a7c15ull);
    uint32_t noise = static_cast<uint32_t>(state ^ (state >> 32)) & 0x003f003fu;
    uint32_t word = 0x7fc07fc0u | noise;
    for (uint32_t i = 0; i + 4 <= bytes; i += 4) memcpy(memory + i, &word, 4);
}

}  // namespace

void Core::Start(Launch* shared, int64_t index, uint8_t* arena) {
    memset(static_cast<void*>(this), 0, sizeof *this);
    launch = shared;
    block = index;
    ub = arena;
    mask[0] = mask[1] = ~0ull;
    pools[0] = Pool{0, shared->machine.ub_bytes, 0, 0, true};
    FillUndefined(ub, shared->machine.ub_bytes, shared->seed, index);
    time.Start(shared->auto_sync, nullptr);
    if (shared->checker == Checker::Full) StartTracker(*this);
}

void Core::Own(uint32_t handle) {
    const Buffer& b = buffers[handle];
    uint32_t end = b.offset + b.bytes < launch->machine.ub_bytes ? b.offset + b.bytes : launch->machine.ub_bytes;
    for (uint32_t i = b.offset / 32; i < end / 32; ++i) {
        bool taken = owner[i] == kSharedBlock || (owner[i] != 0 && owner[i] != handle && buffers[owner[i]].live);
        owner[i] = taken ? kSharedBlock : static_cast<uint8_t>(handle);
    }
}

void Core::Finish() {
    if (tracker != nullptr) tracker->Release();
    free(notes);
    notes = nullptr;
    for (uint32_t i = 1; i <= buffer_count; ++i) {
        const Buffer& b = buffers[i];
        if (!b.live || b.queue == 0 || b.state == BufferState::Idle) continue;
        const Queue& q = queues[b.queue];
        const char* what = b.state == BufferState::Queued ? "enqueued but never dequeued" : "never freed";
        Warn("queue_leak", b.allocated_by, "Pair every AllocTensor with EnQue, DeQue and FreeTensor.",
             "a tensor of a %s queue was %s when the kernel ended", PositionName(q.position), what);
    }
    for (int from = 0; from < npukb::kPipes; ++from) {
        for (int to = 0; to < npukb::kPipes; ++to) {
            if (flags[from][to] == 0) continue;
            Warn("unpaired_flag", flag_set_by[from][to], "Give every SetFlag a WaitFlag with the same event and id.",
                 "a flag %s_%s was set and never waited for; it would still be set when the next kernel starts",
                 PipeName(static_cast<npukb::Pipe>(from)), PipeName(static_cast<npukb::Pipe>(to)));
        }
    }
    FinishCrossCore(*this);
}

const void* CandidatePc(const void* return_address, const void* frame) {
    constexpr int kDepth = 4;
    const Launch& launch = *ThisCore().launch;
    const void* found = return_address;
    for (int i = 0; i < kDepth; ++i) {
        auto at = reinterpret_cast<uint64_t>(found);
        if (at > launch.image_base && at <= launch.image_end) return found;
        auto* words = static_cast<const void* const*>(frame);
        frame = words[0];
        if (frame == nullptr) break;
        found = static_cast<const void* const*>(frame)[1];
    }
    return return_address;
}

uint64_t Core::PcOf(const void* return_address) const {
    auto at = reinterpret_cast<uint64_t>(return_address);
    if (at <= launch->image_base || at > launch->image_end) return 0;
    return at - 1 - launch->image_base;
}

void Core::Violate(const char* rule, const void* pc, const char* remedy, const char* format, ...) {
    char message[sizeof(Diagnostic::message)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    diagnostics.Add(Severity::Error, rule, PcOf(pc), PcOf(related), block, message, remedy);
    AbandonFiber();
}

void Core::Fault(const char* rule, const void* pc, const char* remedy, const char* format, ...) {
    char message[sizeof(Diagnostic::message)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    diagnostics.Add(Severity::Error, rule, PcOf(pc), PcOf(related), block, message, remedy);
    related = nullptr;
}

void Core::Warn(const char* rule, const void* pc, const char* remedy, const char* format, ...) {
    if (diagnostics.Again(rule, PcOf(pc))) {
        related = nullptr;
        return;
    }
    char message[sizeof(Diagnostic::message)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    diagnostics.Add(Severity::Warning, rule, PcOf(pc), PcOf(related), block, message, remedy);
    related = nullptr;
}

void Core::Note(const char* rule, const void* pc, const char* text) {
    diagnostics.Add(Severity::Note, rule, PcOf(pc), 0, block, text, "");
}

}  // namespace twin

extern "C" {
int64_t npukb_block_idx(void) { return twin::ThisCore().block; }
int64_t npukb_block_num(void) { return twin::ThisCore().launch->blocks; }
}
