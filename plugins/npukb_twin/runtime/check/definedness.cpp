// Which bytes an instruction leaves defined.
#include <string.h>

#include "semantics/lanes.h"
#include "check/tracker.h"

namespace twin {
namespace {

using npukb::CopyInstruction;
using npukb::DType;
using npukb::Op;

// How definedness goes through an instruction.
enum class Flow : uint8_t {
    Lanes,   // a lane of dst comes from the same lanes of the sources
    Either,  // the same, but one defined source is enough: a choice, or a mask
    Fill,    // from no tensor
    Gather,  // one value from many lanes: undefined ones decide the result
    Other,   // everything that is written counts as defined
};

Flow FlowOf(Op op) {
    switch (op) {
        case Op::And:
        case Op::Or:
        case Op::Select: return Flow::Either;
        case Op::Duplicate:
        case Op::CreateVecIndex: return Flow::Fill;
        case Op::BlockReduceSum:
        case Op::BlockReduceMax:
        case Op::BlockReduceMin:
        case Op::PairReduceSum:
        case Op::WholeReduceSum:
        case Op::WholeReduceMax:
        case Op::WholeReduceMin:
        case Op::ReduceSum:
        case Op::ReduceMax:
        case Op::ReduceMin: return Flow::Gather;
        case Op::Cast:
        case Op::Copy:
#define NPUKB_UNARY(name, t, c16, c32) case Op::name:
#include "../../include/twin/instructions.def"
        case Op::Axpy:
        case Op::Add:
        case Op::Sub:
        case Op::Mul:
        case Op::Div:
        case Op::Max:
        case Op::Min:
        case Op::AddRelu:
        case Op::SubRelu:
        case Op::Adds:
        case Op::Muls:
        case Op::Maxs:
        case Op::Mins:
        case Op::LeakyRelu:
        case Op::ShiftLeft:
        case Op::ShiftRight:
        case Op::MulAddDst:
        case Op::FusedMulAdd:
        case Op::MulAddRelu: return Flow::Lanes;
        default: return Flow::Other;
    }
}

bool ReadsDst(Op op) { return op == Op::Axpy || op == Op::MulAddDst || op == Op::FusedMulAdd || op == Op::MulAddRelu; }

const char* NameOf(Op op) {
    static const char* const names[] = {
#define NPUKB_UNARY(name, t, c16, c32) #name,
#define NPUKB_BINARY(name, t, c16, c32) #name,
#define NPUKB_SCALAR(name, t, c16, c32) #name,
#define NPUKB_ACCUMULATE(name, t, c16, c32) #name,
#define NPUKB_SHIFT(name, t, c16, c32) #name,
#define NPUKB_SPECIAL(name, t, c16, c32) #name,
#include "../../include/twin/instructions.def"
    };
    return names[static_cast<int>(op)];
}

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
    return flow == Flow::Either ? any : all;
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
        for (uint32_t i = lane; i < lane + n; ++i) {
            if (LaneDefined(shadow, run, flow, i)) {
                shadow.Define(run.dst + i * run.bytes, run.bytes);
            } else {
                shadow.Undefine(run.dst + i * run.bytes, run.bytes);
            }
        }
    }
}

uint64_t SpanBytes(const Operand& o, const Lanes& lanes) {
    uint32_t bytes = Bytes(o.dtype);
    if (lanes.contiguous) return static_cast<uint64_t>(lanes.total) * bytes;
    uint32_t top = lanes.Top();
    return lanes.repeats == 0 || top == 0 ? 0 : ElementOffset(o, lanes.repeats - 1, top - 1, bytes) + bytes;
}

Run RunOf(const Core& core, const VectorInstruction& v, const Operand* const* sources, int count, uint32_t repeat,
          uint32_t lane, bool contiguous) {
    Run run{};
    run.bytes = Bytes(v.dst.dtype);
    run.dst = core.UbOffset(v.dst.address);
    if (!contiguous) run.dst += static_cast<uint32_t>(ElementOffset(v.dst, repeat, lane, run.bytes));
    run.sources = count;
    for (int s = 0; s < count; ++s) {
        run.src_bytes[s] = Bytes(sources[s]->dtype);
        run.src[s] = core.UbOffset(sources[s]->address);
        if (!contiguous)
            run.src[s] += static_cast<uint32_t>(ElementOffset(*sources[s], repeat, lane, run.src_bytes[s]));
    }
    return run;
}

