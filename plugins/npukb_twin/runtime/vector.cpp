// A vector instruction: its lanes are resolved, its operands checked, it is executed, and it is given its time.
#include <stdio.h>

#include "lanes.h"
#include "region.h"
#include "tracker.h"

namespace twin {
namespace {

using npukb::Form;
using npukb::Op;

struct Facts {
    const char* name;
    uint8_t family;   // 'e' element-wise, 's' special
    uint8_t sources;  // tensors that are read; of special instructions see SourcesOf
    uint16_t per_cycle16;
    uint16_t per_cycle32;
};

const Facts kFacts[] = {
#define NPUKB_UNARY(name, t, c16, c32) {#name, 'e', 1, c16, c32},
#define NPUKB_BINARY(name, t, c16, c32) {#name, 'e', 2, c16, c32},
#define NPUKB_SCALAR(name, t, c16, c32) {#name, 'e', 1, c16, c32},
#define NPUKB_ACCUMULATE(name, t, c16, c32) {#name, 'e', 2, c16, c32},
#define NPUKB_SPECIAL(name, t, c16, c32) {#name, 's', 1, c16, c32},
#include "../include/twin/instructions.def"
};

const Facts& FactsOf(Op op) { return kFacts[static_cast<int>(op)]; }

uint32_t Widest(const VectorInstruction& v) {
    uint32_t widest = v.src0.address != nullptr ? Bytes(v.src0.dtype) : Bytes(v.dst.dtype);
    if (v.op == Op::Cast && Bytes(v.dst.dtype) > widest) widest = Bytes(v.dst.dtype);
    return widest;
}

bool IsReduce(Op op) {
    switch (op) {
        case Op::BlockReduceSum:
        case Op::BlockReduceMax:
        case Op::BlockReduceMin:
        case Op::PairReduceSum:
        case Op::WholeReduceSum:
        case Op::WholeReduceMax:
        case Op::WholeReduceMin:
        case Op::ReduceSum:
        case Op::ReduceMax:
        case Op::ReduceMin: return true;
        default: return false;
    }
}

// Reductions of a whole tensor are sequences of instructions; their repeat count is not the hardware's.
bool WholeTensor(Op op) { return op == Op::ReduceSum || op == Op::ReduceMax || op == Op::ReduceMin; }

// Tensors an instruction reads, Select's mask apart. One that has no address was never given a buffer.
int SourcesOf(const VectorInstruction& v) {
    switch (v.op) {
        case Op::Duplicate:
        case Op::CreateVecIndex: return 0;
        case Op::Compare:
        case Op::ReduceSum:
        case Op::ReduceMax:
        case Op::ReduceMin: return 2;
        default: return FactsOf(v.op).sources;
    }
}

// Bytes an operand spans, from its first to one past its last touched byte.
uint64_t Span(const VectorInstruction& v, const Lanes& lanes, const Operand& o, bool is_dst) {
    uint32_t bytes = Bytes(o.dtype);
    if (is_dst && IsReduce(v.op)) {
        uint64_t last = lanes.repeats > 0 ? lanes.repeats - 1 : 0;
        switch (v.op) {
            case Op::BlockReduceSum:
            case Op::BlockReduceMax:
            case Op::BlockReduceMin: return (last * o.repeat_stride * 8 + 8) * bytes;
            case Op::PairReduceSum: return last * o.repeat_stride * 128 + 128;
            case Op::WholeReduceSum: return (last * o.repeat_stride + 1) * bytes;
            case Op::WholeReduceMax:
            case Op::WholeReduceMin: return (v.mode < 2 ? 2 * last * o.repeat_stride + 2 : last * o.repeat_stride + 1) * bytes;
            default: return (v.mode != 0 && v.op != Op::ReduceSum ? 2 : 1) * bytes;
        }
    }
    if (is_dst && (v.op == Op::Compare || v.op == Op::Compares)) {
        return lanes.contiguous ? static_cast<uint64_t>(lanes.total) / 8 : static_cast<uint64_t>(lanes.repeats) * lanes.per_repeat / 8;
    }
    if (v.op == Op::Brcb) {
        if (!is_dst) return static_cast<uint64_t>(v.repeat) * 8 * bytes;
        return v.repeat == 0 ? 0 : (static_cast<uint64_t>(v.repeat - 1) * o.repeat_stride + 7u * o.block_stride + 1) * 32;
    }
    if (lanes.contiguous) return static_cast<uint64_t>(lanes.total) * bytes;
    uint32_t top = lanes.Top();
    if (lanes.repeats == 0 || top == 0) return 0;
    return ElementOffset(o, lanes.repeats - 1, top - 1, bytes) + bytes;
}

void CheckOperand(Core& core, const VectorInstruction& v, const Operand& o, uint64_t span, uint32_t alignment,
                  const char* role, bool write, const void* pc) {
    CheckLocal(core, {FactsOf(v.op).name, role, o.address, span, o.tensor_bytes, alignment, write}, pc);
}

// Operands must be identical or apart: what a partly overlapping instruction computes is undefined.
void CheckOverlap(Core& core, const VectorInstruction& v, const Operand& src, uint64_t dst_span, uint64_t src_span,
                  const char* role, const void* pc) {
    auto d = reinterpret_cast<uint64_t>(v.dst.address);
    auto s = reinterpret_cast<uint64_t>(src.address);
    if (d == s || dst_span == 0 || src_span == 0 || d + dst_span <= s || s + src_span <= d) return;
    core.Warn("overlap", pc, "Use the same start for both, or keep them apart.",
              "%s: dst and %s overlap partly (UB offsets %u and %u); the result is undefined on the device",
              FactsOf(v.op).name, role, core.UbOffset(v.dst.address), core.UbOffset(src.address));
}

void CheckOperands(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    uint64_t dst_span = Span(v, lanes, v.dst, true);
    CheckOperand(core, v, v.dst, dst_span, IsReduce(v.op) ? Bytes(v.dst.dtype) : 32, "dst", true, pc);
    bool scratch = WholeTensor(v.op);
    int sources = SourcesOf(v);
    if ((sources > 0 && v.src0.address == nullptr) || (sources > 1 && v.src1.address == nullptr)) {
        core.Violate("illegal_address", pc, "Take the tensor from a queue or a TBuf before using it.",
                     "%s: a source is a tensor without a buffer", FactsOf(v.op).name);
    }
    if (v.src0.address != nullptr) {
        uint64_t span = Span(v, lanes, v.src0, false);
        CheckOperand(core, v, v.src0, span, 32, v.src1.address != nullptr && !scratch ? "src0" : "src", false, pc);
        if (v.form == Form::Count && !IsReduce(v.op) && v.op != Op::Cast) {
            CheckOverlap(core, v, v.src0, dst_span, span, "src0", pc);
        }
    }
    if (v.src1.address != nullptr) {
        uint64_t span = scratch ? 32 : Span(v, lanes, v.src1, false);
        CheckOperand(core, v, v.src1, span, 32, scratch ? "sharedTmpBuffer" : "src1", scratch, pc);
        if (v.form == Form::Count && !scratch) CheckOverlap(core, v, v.src1, dst_span, span, "src1", pc);
    }
    if (v.op == Op::Select && lanes.total > 0) {
        uint64_t bits = v.mode == 0 ? lanes.per_repeat : static_cast<uint64_t>(lanes.total);
        Operand mask{reinterpret_cast<const void*>(v.mask[0]), static_cast<uint32_t>(v.mask[1]), 1, 8, npukb::DType::U8};
        CheckOperand(core, v, mask, (bits + 7) / 8, 32, "selMask", false, pc);
    }
}

// Elements the API will not touch although the caller counts on them.
int64_t EffectiveCount(Core& core, const VectorInstruction& v, uint32_t widest, const void* pc) {
    const char* name = FactsOf(v.op).name;
    if (v.count < 0) {
        core.Violate("bad_count", pc, "Compute the count so that it cannot be negative.", "%s: count is %lld", name,
                     static_cast<long long>(v.count));
    }
    if (v.op != Op::Compare && v.op != Op::Compares) return v.count;
    int64_t lanes = 256 / widest;
    if (v.count % lanes != 0) {
        core.Warn("compare_tail", pc, "Round the count up to a multiple of 256 bytes and give the tensors room for it.",
                  "%s: %lld elements are not a multiple of 256 bytes; the last %lld are not compared", name,
                  static_cast<long long>(v.count), static_cast<long long>(v.count % lanes));
    }
    return v.count / lanes * lanes;
}

bool SameBankGroup(const Core& core, const VectorInstruction& v) {
    if (v.src0.address == nullptr || v.src1.address == nullptr || v.src0.address == v.src1.address) return false;
    return (core.UbOffset(v.src0.address) / 32) % 16 == (core.UbOffset(v.src1.address) / 32) % 16;
}

void Charge(Core& core, const VectorInstruction& v, const Lanes& lanes, uint32_t widest) {
    const Machine& m = core.launch->machine;
    const Facts& facts = FactsOf(v.op);
    uint32_t per_cycle = widest <= 2 ? facts.per_cycle16 : (widest == 4 ? facts.per_cycle32 : 32);
    if (v.op == Op::Cast && widest <= 2) per_cycle = 128;
    double per_repeat = static_cast<double>(lanes.per_repeat) / (per_cycle != 0 ? per_cycle : 64);
    double repeats = lanes.contiguous ? static_cast<double>((lanes.total + lanes.per_repeat - 1) / lanes.per_repeat) : lanes.repeats;
    if (v.op == Op::Brcb) repeats = v.repeat;
    bool two_sources = facts.family == 'e' || v.op == Op::Compare || v.op == Op::Select;
    if (two_sources && SameBankGroup(core, v)) per_repeat += 1;
    double head = core.time.Idle(Pipe::V) ? m.vector_idle_head_cycles : m.vector_head_cycles;
    double cycles = head + repeats * per_repeat;
    if (WholeTensor(v.op)) {
        // A software sequence: repeats into scratch, then the scratch again until one value is left.
        for (double left = repeats; left > 1; left = left / lanes.per_repeat) {
            cycles += m.barrier_cycles + m.vector_head_cycles + per_repeat * (left / lanes.per_repeat);
        }
    }
    core.time.Issue(m, Pipe::V, cycles);
}

}  // namespace

Lanes ResolveLanes(const Core& core, const VectorInstruction& v, uint32_t widest_bytes) {
    Lanes lanes{};
    lanes.per_repeat = 256 / widest_bytes;
    if (v.form == Form::Count) {
        lanes.contiguous = true;
        lanes.total = v.count;
        lanes.repeats = 1;
        return lanes;
    }
    if (core.counter_mode) {
        lanes.counted = true;
        lanes.total = v.use_register ? static_cast<int64_t>(core.mask[0]) : v.count;
        lanes.repeats = static_cast<uint32_t>((lanes.total + lanes.per_repeat - 1) / lanes.per_repeat);
        return lanes;
    }
    lanes.repeats = v.repeat;
    lanes.mask[0] = v.use_register ? core.mask[0] : v.mask[0];
    lanes.mask[1] = v.use_register ? core.mask[1] : v.mask[1];
    return lanes;
}

}  // namespace twin

