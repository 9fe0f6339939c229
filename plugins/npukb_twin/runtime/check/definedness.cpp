// Which bytes of UB hold a value of the program after an instruction. What a vector instruction makes of undefined
// sources is the flow column of its row in instructions.def, where its lanes lie the span column.
#include <string.h>

#include "check/journal.h"
#include "check/tracker.h"
#include "semantics/span.h"

namespace twin {
namespace {

using npukb::CopyInstruction;

// Lanes of one instruction that lie one after the other in every operand.
struct Run {
    uint32_t dst;
    uint32_t src[3];
    uint32_t bytes;  // of an element of dst
    uint32_t src_bytes[3];
    int sources;
};

bool LaneDefined(Shadow& shadow, const Run& run, Flow flow, uint32_t lane) {
    bool all = true, any = run.sources == 0;
    for (int s = 0; s < run.sources; ++s) {
        bool defined = shadow.Defined(run.src[s] + lane * run.src_bytes[s], run.src_bytes[s]);
        all = all && defined;
        any = any || defined;
    }
    return flow == Flow::Any ? any : all;
}

void Mark(Shadow& shadow, uint32_t offset, uint64_t bytes, bool defined) {
    if (defined) {
        shadow.Define(offset, bytes);
    } else {
        shadow.Undefine(offset, bytes);
    }
}

// Lanes are looked at in groups, one by one only where a source has undefined bytes.
void DefineRun(Shadow& shadow, const Run& run, Flow flow, uint32_t lanes) {
    constexpr uint32_t kGroup = 64;
    for (uint32_t lane = 0; lane < lanes; lane += kGroup) {
        uint32_t n = lanes - lane < kGroup ? lanes - lane : kGroup;
        bool clean = true;
        for (int s = 0; s < run.sources; ++s)
            clean = clean && shadow.Clean(run.src[s] + lane * run.src_bytes[s], n * run.src_bytes[s]);
        if (clean) {
            shadow.Define(run.dst + lane * run.bytes, n * run.bytes);
            continue;
        }
        for (uint32_t i = lane; i < lane + n; ++i)
            Mark(shadow, run.dst + i * run.bytes, run.bytes, LaneDefined(shadow, run, flow, i));
    }
}

// A vector instruction whose results are about to be marked.
struct Tracked {
    Core& core;
    Shadow& shadow;
    const VectorInstruction& v;
    const Lanes& lanes;
    Flow flow;
    const Operand* sources[3];
    int count;

