// A vector instruction: its lanes are resolved, its operands checked, it is executed, and it is given its time.
#include <stdio.h>

#include "../../include/twin/types.h"
#include "check/raw_access.h"
#include "time/banks.h"
#include "semantics/instruction.h"
#include "semantics/lanes.h"
#include "semantics/overlap.h"
#include "semantics/ranges.h"
#include "semantics/reduce.h"
#include "semantics/span.h"
#include "check/chip.h"
#include "check/operand_check.h"
#include "check/tracker.h"

namespace twin {
namespace {

using npukb::DType;
using npukb::Form;
using npukb::Op;

// Lanes of a repeat are counted by the widest operand. int4b_t counts as half, its partner in Cast.
uint32_t Widest(const VectorInstruction& v) {
    uint32_t widest = v.src0.address != nullptr ? Bytes(v.src0.dtype) : Bytes(v.dst.dtype);
    bool converts = v.dst.dtype != v.src0.dtype && Row(v.op).unit != Unit::Compare;
    return converts && v.dst.address != nullptr && Bytes(v.dst.dtype) > widest ? Bytes(v.dst.dtype) : widest;
}

void CheckOperand(Core& core, const VectorInstruction& v, const Operand& o, uint64_t span, uint32_t alignment,
                  const char* role, bool write, const void* pc) {
    CheckLocal(core, {Row(v.op).name, role, o.address, span, o.tensor_bytes, alignment, write}, pc);
}

// Operands must be identical or apart. A result that begins inside of its source replaces what is yet to be read; one
// that ends there is written behind what has been read, and kernels that were verified on a device do that.
void CheckOverlap(Core& core, const VectorInstruction& v, const Operand& src, uint64_t dst_span, uint64_t src_span,
                  const char* role, const void* pc) {
    auto d = reinterpret_cast<uint64_t>(v.dst.address);
    auto s = reinterpret_cast<uint64_t>(src.address);
    if (d == s || dst_span == 0 || src_span == 0 || d + dst_span <= s || s + src_span <= d) return;
    core.vector.undefined = core.vector.undefined || d > s;
    core.Warn("overlap", pc, "Use the same start for both, or keep them apart.",
              "%s: dst and %s overlap partly (UB offsets %u and %u); the result is undefined on the device",
              Row(v.op).name, role, core.UbOffset(v.dst.address), core.UbOffset(src.address));
}

// The same for an instruction in its repeats' form: within its first repeat, and from one repeat to the next.
void CheckRepeat(Core& core, const VectorInstruction& v, const Lanes& lanes, const Operand& src, const char* role,
                 const void* pc) {
    if (ReadsResults(core, v, lanes, src, role, pc)) core.vector.undefined = true;
    if (v.dst.block_stride != 1 || src.block_stride != 1 || lanes.repeats == 0 || lanes.contiguous) return;
    uint64_t top = lanes.counted && lanes.repeats > 1 ? lanes.per_repeat : lanes.Top();
    if (v.dst.address > src.address)
        CheckOverlap(core, v, src, top * Bytes(v.dst.dtype), top * Bytes(src.dtype), role, pc);
}

void CheckOperands(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    const Instruction& row = Row(v.op);
    bool reduces = row.unit == Unit::Reduce, scratch = row.Reads(bits::Scratch);
    uint64_t dst_span = SpanOf(v, lanes, v.dst);
    CheckOperand(core, v, v.dst, dst_span, reduces ? ReducedAlignment(v) : 32, "dst", true, pc);
    if (WritesOneBlock(core, v, lanes, pc) || (reduces && ReadsReduced(core, v, lanes, pc)))
        core.vector.undefined = true;
    bool needs_src1 = row.Reads(bits::Src1) && !row.Reads(bits::Scalar);
    if ((row.Reads(bits::Src0) && v.src0.address == nullptr) || (needs_src1 && v.src1.address == nullptr)) {
        core.Violate("illegal_address", pc, "Take the tensor from a queue or a TBuf before using it.",
                     "%s: a source is a tensor without a buffer", Row(v.op).name);
    }
    if (v.src0.address != nullptr) {
        uint64_t span = SpanOf(v, lanes, v.src0);
        CheckOperand(core, v, v.src0, span, 32, v.src1.address != nullptr && !scratch ? "src0" : "src", false, pc);
        bool widens = Bytes(v.dst.dtype) > Bytes(v.src0.dtype) && v.dst.address == v.src0.address;
        if (row.Converts() && widens && dst_span > 0 && span > 0) {
            core.Warn("overlap", pc, "Give the wider result a buffer of its own.",
                      "%s: dst is wider than src and starts where it does; the device overwrites elements before it "
                      "reads them",
                      Row(v.op).name);
        }
        bool alike = !reduces && !row.Converts();
        if (alike && v.form == Form::Count) CheckOverlap(core, v, v.src0, dst_span, span, "src0", pc);
        if (alike && row.span == Span::Lanes) CheckRepeat(core, v, lanes, v.src0, "src0", pc);
        if (row.span == Span::Blocks) {
            const Stretch to{"dst", v.dst.address, dst_span}, from{"src", v.src0.address, span};
            core.vector.undefined = Clashes(core, row.name, to, from, false, pc) || core.vector.undefined;
        }
    }
    if (v.src1.address != nullptr) {
        uint64_t span = scratch ? ReduceScratchBytes(v, lanes) : SpanOf(v, lanes, v.src1);
        CheckOperand(core, v, v.src1, span, 32, scratch ? "sharedTmpBuffer" : "src1", scratch, pc);
        if (v.form == Form::Count && !scratch) CheckOverlap(core, v, v.src1, dst_span, span, "src1", pc);
        if (!reduces && !row.Converts() && !scratch && row.span == Span::Lanes)
            CheckRepeat(core, v, lanes, v.src1, "src1", pc);
    }
    if (row.Reads(bits::Choices) && v.mask[0] != 0 && dst_span > 0) {
        Operand mask{reinterpret_cast<const void*>(v.mask[0]), static_cast<uint32_t>(v.mask[1]), 1, 8, DType::U8};
        CheckOperand(core, v, mask, ChoiceBytes(v, lanes), 32, "selMask", false, pc);
    }
}

// Elements the API will not touch although the caller counts on them.
int64_t EffectiveCount(Core& core, const VectorInstruction& v, uint32_t widest, const void* pc) {
    const char* name = Row(v.op).name;
    if (v.count < 0) {
        core.Violate("bad_count", pc, "Compute the count so that it cannot be negative.", "%s: count is %lld", name,
                     static_cast<long long>(v.count));
    }
    if (Row(v.op).unit != Unit::Compare) return v.count;
    int64_t lanes = 256 / widest;
    if (v.count % lanes != 0) {
        core.Warn("compare_tail", pc, "Round the count up to a multiple of 256 bytes and give the tensors room for it.",
                  "%s: %lld elements are not a multiple of 256 bytes; the last %lld are not compared", name,
                  static_cast<long long>(v.count), static_cast<long long>(v.count % lanes));
    }
    return v.count / lanes * lanes;
}

BankUse UseOf(const Core& core, const Operand& o, const Lanes& lanes) {
    uint32_t block = core.UbOffset(o.address) / 32;
    if (lanes.contiguous) return {block, 1, 8};
    return {block, o.block_stride, o.repeat_stride};
}

// Cycles of the vector unit for one repeat, without waiting for banks, and with it.
struct Pace {
    double free;
    double banked;
};

// Elements per cycle, as the machine file or else the instruction table says.
double ElementsPerCycle(const Machine& m, Op op, uint32_t widest) {
    const Instruction& row = Row(op);
    if (widest <= 4) {
        double measured = m.rates[static_cast<int>(op)][widest == 4];
        if (measured > 0) return measured;
    }
    uint32_t per_cycle = widest <= 2 ? row.per_cycle16 : (widest == 4 ? row.per_cycle32 : 32);
    return per_cycle != 0 ? per_cycle : 64;
}

Pace PaceOf(const Core& core, const VectorInstruction& v, const Lanes& lanes, uint32_t widest, double repeats) {
    double free = static_cast<double>(lanes.per_repeat) / ElementsPerCycle(core.launch->machine, v.op, widest);
    BankUse reads[3];
    int count = 0;
    const Instruction& row = Row(v.op);
    if (row.cost == Cost::Blocks || repeats == 0) return {free, free};
    if (v.src0.address != nullptr) reads[count++] = UseOf(core, v.src0, lanes);
    if (v.src1.address != nullptr && v.src1.address != v.src0.address && !row.Reads(bits::Scratch))
        reads[count++] = UseOf(core, v.src1, lanes);
    if (row.cost == Cost::Dst && v.dst.address != v.src0.address && v.dst.address != v.src1.address)
        reads[count++] = UseOf(core, v.dst, lanes);
    BankUse write = UseOf(core, v.dst, lanes);
    double read_write = core.launch->machine.bank_read_write_cycles;
    if (row.cost == Cost::Results || row.cost == Cost::Sequence) write = {0, 1, 8}, read_write = 0;  // a few elements
    double banks =
        BankCycles(reads, count, write, lanes.contiguous ? static_cast<uint32_t>(repeats) : lanes.repeats, read_write);
    return {free, banks > free ? banks : free};
}

// Whether the instruction reads what the one before it wrote, and whether it has to wait for a late result. Its own
// comes `drain` cycles late.
bool Chained(Core& core, const VectorInstruction& v, const Lanes& lanes, double repeats, Lateness& late) {
    auto bytes = static_cast<uint64_t>(repeats * 256);
    bool chained = core.vector.Chains(v.src0.address, bytes) || core.vector.Chains(v.src1.address, bytes);
    uint32_t first = core.vector.Late(v.src0.address, bytes), second = core.vector.Late(v.src1.address, bytes);
    late.awaited = first > second ? first : second;
    if (late.drain > 0) {
        bytes = SpanOf(v, lanes, v.dst);
        core.vector.WroteLate(v.dst.address, bytes, core.time.Entries(Pipe::V) + 1);
    }
    core.vector.Wrote(v.dst.address, bytes);
    return chained;
}

// Levels of the tree in which an instruction reduces elements of so many bytes: neighbours, a block or a repeat.
int Levels(const Instruction& row, uint32_t bytes) {
    if (row.unit != Unit::Reduce) return 0;
    if (row.span == Span::PerPair) return 1;
    return __builtin_ctz((row.span == Span::PerBlock ? 32 : 256) / bytes);
}

void Charge(Core& core, const VectorInstruction& v, const Lanes& lanes, uint32_t widest) {
    const Machine& m = core.launch->machine;
    double repeats =
        lanes.contiguous ? static_cast<double>((lanes.total + lanes.per_repeat - 1) / lanes.per_repeat) : lanes.repeats;
    if (Row(v.op).cost == Cost::Blocks) repeats = v.repeat;
    Pace pace = PaceOf(core, v, lanes, widest, repeats);
    double cycles = repeats * pace.free;
    Lateness late{Levels(Row(v.op), widest) * m.reduce_level_cycles};
    if (Row(v.op).cost == Cost::Sequence) {
        // A software sequence: repeats into scratch, then the scratch again until one value is left.
        for (double left = repeats; left > 1; left = left / lanes.per_repeat) {
            cycles += late.drain + m.barrier_cycles + m.vector_head_cycles + pace.free * (left / lanes.per_repeat);
        }
    }
    if (v.form == Form::Count) core.time.Scalar(m.mask_sequence_cycles);
    bool chained = Chained(core, v, lanes, repeats, late);
    core.time.Vector(m, cycles, repeats * (pace.banked - pace.free), chained, late);
}

// What the form of an instruction that sets the mask leaves behind: by count, everything on; by lanes, those lanes.
void LeaveMask(Core& core, const VectorInstruction& v) {
    const Instruction& row = Row(v.op);
    if (v.use_register || row.Has(bits::KeepsMask)) return;
    if (v.form == Form::Mask && row.Has(bits::LanesKeepMask)) return;
    core.mask_counts = false;
    if (v.form == Form::Count || row.OverTensor()) {
        core.counter_mode = false;
        core.mask[0] = core.mask[1] = ~0ull;
    } else {
        core.mask[0] = core.counter_mode ? static_cast<uint64_t>(v.count) : v.mask[0];
        core.mask[1] = core.counter_mode ? 0 : v.mask[1];
    }
}

// Bits for the first `n` lanes of a repeat; more than there are means all.
void FirstLanes(uint64_t n, uint32_t per_repeat, uint64_t mask[2]) {
    if (n > per_repeat) n = per_repeat;
    mask[0] = n >= 64 ? ~0ull : (1ull << n) - 1;
    mask[1] = n <= 64 ? 0 : (n >= 128 ? ~0ull : (1ull << (n - 64)) - 1);
}

}  // namespace

void CheckLanes(Core& core, const char* name, const VectorInstruction& v, uint32_t per_repeat, const void* pc) {
    bool counted = v.counted != 0;
    if (core.counter_mode || core.launch->checker == Checker::Off || per_repeat == 0 || per_repeat > 128) return;
    char remedy[96];
    snprintf(remedy, sizeof remedy, "Use a mask of 1 to %u lanes; more elements take more repeats.", per_repeat);
    if (counted && (v.count < 1 || v.count > per_repeat)) {
        core.Violate("limit_exceeded", pc, remedy, "%s: a mask of %lld lanes; a repeat has %u", name,
                     static_cast<long long>(v.count), per_repeat);
    }
    if (counted || ((v.mask[0] | v.mask[1]) != 0 && (per_repeat > 64 || v.mask[1] == 0))) return;
    core.Violate("limit_exceeded", pc, remedy, "%s: the mask has %s; a repeat has %u lanes", name,
                 v.mask[1] != 0 ? "bits in its second word" : "no bits", per_repeat);
}

namespace {

// What a kernel's own mask register holds has to be of the mode that is on.
void CheckRegister(Core& core, const VectorInstruction& v, const void* pc) {
    if (!v.use_register || !core.mask_counts || core.counter_mode) return;
    core.Violate("mask_mode", pc, "Call SetMaskCount before instructions that take a number of elements.",
                 "%s: the mask holds a number of elements, %llu, but the mode is normal: its bits choose lanes",
                 Row(v.op).name, static_cast<unsigned long long>(core.mask[0]));
}

void TakeLanes(VectorInstruction& v, npukb::LaneSource source, uint64_t lanes, const void* pc) {
    v.form = Form::Mask;
    v.use_register = source == npukb::LaneSource::Register;
    if (v.use_register) return;
    const uint32_t widest = Widest(v), per_repeat = widest == 0 ? 0 : 256 / widest;
    if (source == npukb::LaneSource::Count) {
        v.count = static_cast<int64_t>(lanes);
        FirstLanes(lanes, per_repeat, v.mask);
    } else if (source == npukb::LaneSource::Bits) {
        __builtin_memcpy(v.mask, reinterpret_cast<const void*>(lanes), sizeof v.mask);
        v.count = static_cast<int64_t>(v.mask[0]);  // in counter mode the low word is a number of elements
    }
    v.counted = source == npukb::LaneSource::Count;
    CheckLanes(ThisCore(), Row(v.op).name, v, per_repeat, pc);
}

}  // namespace

Lanes ResolveLanes(const Core& core, const VectorInstruction& v, uint32_t widest_bytes) {
    constexpr int64_t kMost = 1 << 28;  // elements; more cannot be in UB
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
        if (lanes.total < 0 || lanes.total > kMost) lanes.total = kMost;
        lanes.repeats = static_cast<uint32_t>((lanes.total + lanes.per_repeat - 1) / lanes.per_repeat);
        return lanes;
    }
    lanes.repeats = v.repeat;
    lanes.mask[0] = v.use_register ? core.mask[0] : v.mask[0];
    lanes.mask[1] = v.use_register ? core.mask[1] : v.mask[1];
    return lanes;
}