namespace twin {
namespace {

void Run(VectorInstruction& v, const void* pc) {
    Core& core = ThisCore();
    uint32_t widest = Widest(v);
    if (v.form == Form::Count) v.count = EffectiveCount(core, v, widest, pc);
    if (v.form == Form::Mask && v.repeat > 255 && !WholeTensor(v.op)) {
        core.Violate("limit_exceeded", pc, "Split the instruction.", "%s: repeat is %u, the limit is 255",
                     FactsOf(v.op).name, v.repeat);
    }
    Lanes lanes = ResolveLanes(core, v, widest);
    CheckOperands(core, v, lanes, pc);
    switch (v.op) {
        case Op::Cast: ExecuteCast(core, v, lanes, pc); break;
        case Op::Compare:
        case Op::Compares: ExecuteCompare(v, lanes); break;
        case Op::Select: ExecuteSelect(v, lanes); break;
        case Op::Duplicate:
        case Op::Copy:
        case Op::Brcb:
        case Op::CreateVecIndex: ExecuteFill(v, lanes); break;
        default: IsReduce(v.op) ? ExecuteReduce(v, lanes) : ExecuteElementwise(v, lanes); break;
    }
    TrackVector(core, v, lanes, pc);
    Charge(core, v, lanes, widest);
}

Operand OperandOf(const npukb::BufferView* view, npukb::DType dtype) {
    if (view == nullptr) return Operand{nullptr, 0, 1, 8, dtype};
    return Operand{view->address, view->bytes, 1, 8, dtype};
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_vector(const npukb::VectorInstruction* instruction) {
    twin::VectorInstruction v = *instruction;
    twin::Run(v, NPUKB_PC);
}

void npukb_vector_count(uint32_t code, int64_t count, const npukb::BufferView* dst, const npukb::BufferView* src0,
                        const npukb::BufferView* src1, uint64_t scalar) {
    using namespace twin;
    VectorInstruction v{};
    v.op = static_cast<Op>(code & 0xff);
    v.form = Form::Count;
    v.mode = static_cast<uint8_t>(code >> npukb::kModeShift & 0xff);
    v.count = count;
    v.repeat = 1;
    v.scalar = scalar;
    auto source = static_cast<npukb::DType>(code >> 24);
    v.dst = OperandOf(dst, static_cast<npukb::DType>(code >> 16 & 0xff));
    v.src0 = OperandOf(src0, source);
    v.src1 = OperandOf(src1, source);
    Run(v, NPUKB_PC);
}

void npukb_mask_mode(int counter) { twin::ThisCore().counter_mode = counter != 0; }

void npukb_mask_set(uint64_t high, uint64_t low) {
    twin::Core& core = twin::ThisCore();
    core.mask[0] = low;
    core.mask[1] = high;
    core.time.Scalar(1);
}
}
