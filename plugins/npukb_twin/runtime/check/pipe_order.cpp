// Every block of 32 bytes knows which instruction wrote it last, and which of each pipe last read it; what a pipe knows
// of the others says whether they are over. One writer is enough: it was in order with those before it, or that has
// been said.
#include "check/pipe_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "check/core_traffic.h"
#include "check/data_cache.h"
#include "check/journal.h"
#include "check/late_stores.h"
#include "check/tracker.h"
#include "process/huge_pages.h"

namespace twin {

// What is known of every block of a core's memories. Tables go from block to block of a thread, as memories do.
struct OrderTables {
    static constexpr int kCount = npukb::kPipes + 1;
    OrderTables* next;
    uint32_t* written;  // the last writer: its pipe, and its number among that pipe's instructions
    uint32_t* read[npukb::kPipes];
    uint32_t first[kCount], last[kCount];  // blocks of each that are not zero lie between
    uint32_t* Table(int i) { return i == 0 ? written : read[i - 1]; }
    void Mark(int i, uint32_t from, uint32_t to, uint32_t value) {
        first[i] = from < first[i] ? from : first[i];
        last[i] = to > last[i] ? to : last[i];
        uint32_t* table = Table(i);
        for (uint32_t b = from; b < to; ++b) table[b] = value;
    }
};

namespace {

constexpr uint32_t kNumberBits = 29, kNumber = (1u << kNumberBits) - 1;
constexpr uint32_t kNever = ~0u;
constexpr uint64_t kMostKept = 1u << 20;  // bytes of global memory

thread_local OrderTables* t_spare = nullptr;

OrderTables* TakeTables(uint32_t blocks) {
    if (t_spare != nullptr) {
        OrderTables* tables = t_spare;
        t_spare = tables->next;
        return tables;
    }
    auto* tables = static_cast<OrderTables*>(malloc(sizeof(OrderTables)));
    auto* memory = static_cast<uint32_t*>(LazyZeros(size_t{OrderTables::kCount} * blocks * sizeof(uint32_t)));
    if (tables == nullptr || memory == nullptr) abort();
    tables->written = memory;
    for (uint32_t*& read : tables->read) read = memory += blocks;
    for (int i = 0; i < OrderTables::kCount; ++i) tables->first[i] = kNever, tables->last[i] = 0;
    return tables;
}

void GiveBack(OrderTables* tables) {
    for (int i = 0; i < OrderTables::kCount; ++i) {
        if (tables->first[i] < tables->last[i])
            memset(tables->Table(i) + tables->first[i], 0, (tables->last[i] - tables->first[i]) * sizeof(uint32_t));
        tables->first[i] = kNever, tables->last[i] = 0;
    }
    tables->next = t_spare;
    t_spare = tables;
}

struct Blocks {
    uint32_t first, last;
};

// The blocks of 32 bytes that piece `i` of a range on the chip lies in.
Blocks BlocksOf(const Range& r, uint32_t i, uint32_t limit) {
    uint64_t begin = r.begin + i * r.stride, end = (begin + r.bytes + 31) / 32;
    return {static_cast<uint32_t>(begin / 32), end < limit ? static_cast<uint32_t>(end) : limit};
}

}  // namespace

void StartOrder(Core& core) {
    void* memory = malloc(sizeof(PipeOrder));
    if (memory == nullptr) abort();
    core.order = new (memory) PipeOrder(core);
    core.time.Start(core.launch->auto_sync, core.order);
}

void StopOrder(Core& core) {
    if (core.order == nullptr) return;
    core.time.Start(core.launch->auto_sync, nullptr);
    core.order->~PipeOrder();
    free(core.order);
    core.order = nullptr;
    free(core.cross.heard);
    core.cross.heard = nullptr;
}

PipeOrder::PipeOrder(Core& core) : core_(core), tables_(TakeTables(core.launch->arena_bytes / 32)) {}

PipeOrder::~PipeOrder() {
    if (tables_ != nullptr) GiveBack(tables_);
}

void PipeOrder::Note(const Access& access) {
    if (count_ == kMost) return;
    pending_[count_++] = access;
    if (!access.write) return;
    if (access.global && core_.tracker != nullptr) core_.tracker->Hold(access);
    access.global ? KeepGlobal(access) : Keep(access);
}

namespace {

// Which pipe fills a memory, as a rule.
Pipe FillerOf(Memory memory) {
    constexpr Pipe fillers[] = {Pipe::V, Pipe::MTE2, Pipe::MTE1, Pipe::MTE1, Pipe::M, Pipe::MTE1, Pipe::FIX, Pipe::V};
    return fillers[static_cast<int>(memory)];
}

}  // namespace

// Which instruction does it is not known yet.
void PipeOrder::Keep(const Access& access) {
    Pipe pipe = access.loads ? Pipe::MTE2 : FillerOf(core_.Holding(core_.ub + access.range.begin));
    Knowledge known = core_.time.Known(pipe);
    known.Join(core_.time.Known(Pipe::S));  // which issues the instruction, and waits first
    const Limits limits = LimitsOf(pipe, known);
    const Blocks blocks = BlocksOf(access.range, 0, core_.launch->arena_bytes / 32);
    Other other;
    if (tables_ != nullptr && FindIn(pipe, access, limits, blocks.first, blocks.last, &other))
        kept_.Take(access.range.begin, access.range.End(), core_.ub + access.range.begin);
}

void PipeOrder::KeepGlobal(const Access& access) {
    Pipe pipe = core_.kind == CoreKind::Vector ? Pipe::MTE3 : Pipe::FIX;
    Knowledge known = core_.time.Known(pipe);
    known.Join(core_.time.Known(Pipe::S));
    const Limits limits = LimitsOf(pipe, known);
    uint64_t from = access.range.End(), to = access.range.begin;
    for (int q = 0; q < kPipes; ++q) {
        for (uint32_t back = 1; back <= kRecent && back <= moves_[q]; ++back) {
            const Recent& recent = recent_[q][(moves_[q] - back) % kRecent];
            if (recent.when <= limits.done[q]) break;
            uint64_t begin = recent.range.begin, end = recent.range.End();
            if (begin >= access.range.End() || end <= access.range.begin) continue;
            from = begin < from ? begin : from;
            to = end > to ? end : to;
        }
    }
    from = from < access.range.begin ? access.range.begin : from;
    to = to > access.range.End() ? access.range.End() : to;
    if (from < to && to - from <= kMostKept) kept_global_.Take(from, to, reinterpret_cast<const uint8_t*>(from));
}

// Whether all that pipe `reader` may still be reading is what it was before the instruction ran.
bool PipeOrder::Unread(int reader, const Limits& limits) const {
    for (uint32_t back = 1; back <= kRecent && back <= reads_[reader]; ++back) {
        const Recent& source = sources_[reader][(reads_[reader] - back) % kRecent];
        if (source.when <= limits.done[reader]) return true;
        for (uint32_t i = 0; i < source.range.count; ++i) {
            uint64_t from = source.range.begin + i * source.range.stride;
            if (!kept_.Same(from, from + source.range.bytes)) return false;
        }
    }
    return reads_[reader] <= kRecent;
}

// Whether the write has left everything as it was that others may still be at.
bool PipeOrder::Unseen(Pipe pipe, const Access& access, const Limits& limits) {
    const Snapshot& kept = access.global ? kept_global_ : kept_;
    if (access.write && access.global && core_.late != nullptr) return true;  // it waits; the first run has looked
    if (!access.write || kept.Empty()) return false;
    bool chance = derives_ && kept.Plain();
    if (access.global) return !chance && kept.Same(kept.begin(), kept.end());
    if (kept.begin() != access.range.begin || kept.end() < access.range.End()) return false;
    for (uint64_t at = kept.begin() / 32; at * 32 < kept.end(); ++at) {
        auto block = static_cast<uint32_t>(at);
        Other other;
        bool same = kept.Same(at * 32, at * 32 + 32);
        if ((same && !chance) || !FindIn(pipe, access, limits, block, block + 1, &other)) continue;
        if (same || other.wrote || !Unread(other.pipe, limits)) return false;
    }
    return true;
}

void PipeOrder::Refine(const void* address, bool write, uint64_t bytes, uint64_t stride, uint32_t count) {
    if (count < 2 || stride <= bytes) return;
    for (int i = 0; i < count_; ++i) {
        Access& a = pending_[i];
        uint64_t begin = a.global ? reinterpret_cast<uint64_t>(address) : core_.UbOffset(address);
        if (a.write != write || a.range.begin != begin) continue;
        a.range = {begin, bytes, stride, count};
        if (core_.launch->journal != nullptr) core_.launch->journal->Refine(core_, a);
        return;
    }
}

void PipeOrder::Served() {
    if (core_.tracker != nullptr) core_.tracker->Served(pending_, count_);
    for (int i = 0; i < count_; ++i) {
        if (!pending_[i].global) continue;
        NoteSums(core_, pending_[i]);
        if (core_.kind == CoreKind::Vector && ordered_count_ < kMostOrdered) ordered_[ordered_count_++] = pending_[i];
    }
    if (core_.launch->journal != nullptr) core_.launch->journal->Issued(core_, Pipe::FIX);
    Forget();
}

void PipeOrder::Forget() {
    if (core_.tracker != nullptr) core_.tracker->Let();
    count_ = 0;
    kept_.Forget();
    kept_global_.Forget();
    if (core_.launch->journal != nullptr) core_.launch->journal->Forget(core_);
    if (core_.late != nullptr) core_.late->Drop();
}

void PipeOrder::Issued(Pipe pipe) {
    if (core_.launch->journal != nullptr) core_.launch->journal->Issued(core_, pipe);
    if (core_.tracker != nullptr) core_.tracker->Issued(pipe, pending_, count_);
    int count = count_;
    count_ = 0;
    if (count > 0 && tables_ != nullptr) Look(pipe, count);
    kept_.Forget();
    kept_global_.Forget();
    if (core_.late == nullptr) return;
    Range pieces{};
    for (int i = 0; i < count; ++i) {
        if (pending_[i].global && pending_[i].write) pieces = pending_[i].range;
    }
    core_.late->After(pipe, core_.time.Begun(pipe), pieces);
}

void PipeOrder::Look(Pipe pipe, int count) {
    places_[static_cast<int>(pipe)][core_.time.Begun(pipe) % kPlaces] = {pending_[0].pc, pending_[0].instruction};
    const Knowledge& known = core_.time.Known(pipe);
    const Limits limits = LimitsOf(pipe, known);
    // A product reads what it adds to while the one before it may still be writing that.
    Limits sums = limits;
    if (pipe == Pipe::M) sums.done[static_cast<int>(Pipe::M)] = known.done[static_cast<int>(Pipe::M)];
    derives_ = false;
    for (int i = 0; i < count; ++i) derives_ = derives_ || !pending_[i].write || pending_[i].loads;
    for (int i = 0; i < count; ++i) {
        Access& access = pending_[i];
        // Lanes that the vector unit reads past the end of a tensor are nobody's values: what it makes of them is not
        // used. What it writes there, and what transfers move, is another tensor's.
        bool idle = pipe == Pipe::V && !access.write && !access.global && access.range.count == 1;
        if (idle && access.own < access.range.bytes) access.range.bytes = access.own;
        if (!access.range.Empty()) LookAt(pipe, access, access.write ? limits : sums);
    }
    if (pipe == Pipe::S && core_.launch->auto_sync) return;  // whoever comes after it waits for it
    for (int i = 0; i < count; ++i) {
        if (!pending_[i].range.Empty()) Remember(pipe, pending_[i]);
    }
}

// What an object multiplies asynchronously is not complete before somebody waits for it.
void PipeOrder::CheckOrdered(const Access& access) {
    for (int i = 0; i < ordered_count_; ++i) {
        const Access& other = ordered_[i];
        uint64_t from = 0, to = 0;
        if (!(access.write || other.write) || !Overlap(other.range, access.range, &from, &to)) continue;
        const GlobalMemory& memory = core_.launch->memory;
        auto* at = reinterpret_cast<const void*>(from);
        core_.related = other.pc;
        core_.Violate("missing_sync", access.pc, "Call WaitIterateAll or GetTensorC before.",
                      "%s %s bytes %llu to %llu of '%s', which %s may still be %s; nothing makes the core wait for it",
                      access.instruction, access.write ? "writes" : "reads",
                      static_cast<unsigned long long>(memory.OffsetOf(at)),
                      static_cast<unsigned long long>(memory.OffsetOf(at) + (to - from)), memory.NameOf(at),
                      other.instruction, other.write ? "writing" : "reading");
    }
}

void PipeOrder::LookAt(Pipe pipe, const Access& access, const Limits& limits) {
    access.global ? CheckGlobal(pipe, access, limits) : CheckLocal(pipe, access, limits);
    if (access.global) CheckOrdered(access);
    if (access.global && pipe != Pipe::S) PastCaches(core_, access);
}

// Whether an instruction of `other` has to be over for one of `pipe` because somebody says so. The compiler orders the
// instructions of the vector unit; those of the other pipes begin in order, and only the full checker minds that they
// overlap. Products that add to each other are looked at apart.
bool PipeOrder::Checked(Pipe pipe, int other) const {
    if (static_cast<int>(pipe) != other) return true;
    bool compiler = pipe == Pipe::S || (pipe == Pipe::V && core_.launch->auto_sync);
    return !compiler && core_.launch->checker == Checker::Full;
}

PipeOrder::Limits PipeOrder::LimitsOf(Pipe pipe, const Knowledge& known) const {
    Limits limits;
    for (int q = 0; q < kPipes; ++q) limits.done[q] = Checked(pipe, q) ? known.done[q] : kNever;
    return limits;
}

// Whether another instruction that touched one of these blocks may be under way.
bool PipeOrder::FindIn(Pipe pipe, const Access& access, const Limits& limits, uint32_t first, uint32_t last,
                       Other* other) {
    uint32_t before = 0;
    bool own = false;
    for (uint32_t b = first; b < last; ++b) {
        uint32_t writer = tables_->written[b];
        if (writer == before) continue;
        before = writer;
        if ((writer & kNumber) <= limits.done[writer >> kNumberBits]) continue;
        Other found = {static_cast<int>(writer >> kNumberBits), writer & kNumber, true};
        bool ours = found.pipe == static_cast<int>(pipe);  // graver if it is another pipe's, which may come later
        if (!ours || !own) *other = found;
        if (!ours) return true;
        own = true;
    }
    return (access.write && FindReader(pipe, limits, first, last, other)) || own;
}

bool PipeOrder::FindReader(Pipe pipe, const Limits& limits, uint32_t first, uint32_t last, Other* other) const {
    for (int q = 0; q < kPipes; ++q) {
        if (q == static_cast<int>(pipe) || last_read_[q] <= limits.done[q]) continue;
        uint32_t latest = 0;
        for (uint32_t b = first; b < last; ++b) latest = tables_->read[q][b] > latest ? tables_->read[q][b] : latest;
        if (latest <= limits.done[q]) continue;
        *other = {q, latest, false};
        return true;
    }
    return false;
}

void PipeOrder::CheckLocal(Pipe pipe, const Access& access, const Limits& limits) {
    const Range& r = access.range;
    for (uint32_t i = 0; i < r.count; ++i) {
        Blocks blocks = BlocksOf(r, i, core_.launch->arena_bytes / 32);
        Other other;
        if (!FindIn(pipe, access, limits, blocks.first, blocks.last, &other)) continue;
        if (Unseen(pipe, access, limits)) return;
        uint64_t begin = r.begin + i * r.stride;
        if (!Report(pipe, access, other, begin, begin + r.bytes)) return;
    }
}

void PipeOrder::CheckGlobal(Pipe pipe, const Access& access, const Limits& limits) {
    for (int q = 0; q < kPipes; ++q) {
        for (uint32_t back = 1; back <= kRecent && back <= moves_[q]; ++back) {
            const Recent& recent = recent_[q][(moves_[q] - back) % kRecent];
            if (recent.when <= limits.done[q]) break;
            if (!(recent.write || access.write) || (recent.atomic && access.atomic)) continue;
            if (!recent.write && q == static_cast<int>(pipe)) continue;
            uint64_t from, to;
            if (!Overlap(recent.range, access.range, &from, &to) || Unseen(pipe, access, limits)) continue;
            if (!Report(pipe, access, {q, recent.when, recent.write}, from, to)) return;
            break;
        }
    }
}

void PipeOrder::Handed(const Access& access) {
    const Limits limits = LimitsOf(Pipe::S, core_.time.Known(Pipe::S));
    for (int q = 0; q < kPipes; ++q) {
        for (uint32_t back = 1; back <= kRecent && back <= moves_[q]; ++back) {
            const Recent& recent = recent_[q][(moves_[q] - back) % kRecent];
            if (recent.when <= limits.done[q]) break;
            uint64_t from, to;
            if (!(recent.write || access.write) || !Overlap(recent.range, access.range, &from, &to)) continue;
            core_.Violate("missing_sync", access.pc, "Put PipeBarrier<PIPE_ALL> before.",
                          "%s %s what pipe %s may still be %s; nothing makes the core wait for it", access.instruction,
                          access.write ? "writes" : "reads", PipeName(static_cast<Pipe>(q)),
                          recent.write ? "writing" : "reading");
        }
    }
}

void PipeOrder::Remember(Pipe pipe, const Access& access) {
    int self = static_cast<int>(pipe);
    uint32_t now = core_.time.Begun(pipe);
    if (access.global) {
        recent_[self][moves_[self]++ % kRecent] = {access.range, now, access.write, access.atomic};
        return;
    }
    if (!access.write) {
        last_read_[self] = now;
        sources_[self][reads_[self]++ % kRecent] = {access.range, now, false, false};
    }
    const Range& r = access.range;
    for (uint32_t i = 0; i < r.count; ++i) {
        Blocks blocks = BlocksOf(r, i, core_.launch->arena_bytes / 32);
        if (access.write) {
            tables_->Mark(0, blocks.first, blocks.last, static_cast<uint32_t>(self) << kNumberBits | now);
        } else {
            tables_->Mark(1 + self, blocks.first, blocks.last, now);
        }
    }
}

bool PipeOrder::Report(Pipe pipe, const Access& access, const Other& other, uint64_t from, uint64_t to) {
    auto q = static_cast<Pipe>(other.pipe);
    if (pipe == Pipe::S && core_.launch->auto_sync) {
        core_.time.Learn(q, core_.time.Begun(q));  // the compiler's flag, set when the scalar unit comes to wait
        return true;
    }
    bool known = core_.time.Begun(q) - other.when < kPlaces;
    Place place = known ? places_[other.pipe][other.when % kPlaces] : Place{nullptr, "an instruction"};
    Memory memory = access.global ? Memory::None : core_.Holding(core_.ub + from);
    auto* address = reinterpret_cast<const void*>(from);
    uint64_t offset = access.global            ? core_.launch->memory.OffsetOf(address)
                      : memory == Memory::None ? from
                                               : from - core_.launch->RangeOf(memory).offset;
    char where[96];
    snprintf(where, sizeof where, "%llu bytes at offset %llu of %s%s%s", static_cast<unsigned long long>(to - from),
             static_cast<unsigned long long>(offset), access.global ? "'" : "",
             access.global ? core_.launch->memory.NameOf(address) : MemoryName(memory), access.global ? "'" : "");
    char what[320], remedy[160];
    snprintf(what, sizeof what, "%s: pipe %s %s %s (%s) while %s of pipe %s may still be %s it; nothing makes it wait",
             access.instruction, PipeName(pipe), access.write ? "writes" : "reads", where, access.role,
             place.instruction, PipeName(q), other.wrote ? "writing" : "reading");
    core_.related = place.pc;
    if (q != pipe) {
        snprintf(remedy, sizeof remedy, "Put SetFlag and WaitFlag<HardEvent::%s_%s> between them, or use a queue.",
                 PipeName(q), PipeName(pipe));
        core_.Violate("missing_sync", access.pc, remedy, "%s", what);
    }
    snprintf(remedy, sizeof remedy, "Put PipeBarrier<PIPE_%s> between them.", PipeName(pipe));
    bool sums = pipe == Pipe::M && !access.write;
    if (sums || !core_.launch->auto_sync) core_.Violate("missing_sync", access.pc, remedy, "%s", what);
    core_.Warn("missing_sync", access.pc, remedy, "%s", what);
    return false;
}

}  // namespace twin
