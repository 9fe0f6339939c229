// A core's life: started with a launch, reset for every block, ended with its diagnostics and its tape.
#include "cores/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cores/fiber.h"
#include "cores/ranks.h"
#include "matmul/sharing.h"
#include "check/data_cache.h"
#include "check/late_stores.h"
#include "check/tracker.h"

namespace twin {

const char* PipeName(npukb::Pipe pipe) {
    static const char* const names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
    return names[static_cast<int>(pipe)];
}

const char* PositionName(int position) {
    static const char* const names[] = {"GM",  "A1",   "A2",        "B1",           "B2",     "C1",
                                        "C2",  "CO1",  "CO2",       "VECIN",        "VECOUT", "VECCALC",
                                        "SPM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL", "MAX"};
    return position >= 0 && position < 17 ? names[position] : "?";
}

namespace {

constexpr uint32_t kTapeEvents = 1u << 17;  // of a block; what comes after them is timed by the core's own clocks

// On the device the unified buffer holds whatever was there before. A seeded pattern makes reading it visible and
// repeatable: the words are NaN as float, half and bfloat16, and no plausible integer.
void FillUndefined(uint8_t* memory, uint32_t bytes, uint64_t seed, int64_t block) {
    uint64_t state = seed ^ (static_cast<uint64_t>(block) * 0x9e3779b97f4a7c15ull);
    uint32_t noise = static_cast<uint32_t>(state ^ (state >> 32)) & 0x003f003fu;
    uint32_t word = 0x7fc07fc0u | noise;
    for (uint32_t i = 0; i + 4 <= bytes; i += 4) memcpy(memory + i, &word, 4);
}

}  // namespace

const char* MemoryName(Memory memory) {
    static const char* const names[] = {"UB", "L1", "L0A", "L0B", "L0C", "the bias table", "the fixpipe buffer", "?"};
    return names[static_cast<int>(memory)];
}

const char* CoreKindName(CoreKind kind) { return kind == CoreKind::Vector ? "vector" : "cube"; }

Memory MemoryOf(int position) {
    constexpr Memory none = Memory::None;
    static constexpr Memory memories[] = {none,       Memory::L1,  Memory::L0A, Memory::L1, Memory::L0B, Memory::L1,
                                          Memory::Bt, Memory::L0C, none,        Memory::Ub, Memory::Ub,  Memory::Ub,
                                          Memory::L1, Memory::L1,  Memory::Fb,  Memory::Fb};
    return position >= 0 && position < 16 ? memories[position] : none;
}

void Core::Start(Launch* shared, int64_t core, uint8_t* arena) {
    launch = shared;
    number = core;
    block = core / shared->CoresPerBlock();
    int64_t place = core % shared->CoresPerBlock();
    int cubes = shared->per_block[static_cast<int>(CoreKind::Cube)];
    kind = shared->KindOf(core);
    sub_block = kind == CoreKind::Cube ? 0 : place - cubes;
    index = block * shared->per_block[static_cast<int>(kind)] + sub_block;
    ub = arena;
    mask[0] = mask[1] = ~0ull;
    for (int m = 0; m < kMemories; ++m) {
        const MemoryRange& range = shared->memories[m];
        pools[WholePool(static_cast<Memory>(m))] = Pool{range.offset, range.bytes, 0, 0, true};
    }
    for (int m = 0; m < kMemories; ++m) {
        const MemoryRange& range = shared->memories[m];
        if (HolderOf(static_cast<Memory>(m)) == kind)
            FillUndefined(ub + range.offset, range.bytes, shared->seed, number);
    }
    time.Start(shared->auto_sync, nullptr);
    if (shared->tapes != nullptr)
        time.Record(shared->tapes[number] = Tape::New(kTapeEvents), shared->machine.scalar_operation_cycles);
    if (shared->checker != Checker::Off) StartOrder(*this);
    if (shared->checker == Checker::Full) StartTracker(*this);
    if (shared->late) StartLate(*this);
}

Memory Core::Holding(const void* address) const {
    auto place = reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(ub);
    if (place >= launch->arena_bytes) return Memory::None;
    for (int m = 0; m < kMemories; ++m) {
        const MemoryRange& range = launch->memories[m];
        if (place >= range.offset && place < range.offset + range.bytes) return static_cast<Memory>(m);
    }
    return Memory::None;
}

void Core::Own(uint32_t handle) {
    const Buffer& b = buffers[handle];
    Memory memory = Holding(ub + b.offset);
    if (memory == Memory::None) return;
    const MemoryRange& range = launch->RangeOf(memory);
    uint32_t limit = range.offset + range.bytes, end = b.offset + b.bytes < limit ? b.offset + b.bytes : limit;
    for (uint32_t i = b.offset / 32; i < end / 32; ++i) {
        bool taken = owner[i] == kSharedBlock || (owner[i] != 0 && owner[i] != handle && buffers[owner[i]].live);
        owner[i] = taken ? kSharedBlock : static_cast<uint8_t>(handle);
    }
}

void Core::Finish() {
    PayPolls();
    time.Finish();
    ended = true;
    if (cache != nullptr) cache->Retire();
    if (tracker != nullptr) tracker->Release();
    FinishMatmul(*this);
    FinishRanks(*this);
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
    if (counter_mode) {
        Fault("mask_mode", counter_set_by, "Call SetMaskNorm when the last instruction by counter is given.",
              "the mask is still in counter mode when the kernel ends");
    }
    for (int from = 0; from < npukb::kPipes; ++from) {
        for (int to = 0; to < npukb::kPipes; ++to) {
            if (flags[from][to] == 0) continue;
            Fault("unpaired_flag", flag_set_by[from][to], "Give every SetFlag a WaitFlag with the same event and id.",
                  "a flag %s_%s was set and never waited for; it would still be set when the next kernel starts",
                  PipeName(static_cast<npukb::Pipe>(from)), PipeName(static_cast<npukb::Pipe>(to)));
        }
    }
    StopOrder(*this);
}

const void* CandidatePc(const void* return_address, const void* frame) {
    constexpr int kDepth = 4;
    const Launch& launch = *ThisCore().launch;
    const void* caller = return_address;
    for (int i = 0; i < kDepth; ++i) {
        auto at = reinterpret_cast<uint64_t>(caller);
        for (const Image& image : launch.images) {
            if (at > image.base && at <= image.end) return caller;
        }
        auto* words = static_cast<const void* const*>(frame);
        frame = words[0];
        if (frame == nullptr) break;
        caller = static_cast<const void* const*>(frame)[1];
    }
    return return_address;
}

uint64_t PlaceOf(const Launch& launch, uint64_t address) {
    for (int kind = 0; kind < kCoreKinds; ++kind) {
        const Image& image = launch.images[kind];
        if (address > image.base && address <= image.end) return (address - image.base) | (kind == 0 ? 0 : kCubeImage);
    }
    return 0;
}

uint64_t Core::PcOf(const void* return_address) const {
    uint64_t place = PlaceOf(*launch, reinterpret_cast<uint64_t>(return_address));
    return place == 0 ? 0 : place - 1;
}

void Core::PayGlobal(const void* address) {
    const Machine& m = launch->machine;
    Tape::Found place = time.Look(launch->memory.DeviceAddress(address));
    double from_memory = place == Tape::Found::L2 ? m.gm_scalar_cycles : m.hbm_scalar_cycles;
    time.Access(place == Tape::Found::Cache ? m.dcache_hit_cycles : from_memory);
}

namespace {

// Calls `each` with the beginning and the end of every piece in the buffer.
template <typename Each>
void InBuffer(const GlobalBuffer& buffer, const Pieces& pieces, Each each) {
    auto from = static_cast<int64_t>(static_cast<const uint8_t*>(pieces.address) - buffer.address);
    auto limit = static_cast<int64_t>(buffer.mapped);
    bool whole = pieces.stride == static_cast<int64_t>(pieces.bytes);
    auto bytes = static_cast<int64_t>(whole ? pieces.bytes * pieces.count : pieces.bytes);
    for (uint64_t i = 0; i < (whole ? 1 : pieces.count); ++i, from += pieces.stride) {
        int64_t begin = from < 0 ? 0 : from, end = from + bytes < limit ? from + bytes : limit;
        if (begin < end) each(static_cast<uint64_t>(begin), static_cast<uint64_t>(end));
    }
}

}  // namespace

void Core::Wrote(Pipe pipe, const Pieces& pieces) {
    const GlobalBuffer* buffer = launch->memory.Holding(pieces.address);
    if (buffer == nullptr || !buffer->writes.open()) return;
    PayPolls();
    WriteTimes& writes = launch->memory[launch->memory.IndexOf(buffer)].writes;
    double cycles = time.At(pipe).time;
    InBuffer(*buffer, pieces, [&](uint64_t begin, uint64_t end) { writes.Note(begin, end, number, cycles); });
}

void Core::AwaitWriters(Pipe pipe, const Pieces& pieces) {
    const GlobalBuffer* buffer = launch->memory.Holding(pieces.address);
    if (buffer == nullptr || !buffer->writes.open()) return;
    InBuffer(*buffer, pieces,
             [&](uint64_t begin, uint64_t end) { AwaitUntilWritten(pipe, buffer->writes, begin, end); });
}

double Core::AwaitUntilWritten(Pipe pipe, const WriteTimes& writes, uint64_t begin, uint64_t end) {
    int64_t round = launch->cores * launch->CoresPerBlock();
    double written = writes.OthersUntil(begin, end, number, round);
    double own = time.At(pipe).time, scalar = time.At(Pipe::S).time;
    if (written > (own > scalar ? own : scalar)) {
        __atomic_store_n(&launch->talks, true, __ATOMIC_RELAXED);
        time.AwaitUntil(written);
    }
    return written;
}

void Core::PayPolls() {
    if (polled_cycles == 0) return;
    time.Access(polled_cycles);
    polled_cycles = 0;
}

void Core::Report(Severity severity, const char* rule, const void* pc, const char* remedy, const char* format,
                  va_list arguments) {
    char message[sizeof(Diagnostic::message)];
    vsnprintf(message, sizeof message, format, arguments);
    diagnostics.Add(severity, rule, PcOf(pc), PcOf(related), index, kind, message, remedy);
    related = nullptr;
}

void Core::Violate(const char* rule, const void* pc, const char* remedy, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    Report(Severity::Error, rule, pc, remedy, format, arguments);
    va_end(arguments);
    AbandonFiber();
}

void Core::Fault(const char* rule, const void* pc, const char* remedy, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    Report(Severity::Error, rule, pc, remedy, format, arguments);
    va_end(arguments);
}

void Core::Warn(const char* rule, const void* pc, const char* remedy, const char* format, ...) {
    if (diagnostics.Again(rule, PcOf(pc))) {
        related = nullptr;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    Report(Severity::Warning, rule, pc, remedy, format, arguments);
    va_end(arguments);
}

void Core::Note(const char* rule, const void* pc, const char* text) {
    diagnostics.Add(Severity::Note, rule, PcOf(pc), 0, index, kind, text, "");
}

}  // namespace twin

extern "C" {
int64_t npukb_block_idx(void) { return twin::ThisCore().index; }
int64_t npukb_block_num(void) { return twin::ThisCore().launch->blocks; }
int64_t npukb_group(void) { return twin::ThisCore().block; }
int64_t npukb_sub_block(int count) {
    const twin::Core& core = twin::ThisCore();
    return count ? core.launch->per_block[static_cast<int>(core.kind)] : core.sub_block;
}
}