    uint32_t At(const Operand& o, const Place& place) const {
        return core.UbOffset(o.address) + static_cast<uint32_t>(place.offset);
    }
    Run RunAt(uint32_t repeat, uint32_t lane) const {
        Place to = PlaceOf(v, lanes, v.dst, repeat, lane);
        Run run{At(v.dst, to), {}, to.bytes, {}, count};
        for (int s = 0; s < count; ++s) {
            Place from = PlaceOf(v, lanes, *sources[s], repeat, lane);
            run.src[s] = At(*sources[s], from);
            run.src_bytes[s] = from.bytes;
        }
        return run;
    }
    // Bits of Select that lie in UB decide, too.
    bool Chosen(uint32_t repeat, uint32_t lane) const {
        if (!Row(v.op).Reads(bits::Choices) || v.mask[0] == 0) return true;
        uint64_t bit = v.mode == 0 ? lane % lanes.per_repeat : static_cast<uint64_t>(repeat) * lanes.per_repeat + lane;
        auto* choices = reinterpret_cast<const uint8_t*>(v.mask[0]);
        return shadow.Defined(core.UbOffset(choices) + static_cast<uint32_t>(bit / 8), 1);
    }
    bool Clean() const {
        bool clean = shadow.Clean(core.UbOffset(v.dst.address), SpanOf(v, lanes, v.dst));
        for (int s = 0; s < count; ++s)
            clean = clean && shadow.Clean(core.UbOffset(sources[s]->address), SpanOf(v, lanes, *sources[s]));
        return clean && ChoicesClean();
    }
    bool ChoicesClean() const {
        if (!Row(v.op).Reads(bits::Choices) || v.mask[0] == 0) return true;
        return shadow.Clean(core.UbOffset(reinterpret_cast<const void*>(v.mask[0])), ChoiceBytes(v, lanes));
    }
};

// Lane by lane. One that shares its byte of dst with the lane before it adds to what that one said: the byte holds a
// value as soon as a lane does.
void DefineSingly(const Tracked& t, const Grid& grid) {
    for (uint32_t r = 0; r < grid.repeats; ++r) {
        bool before = false;
        uint32_t last = ~0u;
        for (uint32_t lane = 0; lane < grid.lanes; ++lane) {
            if (grid.masked && !t.lanes.On(r, lane)) continue;
            Run run = t.RunAt(r, lane);
            bool defined = LaneDefined(t.shadow, run, t.flow, 0) && t.Chosen(r, lane);
            defined = defined || (run.dst == last && before);
            Mark(t.shadow, run.dst, run.bytes, defined);
            before = defined;
            last = run.dst;
        }
    }
}

// Lanes that follow each other; byte by byte where bytes have nothing to do with each other.
void DefineTogether(const Tracked& t, Run run, uint32_t lanes) {
    if (Row(t.v.op).Has(bits::Bitwise)) {
        lanes *= run.bytes;
        run.bytes = 1;
        for (uint32_t& bytes : run.src_bytes) bytes = 1;
    }
    DefineRun(t.shadow, run, t.flow, lanes);
}

void DefineLanes(const Tracked& t) {
    Grid grid = GridOf(t.v, t.lanes);
    uint32_t together = LanesTogether(t.v);
    if (together == 0 || !t.ChoicesClean()) return DefineSingly(t, grid);
    if (t.lanes.contiguous && Row(t.v.op).span == Span::Lanes) return DefineTogether(t, t.RunAt(0, 0), grid.lanes);
    for (uint32_t r = 0; r < grid.repeats; ++r) {
        for (uint32_t lane = 0; lane < grid.lanes;) {
            uint32_t stop = lane + 1;
            bool on = !grid.masked || t.lanes.On(r, lane);
            if (on) {
                while (stop < grid.lanes && stop % together != 0 && (!grid.masked || t.lanes.On(r, stop))) ++stop;
                DefineTogether(t, t.RunAt(r, lane), stop - lane);
            }
            lane = stop;
        }
    }
}

void DefineResults(Core& core, const VectorInstruction& v, const Lanes& lanes) {
    const Instruction& row = Row(v.op);
    Tracked t{core, core.tracker->Results(), v, lanes, row.flow, {}, 0};
    if (row.Reads(bits::Src0)) t.sources[t.count++] = &v.src0;
    if (row.Reads(bits::Src1) && v.src1.address != nullptr) t.sources[t.count++] = &v.src1;
    if (row.Reads(bits::Dst)) t.sources[t.count++] = &v.dst;
    // The other choice is a scalar, which always holds a value.
    if (row.Reads(bits::Scalar) && v.src1.address == nullptr) t.count = 0;
    if (!t.Clean()) DefineLanes(t);
}

// An undefined lane decides what a reduction yields.
void CheckReduced(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    Shadow& shadow = core.tracker->shadow();
    uint32_t base = core.UbOffset(v.src0.address), bytes = Bytes(v.src0.dtype);
    if (v.src0.address == nullptr || shadow.Clean(base, SpanOf(v, lanes, v.src0))) return;
    int64_t n = lanes.contiguous ? lanes.total : static_cast<int64_t>(lanes.repeats) * lanes.per_repeat;
    for (int64_t i = 0; i < n; ++i) {
        auto repeat = static_cast<uint32_t>(i / lanes.per_repeat), lane = static_cast<uint32_t>(i % lanes.per_repeat);
        if (!lanes.contiguous && !lanes.On(repeat, lane)) continue;
        uint64_t at = lanes.contiguous ? static_cast<uint64_t>(i) * bytes : ElementOffset(v.src0, repeat, lane, bytes);
        if (shadow.Defined(base + static_cast<uint32_t>(at), bytes)) continue;
        core.Warn("uninitialized_read", pc, "Give the lanes that hold no data the neutral element, or leave them out.",
                  "%s: element %lld of src was never given a value and takes part in the result", Row(v.op).name,
                  static_cast<long long>(i));
        return;
    }
}

}  // namespace

void TrackVector(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    if (core.launch->journal != nullptr) core.launch->journal->Vector(core, v, lanes, pc);
    if (core.order == nullptr) return;
    if (!lanes.contiguous && lanes.repeats > 1) {
        const Operand* operands[] = {&v.dst, &v.src0, &v.src1};
        for (const Operand* o : operands) {
            if (o->address == nullptr || o->block_stride != 1) continue;
            if (o == &v.dst && Row(v.op).span != Span::Lanes) continue;  // results lie closer than operands
            uint64_t row = (lanes.counted ? lanes.per_repeat : lanes.Top()) * Bytes(o->dtype);
            core.order->Refine(o->address, o == &v.dst, row, o->repeat_stride * 32ull, lanes.repeats);
        }
    }
    if (core.tracker == nullptr) return;
    if (Row(v.op).flow == Flow::Decides) {
        CheckReduced(core, v, lanes, pc);
    } else if (v.dst.address != nullptr) {
        DefineResults(core, v, lanes);
    }
}

namespace {

GlobalBuffer* BufferAt(Core& core, const void* address) {
    return const_cast<GlobalBuffer*>(core.launch->memory.Nearest(address));
}

void DefineLoaded(Core& core, Shadow& shadow, const CopyInstruction& c, uint32_t to, const void* from) {
    uint32_t left = c.padded ? c.pad_left * c.element_bytes : 0;
    uint64_t used = left + c.block_bytes + (c.padded ? c.pad_right * c.element_bytes : 0u);
    uint64_t placed = c.padded ? (used + 31) & ~31ull : used;
    shadow.Define(to, placed);
    if (c.padded && !c.pad_value_set && placed > left + c.block_bytes) {
        shadow.Undefine(to + left + static_cast<uint32_t>(c.block_bytes), placed - left - c.block_bytes);
    }
    if (c.padded && !c.pad_value_set) shadow.Undefine(to, left);
    const GlobalBuffer* buffer = BufferAt(core, from);
    if (buffer == nullptr || buffer->undefined == nullptr) return;
    uint64_t begin = core.launch->memory.OffsetOf(from);
    if (!GlobalMemory::AnyUndefined(*buffer, begin, begin + c.block_bytes)) return;
    for (uint64_t i = 0; i < c.block_bytes; ++i) {
        if (GlobalMemory::AnyUndefined(*buffer, begin + i, begin + i + 1))
            shadow.Undefine(to + left + static_cast<uint32_t>(i), 1);
    }
}

void DefineStored(Core& core, Shadow& shadow, const CopyInstruction& c, const void* to, uint32_t from, const void* pc) {
    GlobalBuffer* buffer = BufferAt(core, to);
    if (buffer == nullptr || c.block_bytes == 0) return;
    uint64_t begin = core.launch->memory.OffsetOf(to), end = begin + c.block_bytes;
    bool atomic = core.atomic_mode != npukb::AtomicMode::None;
    if (atomic && buffer->undefined != nullptr && GlobalMemory::AnyUndefined(*buffer, begin, end)) {
        core.Warn("uninitialized_read", pc, "Write zeros there first, and let all cores meet: SyncAll.",
                  "%s: an atomic sum in bytes %llu to %llu of '%s' begins with what nothing has written", c.name,
                  static_cast<unsigned long long>(begin), static_cast<unsigned long long>(end), buffer->name);
    }
    if (shadow.Clean(from, c.block_bytes)) {
        if (!atomic) core.launch->memory.Mark(buffer, begin, end, false);
        return;
    }
    uint64_t first = end, last = begin;
    for (uint64_t i = 0; i < c.block_bytes; ++i) {
        bool defined = shadow.Defined(from + static_cast<uint32_t>(i), 1);
        if (!defined || !atomic) core.launch->memory.Mark(buffer, begin + i, begin + i + 1, !defined);
        if (defined) continue;
        first = first < begin + i ? first : begin + i;
        last = begin + i + 1;
    }
    if (first < last) core.tracker->NoteSpoiled(core.launch->memory.IndexOf(buffer), first, last, c.name, pc);
}

void DefineMoved(Shadow& shadow, uint32_t to, uint32_t from, uint64_t bytes) {
    Run run{};
    run.bytes = run.src_bytes[0] = 1;
    run.dst = to;
    run.src[0] = from;
    run.sources = 1;
    DefineRun(shadow, run, Flow::All, static_cast<uint32_t>(bytes));
}

}  // namespace

void TrackCopy(Core& core, const CopyInstruction& c, const void* pc) {
    if (core.launch->journal != nullptr) core.launch->journal->Copied(core, c, pc);
    if (core.order == nullptr) return;
    uint64_t in_ub = c.block_bytes;
    if (c.padded && c.direction == npukb::kIn)
        in_ub = (in_ub + (c.pad_left + c.pad_right) * c.element_bytes + 31) & ~31ull;
    core.order->Refine(c.dst, true, in_ub, static_cast<uint64_t>(c.dst_stride), c.blocks);
    core.order->Refine(c.src, false, c.block_bytes, static_cast<uint64_t>(c.src_stride), c.blocks);
    if (core.tracker == nullptr) return;
    Shadow& shadow = core.tracker->Results();
    auto* to = static_cast<const uint8_t*>(c.dst);
    auto* from = static_cast<const uint8_t*>(c.src);
    for (uint32_t i = 0; i < c.blocks; ++i) {
        switch (c.direction) {
            case npukb::kIn: DefineLoaded(core, shadow, c, core.UbOffset(to), from); break;
            case npukb::kOut: DefineStored(core, shadow, c, to, core.UbOffset(from), pc); break;
            default: DefineMoved(shadow, core.UbOffset(to), core.UbOffset(from), c.block_bytes);
        }
        to += c.dst_stride;
        from += c.src_stride;
    }
}

void TrackStored(Core& core, const void* gm, uint64_t bytes) {
    if (core.tracker == nullptr || core.atomic_mode != npukb::AtomicMode::None) return;
    GlobalBuffer* buffer = BufferAt(core, gm);
    uint64_t begin = core.launch->memory.OffsetOf(gm);
    if (buffer != nullptr) core.launch->memory.Mark(buffer, begin, begin + bytes, false);
}

bool HoldsValue(Core& core, const void* from, uint64_t bytes) {
    return core.tracker->shadow().Defined(core.UbOffset(from), bytes);
}

void MarkResult(Core& core, const void* to, uint64_t bytes, bool holds_value) {
    Mark(core.tracker->Results(), core.UbOffset(to), bytes, holds_value);
}

void TrackScalar(Core& core, const void* address, uint32_t bytes, bool write, bool global, const void* pc) {
    if (core.tracker == nullptr) return;
    if (global) {
        GlobalBuffer* buffer = BufferAt(core, address);
        uint64_t begin = core.launch->memory.OffsetOf(address);
        if (buffer == nullptr) return;
        if (write) {
            core.launch->memory.Mark(buffer, begin, begin + bytes, false);
        } else if (GlobalMemory::AnyUndefined(*buffer, begin, begin + bytes)) {
            core.Warn("uninitialized_read", pc, "Write it first: a workspace is not cleared.",
                      "GlobalTensor::GetValue reads %u bytes at offset %llu of '%s', which nothing has written", bytes,
                      static_cast<unsigned long long>(begin), buffer->name);
        }
        return;
    }
    Shadow& shadow = core.tracker->Results();
    uint32_t offset = core.UbOffset(address);
    if (write) {
        shadow.Define(offset, bytes);
    } else if (!shadow.Defined(offset, bytes)) {
        core.Warn("uninitialized_read", pc, "Write the element first.",
                  "LocalTensor::GetValue reads UB offset %u, which holds no value of the program", offset);
    }
}

}  // namespace twin