namespace {

void Execute(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    const Instruction& row = Row(v.op);
    switch (row.unit) {
        case Unit::Elementwise: ExecuteElementwise(core, v, lanes); break;
        case Unit::Cast: ExecuteCast(core, v, lanes, pc); break;
        case Unit::Fused: ExecuteFused(core, v, lanes); break;
        case Unit::Compare: ExecuteCompare(core, v, lanes); break;
        case Unit::Select: ExecuteSelect(core, v, lanes); break;
        case Unit::Fill: ExecuteFill(v, lanes); break;
        case Unit::Reduce: ExecuteReduce(core, v, lanes); break;
    }
    if (core.vector.saturate && row.Saturates()) SaturateResults(v, lanes);
}

// Headers ask for instructions that exist; whoever calls the runtime past them may ask for anything.
void CheckKnown(Core& core, const VectorInstruction& v, const void* pc) {
    bool typed = Bytes(v.dst.dtype) != 0 && Bytes(v.src0.dtype) != 0 && Bytes(v.src1.dtype) != 0;
    const Instruction& row = Row(v.op);
    if (row.name != nullptr && typed && (v.flags & ~row.bits) == 0) return;
    core.Violate("limit_exceeded", pc, "Call the functions of kernel_operator.h.",
                 "there is no vector instruction %d on types %d, %d and %d that takes %d", static_cast<int>(v.op),
                 static_cast<int>(v.dst.dtype), static_cast<int>(v.src0.dtype), static_cast<int>(v.src1.dtype),
                 static_cast<int>(v.flags));
}

void CheckShape(Core& core, const VectorInstruction& v, const void* pc) {
    const char* name = Row(v.op).name;
    if (v.form == Form::Mask && v.repeat > 255 && !Row(v.op).OverTensor()) {
        core.Violate("limit_exceeded", pc, "Split the instruction.", "%s: repeat is %u, the limit is 255", name,
                     v.repeat);
    }
    CheckRanges(core, v, pc);
    bool scales = Row(v.op).Has(bits::VectorScales) || (v.src0.dtype == DType::I32 && v.dst.dtype == DType::F16);
    if (scales && !core.vector.deq_set) {
        core.vector.undefined = true;
        core.Warn("cast_mode", pc, "Call SetDeqScale first.",
                  "%s multiplies by the scale of SetDeqScale, which the kernel has not set; the results are undefined",
                  name);
    }
    bool shifts = Row(v.op).call == Call::SHIFT;
    uint64_t width = 8 * Bytes(v.dst.dtype);
    if (shifts && v.scalar > width) {
        core.vector.undefined = true;
        core.Warn("limit_exceeded", pc, "Shift by at most the width of the element.",
                  "%s: the shift is %lld, the documented range ends at %llu", name,
                  static_cast<long long>(static_cast<int64_t>(v.scalar << (64 - width)) >> (64 - width)),
                  static_cast<unsigned long long>(width));
    }
    if (Row(v.op).unit == Unit::Compare && v.src0.dtype == DType::I32 &&
        v.mode != static_cast<uint8_t>(AscendC::CMPMODE::EQ)) {
        core.vector.undefined = true;
        core.Warn("compare_mode", pc, "Compare int32_t for equality only, or cast to float.",
                  "%s of int32_t is documented for CMPMODE::EQ only", name);
    }
    constexpr auto kScalar = static_cast<uint8_t>(AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE);
    constexpr auto kTensor = static_cast<uint8_t>(AscendC::SELMODE::VSEL_TENSOR_TENSOR_MODE);
    if (Row(v.op).Reads(bits::Choices) && v.mode == (v.src1.address == nullptr ? kTensor : kScalar)) {
        core.vector.undefined = true;
        core.Warn("select_mode", pc,
                  "Use VSEL_TENSOR_SCALAR_MODE with a scalar and VSEL_TENSOR_TENSOR_MODE with a tensor.",
                  "%s: the mode is that of a %s, and src1 is a %s", name, v.mode == kScalar ? "scalar" : "tensor",
                  v.mode == kScalar ? "tensor" : "scalar");
    }
}

// Results that the documentation does not define hold all ones: NaN, -1, true. Nobody can rely on them unseen.
void Poison(Core& core, const VectorInstruction& v, const Lanes& lanes) {
    if (v.flags & npukb::ToRegister) core.vector.compare_mask[0] = core.vector.compare_mask[1] = ~0ull;
    if (v.flags & npukb::ToRegister || v.dst.address == nullptr) return;
    if (Row(v.op).unit == Unit::Reduce) return Undefine({"dst", v.dst.address, ReducedBytes(v, lanes)});
    const Grid grid = GridOf(v, lanes);
    auto* to = static_cast<uint8_t*>(const_cast<void*>(v.dst.address));
    for (uint32_t repeat = 0; repeat < grid.repeats; ++repeat) {
        for (uint32_t lane = 0; lane < grid.lanes; ++lane) {
            if (grid.masked && !lanes.On(repeat, lane)) continue;
            Place place = PlaceOf(v, lanes, v.dst, repeat, lane);
            __builtin_memset(to + place.offset, 0xff, place.bytes);
        }
    }
}

void Advance(Operand& o, uint32_t blocks) {
    uint32_t bytes = blocks * 32;
    o.address = static_cast<const uint8_t*>(o.address) + bytes;
    o.tensor_bytes = o.tensor_bytes > bytes ? o.tensor_bytes - bytes : 0;
}

// CountsRepeats in counter mode: unlike in other instructions repeatTime counts, and the mask is the number of elements
// of each repeat. Blocks of a repeat follow each other by the block stride however many there are, repeats by the
// repeat stride.
void RunCountedCopies(Core& core, VectorInstruction& v, uint32_t widest, const void* pc) {
    const uint32_t to = v.dst.repeat_stride, from = v.src0.repeat_stride;
    auto within = [](const Operand& o) {
        return static_cast<uint16_t>(o.block_stride < 8192 ? 8 * o.block_stride : 65535);
    };
    v.dst.repeat_stride = within(v.dst);
    v.src0.repeat_stride = within(v.src0);
    Lanes lanes = ResolveLanes(core, v, widest);
    for (uint32_t r = 0; r < v.repeat; ++r) {
        CheckOperands(core, v, lanes, pc);
        Execute(core, v, lanes, pc);
        TrackVector(core, v, lanes, pc);
        Advance(v.dst, to);
        Advance(v.src0, from);
    }
    LeaveMask(core, v);
    lanes.total *= v.repeat;
    lanes.repeats *= v.repeat;
    Charge(core, v, lanes, widest);
}

void Run(VectorInstruction& v, const void* pc) {
    Core& core = ThisCore();
    CheckKnown(core, v, pc);
    if (core.launch->chip != nullptr) core.launch->chip->Check(core, v, pc);
    uint32_t widest = Widest(v);
    core.vector.undefined = false;
    if (v.form == Form::Count) v.count = EffectiveCount(core, v, widest, pc);
    CheckShape(core, v, pc);
    CheckRegister(core, v, pc);
    if (Row(v.op).Has(bits::CountsRepeats) && v.form == Form::Mask && core.counter_mode)
        return RunCountedCopies(core, v, widest, pc);
    Lanes lanes = ResolveLanes(core, v, widest);
    CheckOperands(core, v, lanes, pc);
    Execute(core, v, lanes, pc);
    if (core.vector.undefined) Poison(core, v, lanes);
    LeaveMask(core, v);
    TrackVector(core, v, lanes, pc);
    Charge(core, v, lanes, widest);
    // The scalar unit puts a tensor's sum from the accumulator into dst: whatever it issues then comes after it.
    if (Row(v.op).span == Span::PerTensor && (lanes.contiguous || lanes.counted))
        core.time.Learn(Pipe::V, core.time.Begun(Pipe::V));
}

VectorInstruction Unpacked(uint32_t code) {
    VectorInstruction v{};
    v.op = static_cast<Op>(code & 0xff);
    v.mode = static_cast<uint8_t>(code >> npukb::kModeShift & 0xff);
    v.repeat = 1;
    return v;
}

Operand OperandOf(const npukb::BufferView* view, DType dtype, uint16_t block_stride = 1, uint16_t repeat_stride = 8) {
    if (view == nullptr) return Operand{nullptr, 0, block_stride, repeat_stride, dtype};
    return Operand{view->address, view->bytes, block_stride, repeat_stride, dtype};
}

DType DstOf(uint32_t code) { return static_cast<DType>(code >> 16 & 0xff); }
DType SrcOf(uint32_t code) { return static_cast<DType>(code >> 24); }

void TakeOperands(VectorInstruction& v, uint32_t code, const npukb::BufferView* dst, const npukb::BufferView* src0,
                  const npukb::BufferView* src1) {
    v.dst = OperandOf(dst, DstOf(code));
    v.src0 = OperandOf(src0, SrcOf(code));
    v.src1 = OperandOf(src1, SrcOf(code));
}

void TakeStrides(VectorInstruction& v, npukb::Strides strides, const void* params, const void* pc) {
    auto set = [](Operand& o, uint16_t block, uint16_t repeat) {
        o.block_stride = block;
        o.repeat_stride = repeat;
    };
    if (strides == npukb::Strides::Unary) {
        const auto p = Given<AscendC::UnaryRepeatParams>(params, pc);
        set(v.dst, p.dstBlkStride, p.dstRepStride);
        set(v.src0, p.srcBlkStride, p.srcRepStride);
        return;
    }
    const auto p = Given<AscendC::BinaryRepeatParams>(params, pc);
    set(v.dst, p.dstBlkStride, p.dstRepStride);
    set(v.src0, p.src0BlkStride, p.src0RepStride);
    set(v.src1, p.src1BlkStride, p.src1RepStride);
}

void TakeShape(VectorInstruction& v, uint32_t shape, uint32_t repeat, uint64_t lanes, const void* params,
               const void* pc) {
    v.repeat = repeat;
    v.flags = static_cast<uint8_t>(shape >> npukb::kFlagShift);
    TakeLanes(v, static_cast<npukb::LaneSource>(shape >> 16 & 3), lanes, pc);
    TakeStrides(v, static_cast<npukb::Strides>(shape >> 18 & 1), params, pc);
}

// Where the bits of Select are: in the tensor, or in the register, which in tensor mode holds the address of a tensor.
void TakeChoice(const Core& core, VectorInstruction& v, const npukb::BufferView* bits) {
    v.mask[0] = v.mask[1] = 0;
    if (bits != nullptr) {
        v.mask[0] = reinterpret_cast<uint64_t>(bits->address);
        v.mask[1] = bits->bytes;
    } else if (v.mode == static_cast<uint8_t>(AscendC::SELMODE::VSEL_TENSOR_TENSOR_MODE)) {
        // Kernels may keep 32 bits of the address only: the offset in UB is what counts.
        auto offset = static_cast<uint32_t>(core.vector.compare_mask[0] - reinterpret_cast<uint64_t>(core.ub));
        v.mask[0] = reinterpret_cast<uint64_t>(core.ub) + offset;
        v.mask[1] = offset < core.launch->machine.ub_bytes ? core.launch->machine.ub_bytes - offset : 0;
    }
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_vector(const npukb::VectorInstruction* instruction) {
    twin::VectorInstruction v = *instruction;
    const void* pc = NPUKB_PC;
    twin::CheckKnown(twin::ThisCore(), v, pc);
    if (v.form == npukb::Form::Mask && !v.use_register)
        twin::CheckLanes(twin::ThisCore(), twin::Row(v.op).name, v, 256 / twin::Widest(v), pc);
    twin::Run(v, pc);
}

void npukb_vector_count(uint32_t code, int64_t count, const npukb::BufferView* dst, const npukb::BufferView* src0,
                        const npukb::BufferView* src1, uint64_t scalar) {
    twin::VectorInstruction v = twin::Unpacked(code);
    twin::TakeOperands(v, code, dst, src0, src1);
    v.form = npukb::Form::Count;
    v.count = count;
    v.scalar = scalar;
    // Fused instructions have no mode: what calls by count ask for travels in its place.
    v.flags = static_cast<uint8_t>(twin::Row(v.op).unit == twin::Unit::Fused ? v.mode : 0);
    twin::Run(v, NPUKB_PC);
}

void npukb_vector_mask(uint32_t code, uint32_t shape, uint32_t repeat, uint64_t lanes, const npukb::BufferView* dst,
                       const npukb::BufferView* src0, const npukb::BufferView* src1, const void* params,
                       uint64_t scalar) {
    twin::VectorInstruction v = twin::Unpacked(code);
    twin::TakeOperands(v, code, dst, src0, src1);
    v.scalar = scalar;
    twin::TakeShape(v, shape, repeat, lanes, params, NPUKB_PC);
    twin::Run(v, NPUKB_PC);
}

void npukb_select(uint32_t code, uint32_t shape, uint32_t repeat, uint64_t lanes, const npukb::BufferView* dst,
                  const npukb::BufferView* bits, const npukb::BufferView* src0, const npukb::BufferView* src1,
                  const void* params, uint64_t scalar) {
    twin::Core& core = twin::ThisCore();
    twin::VectorInstruction v = twin::Unpacked(code);
    twin::TakeOperands(v, code, dst, src0, src1);
    v.scalar =
        src1 == nullptr && bits != nullptr && (shape >> npukb::kFlagShift) != 0 ? core.vector.compare_mask[0] : scalar;
    twin::TakeShape(v, shape, repeat, lanes, params, NPUKB_PC);
    uint64_t mask[2] = {v.mask[0], v.mask[1]};
    if (!v.use_register && !core.counter_mode) {
        core.mask[0] = mask[0];
        core.mask[1] = mask[1];
        core.mask_counts = false;
    }
    if (!v.use_register && core.counter_mode) core.mask[0] = static_cast<uint64_t>(v.count);
    v.use_register = 1;  // the instruction's own words say where the choices are
    twin::TakeChoice(core, v, bits);
    twin::Run(v, NPUKB_PC);
}

void npukb_select_count(uint32_t code, int64_t count, const npukb::BufferView* dst, const npukb::BufferView* bits,
                        const npukb::BufferView* src0, const npukb::BufferView* src1, uint64_t scalar) {
    twin::VectorInstruction v = twin::Unpacked(code);
    twin::TakeOperands(v, code, dst, src0, src1);
    v.form = npukb::Form::Count;
    v.count = count;
    v.scalar = scalar;
    twin::TakeChoice(twin::ThisCore(), v, bits);
    twin::Run(v, NPUKB_PC);
}

void npukb_reduce(uint32_t code, uint64_t lanes, int32_t repeat, const npukb::BufferView* dst,
                  const npukb::BufferView* src, int32_t dst_stride, int32_t block_stride, int32_t repeat_stride) {
    using namespace twin;
    VectorInstruction v = Unpacked(code);
    auto source = static_cast<npukb::LaneSource>(v.mode >> 4 & 3);
    v.flags = code >> npukb::kReduceSumShift & 1 ? npukb::ToAccumulator : 0;
    v.mode &= 3;
    TakeOperands(v, code, dst, src, nullptr);
    const int32_t wanted[] = {dst_stride, block_stride, repeat_stride};
    for (int32_t stride : wanted) {
        if (stride >= 0 && stride <= 65535) continue;
        ThisCore().Violate("limit_exceeded", NPUKB_PC, "Keep strides between 0 and 65535.",
                           "%s: a stride is %d, the documented range ends at 65535", Row(v.op).name, stride);
    }
    v.dst.repeat_stride = static_cast<uint16_t>(dst_stride);
    v.src0.block_stride = static_cast<uint16_t>(block_stride);
    v.src0.repeat_stride = static_cast<uint16_t>(repeat_stride);
    v.repeat = static_cast<uint32_t>(repeat);
    TakeLanes(v, source, lanes, NPUKB_PC);
    Run(v, NPUKB_PC);
}

void npukb_reduce_tensor(uint32_t code, uint64_t lanes, int32_t repeat, const npukb::BufferView* dst,
                         const npukb::BufferView* src, const npukb::BufferView* tmp, int32_t repeat_stride) {
    using namespace twin;
    VectorInstruction v = Unpacked(code);
    auto source = static_cast<npukb::LaneSource>(v.mode >> 4 & 3);
    v.mode &= 3;
    TakeOperands(v, code, dst, src, tmp);
    v.src0.repeat_stride = static_cast<uint16_t>(repeat_stride);
    if (repeat < 0 || repeat_stride < 0 || repeat_stride > 65535) {
        ThisCore().Violate("limit_exceeded", NPUKB_PC, "Keep strides between 0 and 65535 and repeats positive.",
                           "%s: repeat is %d and srcRepStride %d", Row(v.op).name, repeat, repeat_stride);
    }
    v.repeat = static_cast<uint32_t>(repeat);
    TakeLanes(v, source, lanes, NPUKB_PC);
    Run(v, NPUKB_PC);
}
}