void DefineLanes(Core& core, const VectorInstruction& v, const Lanes& lanes, Flow flow) {
    const Operand* sources[3];
    int count = 0;
    if (flow != Flow::Fill) {
        if (v.src0.address != nullptr) sources[count++] = &v.src0;
        if (v.src1.address != nullptr) sources[count++] = &v.src1;
        if (ReadsDst(v.op)) sources[count++] = &v.dst;
        if (v.op == Op::Select && count == 1) flow = Flow::Fill, count = 0;  // the other choice is a scalar
    }
    Shadow& shadow = core.tracker->Results();
    bool clean = shadow.Clean(core.UbOffset(v.dst.address), SpanBytes(v.dst, lanes));
    for (int s = 0; s < count; ++s)
        clean = clean && shadow.Clean(core.UbOffset(sources[s]->address), SpanBytes(*sources[s], lanes));
    if (clean) return;
    if (lanes.contiguous) {
        DefineRun(shadow, RunOf(core, v, sources, count, 0, 0, true), flow, static_cast<uint32_t>(lanes.total));
        return;
    }
    // Lanes that share a block in the widest operand follow each other in all of them.
    uint32_t widest = Bytes(v.dst.dtype);
    for (int s = 0; s < count; ++s) widest = Bytes(sources[s]->dtype) > widest ? Bytes(sources[s]->dtype) : widest;
    uint32_t block = 32 / widest;
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        for (uint32_t lane = 0; lane < lanes.per_repeat;) {
            uint32_t stop = lane + 1;
            if (lanes.On(r, lane)) {
                while (stop < lanes.per_repeat && stop % block != 0 && lanes.On(r, stop)) ++stop;
                DefineRun(shadow, RunOf(core, v, sources, count, r, lane, false), flow, stop - lane);
            }
            lane = stop;
        }
    }
}

// An undefined lane decides what a reduction yields.
void CheckReduced(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    Shadow& shadow = core.tracker->shadow();
    uint32_t base = core.UbOffset(v.src0.address), bytes = Bytes(v.src0.dtype);
    if (v.src0.address == nullptr || shadow.Clean(base, SpanBytes(v.src0, lanes))) return;
    int64_t n = lanes.contiguous ? lanes.total : static_cast<int64_t>(lanes.repeats) * lanes.per_repeat;
    for (int64_t i = 0; i < n; ++i) {
        auto repeat = static_cast<uint32_t>(i / lanes.per_repeat), lane = static_cast<uint32_t>(i % lanes.per_repeat);
        if (!lanes.contiguous && !lanes.On(repeat, lane)) continue;
        uint64_t at = lanes.contiguous ? static_cast<uint64_t>(i) * bytes : ElementOffset(v.src0, repeat, lane, bytes);
        if (shadow.Defined(base + static_cast<uint32_t>(at), bytes)) continue;
        core.Warn("uninitialized_read", pc, "Give the lanes that hold no data the neutral element, or leave them out.",
                  "%s: element %lld of src was never given a value and takes part in the result", NameOf(v.op),
                  static_cast<long long>(i));
        return;
    }
}

}  // namespace

void TrackVector(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    if (core.tracker == nullptr) return;
    if (!lanes.contiguous && lanes.repeats > 1) {
        const Operand* operands[] = {&v.dst, &v.src0, &v.src1};
        for (const Operand* o : operands) {
            if (o->address == nullptr || o->block_stride != 1) continue;
            uint64_t row = (lanes.counted ? lanes.per_repeat : lanes.Top()) * Bytes(o->dtype);
            core.tracker->Refine(o->address, o == &v.dst, row, o->repeat_stride * 32ull, lanes.repeats);
        }
    }
    Flow flow = FlowOf(v.op);
    bool half_bytes = v.dst.dtype == DType::I4 || v.src0.dtype == DType::I4;
    if (flow == Flow::Other || half_bytes) return;
    if (flow == Flow::Gather) {
        CheckReduced(core, v, lanes, pc);
        return;
    }
    DefineLanes(core, v, lanes, flow);
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
    DefineRun(shadow, run, Flow::Lanes, static_cast<uint32_t>(bytes));
}

}  // namespace

void TrackCopy(Core& core, const CopyInstruction& c, const void* pc) {
    if (core.tracker == nullptr) return;
    uint64_t in_ub = c.block_bytes;
    if (c.padded && c.direction == npukb::kIn)
        in_ub = (in_ub + (c.pad_left + c.pad_right) * c.element_bytes + 31) & ~31ull;
    core.tracker->Refine(c.dst, true, in_ub, static_cast<uint64_t>(c.dst_stride), c.blocks);
    core.tracker->Refine(c.src, false, c.block_bytes, static_cast<uint64_t>(c.src_stride), c.blocks);
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
    core.tracker->Note({"LocalTensor element access", "element", pc, Whole(offset, bytes), write, false, false, false});
}

}  // namespace twin
