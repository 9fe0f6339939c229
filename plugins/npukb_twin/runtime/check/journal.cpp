// Entries and the bytes that instructions left lie in rings: of a long kernel the last part is remembered. Values are
// what the last writer before an instruction left there, so that no instruction has to be run again.
#include "check/journal_entry.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../include/twin/move_abi.h"
#include "semantics/span.h"

namespace twin {

namespace {

constexpr uint64_t kForEver = ~0ull;

void* Reserve(uint64_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

// How many bytes of the operand lie in front of `address`; kForEver when it is in none of its pieces.
uint64_t PositionOf(const Range& r, uint64_t address) {
    if (r.Empty() || address < r.begin || address >= r.End()) return kForEver;
    uint64_t piece = r.count == 1 || r.stride == 0 ? 0 : (address - r.begin) / r.stride;
    uint64_t within = address - r.begin - piece * r.stride;
    return within < r.bytes ? piece * r.bytes + within : kForEver;
}

uint64_t AddressAt(const Range& r, uint64_t position) {
    return r.begin + position / r.bytes * r.stride + position % r.bytes;
}

// Calls f(repeat, lane) for the lanes of a vector instruction that write the byte at `offset` of dst.
template <typename F>
void ForWriters(const JournalEntry& e, uint64_t offset, F f) {
    const Grid grid = GridOf(e.v, e.lanes);
    for (uint32_t r = 0; r < grid.repeats; ++r) {
        for (uint32_t lane = 0; lane < grid.lanes; ++lane) {
            if (grid.masked && !e.lanes.On(r, lane)) continue;
            const auto to = PlaceOf(e.v, e.lanes, e.v.dst, r, lane);
            if (offset >= to.offset && offset < to.offset + to.bytes) f(r, lane);
        }
    }
}

}  // namespace

JournalEntry& Journal::At(uint64_t sequence) const { return entries_[sequence % kEntries]; }

bool Journal::Watch(int buffer, uint64_t offset, uint32_t bytes) {
    if (watches_ == kMostWatches || bytes == 0 || bytes > 8) return false;
    watched_[watches_++] = {buffer, offset, bytes};
    return true;
}

bool Journal::Start(Launch& launch) {
    launch_ = &launch;
    pending_ = static_cast<Pending*>(Reserve(static_cast<uint64_t>(launch.CoreCount()) * sizeof(Pending)));
    entries_ = static_cast<JournalEntry*>(Reserve(kEntries * sizeof(JournalEntry)));
    contents_ = static_cast<uint8_t*>(Reserve(kContents));
    if (recorded_.block >= launch.blocks || recorded_.core >= launch.CoresPerBlock()) return false;
    recorded_.core += recorded_.block * launch.CoresPerBlock();
    return true;
}

void Journal::Note(Core& core, const Access& access) {
    Pending& pending = pending_[core.number];
    Settle(core, pending);
    if (pending.count < kOperands) pending.operands[pending.count++] = access;
}

void Journal::Refine(const Core& core, const Access& access) {
    Pending& pending = pending_[core.number];
    for (int i = 0; i < pending.count; ++i) {
        Access& a = pending.operands[i];
        if (a.write == access.write && a.global == access.global && a.range.begin == access.range.begin)
            a.range = access.range;
    }
}

void Journal::Event(Core& core, const char* name, const void* pc, const char* format, ...) {
    Settle(core, pending_[core.number]);
    JournalEntry& e = Append(core, name, pc, Pipe::S);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(e.note, sizeof e.note, format, arguments);
    va_end(arguments);
}

void Journal::Forget(Core& core) { pending_[core.number].count = 0; }

JournalEntry& Journal::Append(Core& core, const char* name, const void* pc, Pipe pipe) {
    JournalEntry& e = At(++sequence_);
    e.instruction = name;
    e.place = core.PcOf(pc);
    e.core = core.number;
    e.sequence = sequence_;
    e.pipe = pipe;
    e.vector = e.exact = false;
    e.count = 0;
    e.note[0] = 0;
    return e;
}

// Remembers the bytes of what has been written.
void Journal::Keep(const Core& core, JournalOperand& o) {
    uint64_t bytes = o.Total(), at = kept_ % kContents;
    o.content = 0;
    if (bytes == 0 || bytes > kMostContent) return;
    if (at + bytes > kContents) kept_ += kContents - at;
    o.content = kept_ + 1;
    const uint8_t* from = o.global ? nullptr : core.ub;
    for (uint32_t i = 0; i < o.range.count; ++i) {
        uint64_t begin = reinterpret_cast<uint64_t>(from) + o.range.begin + i * o.range.stride;
        memcpy(contents_ + kept_ % kContents + i * o.range.bytes, reinterpret_cast<const void*>(begin), o.range.bytes);
    }
    kept_ += bytes;
}

void Journal::Settle(const Core& core, Pending& pending) {
    if (pending.unsettled == 0) return;
    JournalEntry& e = At(pending.unsettled);
    for (int i = 0; e.sequence == pending.unsettled && i < e.count; ++i) {
        if (e.operands[i].write) Keep(core, e.operands[i]);
    }
    pending.unsettled = 0;
}

void Journal::Vector(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    pending_[core.number].count = 0;
    const Instruction& row = Row(v.op);
    JournalEntry& e = Append(core, row.name, pc, Pipe::V);
    e.vector = true;
    e.exact =
        row.span == Span::Lanes || row.span == Span::Blocks || row.span == Span::HalfBlocks || row.span == Span::Packed;
    e.v = v;
    e.lanes = lanes;
    auto add = [&](const char* role, const Operand& o, bool write) {
        if (o.address == nullptr) return;
        uint64_t span = SpanOf(v, lanes, o);
        e.operands[e.count++] = {role, Whole(core.UbOffset(o.address), span), false, write, 0, 0, 0};
        if (write) Keep(core, e.operands[e.count - 1]);
    };
    add("dst", v.dst, true);
    if (row.Reads(bits::Src0)) add("src0", v.src0, false);
    if (row.Reads(bits::Src1)) add("src1", v.src1, false);
}

void Journal::Copied(Core& core, const npukb::CopyInstruction& c, const void* pc) {
    pending_[core.number].count = 0;
    constexpr Pipe pipes[] = {Pipe::MTE2, Pipe::MTE3, Pipe::V};
    JournalEntry& e = Append(core, c.name, pc, pipes[c.direction]);
    bool into = c.direction == npukb::kIn && c.padded;
    uint32_t left = into ? c.pad_left * c.element_bytes : 0;
    uint64_t placed = into ? (left + c.block_bytes + c.pad_right * c.element_bytes + 31) & ~31ull : c.block_bytes;
    auto range = [&](const void* address, bool global, uint64_t bytes, int64_t stride) {
        uint64_t begin = global ? reinterpret_cast<uint64_t>(address) : core.UbOffset(address);
        return Range{begin, bytes, static_cast<uint64_t>(stride), c.blocks};
    };
    bool out = c.direction == npukb::kOut, in = c.direction == npukb::kIn;
    e.operands[0] = {"dst", range(c.dst, out, placed, c.dst_stride), out, true, left, c.block_bytes, 0};
    e.operands[1] = {"src", range(c.src, in, c.block_bytes, c.src_stride), in, false, 0, 0, 0};
    e.count = 2;
    Keep(core, e.operands[0]);
}

void Journal::Issued(Core& core, Pipe pipe) {
    Pending& pending = pending_[core.number];
    if (pending.count > 0) Take(core, pipe);
}

void Journal::Take(Core& core, Pipe pipe) {
    Pending& pending = pending_[core.number];
    const int count = pending.count;
    pending.count = 0;
    JournalEntry& e = Append(core, pending.operands[0].instruction, pending.operands[0].pc, pipe);
    for (int i = 0; i < count && e.count < 6; ++i) {
        const Access& a = pending.operands[i];
        e.operands[e.count++] = {a.role, a.range, a.global, a.write, 0, 0, 0};
        if (a.write && pipe != Pipe::S) Keep(core, e.operands[e.count - 1]);
    }
    if (pipe == Pipe::S) pending.unsettled = e.sequence;
}

// The last instruction that wrote the place before its limit; 0 when none is remembered.
uint64_t Journal::Writer(const Place& place, int* operand) const {
    for (uint64_t s = (place.limit > sequence_ ? sequence_ + 1 : place.limit) - 1; s >= First(); --s) {
        const JournalEntry& e = At(s);
        if (!place.global && e.core != place.core) continue;
        for (int i = 0; i < e.count; ++i) {
            const JournalOperand& o = e.operands[i];
            if (!o.write || o.global != place.global || PositionOf(o.range, place.address) == kForEver) continue;
            bool wrote = !e.exact;
            if (e.exact) ForWriters(e, place.address - o.range.begin, [&](uint32_t, uint32_t) { wrote = true; });
            if (!wrote) continue;
            *operand = i;
            return s;
        }
    }
    return 0;
}

bool Journal::Content(const JournalOperand& o, uint64_t address, uint32_t bytes, uint8_t* value) const {
    uint64_t position = PositionOf(o.range, address);
    if (o.content == 0 || position == kForEver || position + bytes > o.Total()) return false;
    if (kept_ - (o.content - 1) > kContents) return false;  // others lie there by now
    memcpy(value, contents_ + (o.content - 1) % kContents + position, bytes);
    return true;
}

// What was there before the limit.
bool Journal::ValueAt(const Place& place, uint8_t* value) const {
    int operand = 0;
    if (uint64_t writer = Writer(place, &operand))
        return Content(At(writer).operands[operand], place.address, place.bytes, value);
    Place ever = place;
    ever.limit = kForEver;
    if (!place.global || First() > 1 || Writer(ever, &operand) != 0) return false;
    if (launch_->memory.Holding(reinterpret_cast<const void*>(place.address)) == nullptr) return false;
    memcpy(value, reinterpret_cast<const void*>(place.address), place.bytes);
    return true;
}

void Journal::Push(const Place& place) {
    if (place_count_ < kPlaces) places_[place_count_++] = place;
}

// What the lanes read that wrote the byte of dst: of many, as of a sum, the first, the middle and the last.
void Journal::PushLanes(const JournalEntry& e, uint64_t address, int step) {
    const uint64_t offset = address - e.operands[0].range.begin;
    uint32_t many = 0, seen = 0;
    ForWriters(e, offset, [&](uint32_t, uint32_t) { ++many; });
    ForWriters(e, offset, [&](uint32_t r, uint32_t lane) {
        uint32_t number = seen++;
        if (number != 0 && number != many / 2 && number + 1 != many) return;
        for (int i = 1; i < e.count; ++i) {
            const Operand& o = strcmp(e.operands[i].role, "src0") == 0 ? e.v.src0 : e.v.src1;
            const auto from = PlaceOf(e.v, e.lanes, o, r, lane);
            Push({false, e.core, e.operands[i].range.begin + from.offset, from.bytes > 8 ? 8 : from.bytes, e.sequence,
                  step, static_cast<int>(o.dtype), e.operands[i].role});
        }
        if (Row(e.v.op).Reads(bits::Dst))
            Push({false, e.core, address, Bytes(e.v.dst.dtype), e.sequence, step, static_cast<int>(e.v.dst.dtype),
                  "dst"});
    });
}

// A scalar comes from the element that the core has read last with that value, if there is one.
void Journal::PushScalar(const JournalEntry& e, int step) {
    constexpr uint64_t kLately = 256;
    uint32_t bytes = Bytes(e.v.src0.address == nullptr ? e.v.dst.dtype : e.v.src0.dtype);
    for (uint64_t s = e.sequence - 1; s >= First() && s + kLately > e.sequence; --s) {
        const JournalEntry& read = At(s);
        if (read.core != e.core || read.pipe != Pipe::S || read.count == 0 || read.operands[0].write) continue;
        const JournalOperand& o = read.operands[0];
        if (o.range.bytes != bytes) continue;
        Place from{o.global, e.core, o.range.begin, bytes, s, step, static_cast<int>(e.v.dst.dtype), "scalar"};
        uint8_t value[8] = {};
        if (ValueAt(from, value) && memcmp(value, &e.v.scalar, bytes) == 0) return Push(from);
    }
}

void Journal::PushSources(const JournalEntry& e, const JournalOperand& to, const Place& place, int step) {
    if (e.vector && Row(e.v.op).Reads(bits::Scalar)) PushScalar(e, step);
    if (e.exact) return PushLanes(e, place.address, step);
    uint64_t position = PositionOf(to.range, place.address), used = to.used == 0 ? to.range.bytes : to.used;
    uint64_t within = position % to.range.bytes, whole = used * to.range.count;
    if (within < to.skipped || within >= to.skipped + used) return;  // padding
    position = position / to.range.bytes * used + within - to.skipped;
    for (int i = 0; i < e.count; ++i) {
        const JournalOperand& from = e.operands[i];
        if (!from.write && !from.range.Empty()) PushShare(e, from, place, position, whole, step);
    }
}

// Of an operand whose elements are not known to belong to those of dst one by one: its share of the same place. The
// first, the middle and the last element of that.
void Journal::PushShare(const JournalEntry& e, const JournalOperand& from, const Place& place, uint64_t position,
                        uint64_t whole, int step) {
    const uint64_t total = from.Total();
    const uint32_t bytes = total < place.bytes ? static_cast<uint32_t>(total) : place.bytes;
    int dtype = e.vector ? static_cast<int>(e.v.src0.dtype) : total == whole ? place.dtype : -1;
    uint64_t share = total / bytes * place.bytes / (whole < place.bytes ? place.bytes : whole);
    if (share == 0) share = 1;
    uint64_t first = (total / bytes) * (position / place.bytes) / ((whole + place.bytes - 1) / place.bytes);
    const uint64_t some[] = {first, first + share / 2, first + share - 1};
    for (int i = 0; i < 3; ++i) {
        if ((i > 0 && some[i] == some[i - 1]) || (some[i] + 1) * bytes > total) continue;
        Push({from.global, e.core, AddressAt(from.range, some[i] * bytes), bytes, e.sequence, step, dtype, from.role});
    }
}

const char* Journal::Locate(bool global, uint64_t at, uint64_t* offset) const {
    auto* address = reinterpret_cast<const void*>(at);
    *offset = global ? launch_->memory.OffsetOf(address) : at;
    if (global) return launch_->memory.NameOf(address);
    for (int m = 0; m < kMemories; ++m) {
        const MemoryRange& range = launch_->memories[m];
        if (at < range.offset || at >= range.offset + range.bytes) continue;
        *offset = at - range.offset;
        return MemoryName(static_cast<Memory>(m));
    }
    return "UB";
}

JournalStep Journal::Describe(const Place& place) const {
    JournalStep step{};
    step.parent = place.parent;
    step.role = place.role;
    step.core = place.core;
    step.bytes = place.bytes;
    step.dtype = place.dtype;
    step.memory = Locate(place.global, place.address, &step.offset);
    int operand = 0;
    const uint64_t writer = Writer(place, &operand);
    step.knows_after = ValueAt(place, step.after);
    if (writer == 0) return step;
    const JournalEntry& e = At(writer);
    step.instruction = e.instruction;
    step.place = e.place;
    step.sequence = writer;
    step.core = e.core;
    step.pipe = e.pipe;
    if (e.vector) {
        step.dtype = static_cast<int>(e.v.dst.dtype);
        step.has_scalar = Row(e.v.op).Reads(bits::Scalar);
        step.scalar = e.v.scalar;
        step.scalar_type = static_cast<int>(e.v.src0.address == nullptr ? e.v.dst.dtype : e.v.src0.dtype);
    }
    Place before = place;
    before.limit = writer;
    step.knows_before = ValueAt(before, step.before);
    return step;
}

// Who wrote last and nearest in front of a place on the chip that nobody wrote to: perhaps too little.
void Journal::PushShort(const Place& place, int step) {
    constexpr uint64_t kFar = 1u << 16;
    uint64_t below = 0;
    for (uint64_t s = (place.limit > sequence_ ? sequence_ + 1 : place.limit) - 1; s >= First(); --s) {
        const JournalEntry& e = At(s);
        for (int i = 0; e.core == place.core && i < e.count; ++i) {
            const JournalOperand& o = e.operands[i];
            uint64_t end = o.range.End();
            if (o.write && !o.global && end <= place.address && end > below) below = end;
        }
    }
    if (below != 0 && place.address - below < kFar)
        Push({false, place.core, below - 1, 1, place.limit, step, -1, kBelow});
}

// Who wrote nearest to a place of global memory that nobody wrote to.
int Journal::Neighbours(const Place& place, JournalStep* steps, int most) const {
    const GlobalBuffer* buffer = launch_->memory.Holding(reinterpret_cast<const void*>(place.address));
    if (buffer == nullptr) return 0;
    auto begin = reinterpret_cast<uint64_t>(buffer->address), end = begin + buffer->bytes;
    uint64_t below = 0, above = kForEver;
    for (uint64_t s = sequence_; s >= First(); --s) {
        const JournalEntry& e = At(s);
        for (int i = 0; i < e.count; ++i) {
            const JournalOperand& o = e.operands[i];
            if (!o.write || !o.global || o.range.Empty() || o.range.End() <= begin || o.range.begin >= end) continue;
            for (uint32_t k = 0; k < o.range.count; ++k) {
                uint64_t from = o.range.begin + k * o.range.stride, to = from + o.range.bytes;
                if (to <= place.address && to > below) below = to;
                if (from > place.address && from < above) above = from;
            }
        }
    }
    int count = 0;
    Place near = place;
    near.parent = 0;
    near.role = kBelow;
    near.address = below - 1;
    near.bytes = 1;
    if (below != 0 && count < most) steps[count++] = Describe(near);
    near.role = kAbove;
    near.address = above;
    if (above != kForEver && count < most) steps[count++] = Describe(near);
    return count;
}

int Journal::Follow(int watch, JournalStep* steps, int most) {
    const auto& w = watched_[watch];
    auto address = reinterpret_cast<uint64_t>(launch_->memory[w.buffer].address) + w.offset;
    const Place start{true, -1, address, w.bytes, kForEver, -1, -1, ""};
    place_count_ = 0;
    Push(start);
    int count = 0;
    for (int i = 0; i < place_count_ && count < most; ++i) {
        const Place place = places_[i];
        JournalStep step = Describe(place);
        bool seen = false;
        for (int k = 0; k < count && !seen; ++k)
            seen =
                steps[k].sequence == step.sequence && steps[k].offset == step.offset && steps[k].memory == step.memory;
        if (seen) continue;
        steps[count] = step;
        int operand = 0;
        const uint64_t writer = Writer(place, &operand);
        if (writer != 0 && place.role != kBelow) PushSources(At(writer), At(writer).operands[operand], place, count);
        if (writer == 0 && !place.global) PushShort(place, count);
        ++count;
    }
    if (count == 0 || count == most) return count;
    if (steps[0].instruction == nullptr) return count + Neighbours(start, steps + count, most - count);
    Place earlier = start;
    earlier.limit = steps[0].sequence;
    earlier.parent = 0;
    earlier.role = kBefore;
    int operand = 0;
    if (Writer(earlier, &operand) != 0) steps[count++] = Describe(earlier);
    return count;
}

}  // namespace twin
