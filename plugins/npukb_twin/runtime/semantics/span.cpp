// The span rules of instructions.def, one function per question.
#include "semantics/span.h"

#include "semantics/reduce.h"

namespace twin {
namespace {

using npukb::DType;

// A block of int4b_t holds two lanes a byte.
constexpr uint32_t kNibbles = 64;

bool HalfBlocks(const VectorInstruction& v, const Operand& o) {
    return &o == &v.dst && Row(v.op).span == Span::HalfBlocks && Bytes(o.dtype) == 1;
}

uint64_t PackedBytes(const VectorInstruction& v, const Lanes& lanes, const Operand& o) {
    uint64_t repeats = lanes.contiguous ? static_cast<uint64_t>(lanes.total / lanes.per_repeat) : v.repeat;
    if (&o == &v.dst) return v.flags & npukb::ToRegister ? 0 : repeats * lanes.per_repeat / 8;
    if (lanes.contiguous) return static_cast<uint64_t>(lanes.total) * Bytes(o.dtype);
    return repeats == 0 ? 0 : ((repeats - 1) * o.repeat_stride + 7u * o.block_stride + 1) * 32;
}

uint64_t BlocksBytes(const VectorInstruction& v, const Operand& o) {
    if (&o != &v.dst) return static_cast<uint64_t>(v.repeat) * 8 * Bytes(o.dtype);
    return v.repeat == 0 ? 0 : (static_cast<uint64_t>(v.repeat - 1) * o.repeat_stride + 7u * o.block_stride + 1) * 32;
}

}  // namespace

Place PlaceOf(const VectorInstruction& v, const Lanes& lanes, const Operand& o, uint32_t repeat, uint32_t lane) {
    uint32_t bytes = Bytes(o.dtype);
    Span span = Row(v.op).span;
    auto strided = [&](uint32_t blocks) {
        return (static_cast<uint64_t>(repeat) * o.repeat_stride + static_cast<uint64_t>(blocks) * o.block_stride) * 32;
    };
    if (span == Span::Packed && &o == &v.dst) return {(static_cast<uint64_t>(repeat) * lanes.per_repeat + lane) / 8, 1};
    if (span == Span::Blocks) {
        if (&o == &v.dst) return {strided(lane), 32};
        return {(static_cast<uint64_t>(repeat) * 8 + lane) * bytes, bytes};
    }
    if (HalfBlocks(v, o)) return {strided(lane / 16) + (v.flags & npukb::UpperHalf ? 16 : 0) + lane % 16, 1};
    if (o.dtype == DType::I4) return {lanes.contiguous ? lane / 2 : strided(lane / kNibbles) + lane % kNibbles / 2, 1};
    if (lanes.contiguous) return {(static_cast<uint64_t>(repeat) * lanes.per_repeat + lane) * bytes, bytes};
    return {ElementOffset(o, repeat, lane, bytes), bytes};
}

Grid GridOf(const VectorInstruction& v, const Lanes& lanes) {
    Span span = Row(v.op).span;
    if (span == Span::Blocks) return {v.repeat, 8, false};
    if (span == Span::Packed) {
        auto repeats = lanes.contiguous ? static_cast<uint32_t>(lanes.total / lanes.per_repeat) : v.repeat;
        return {repeats, lanes.per_repeat, false};
    }
    if (lanes.contiguous) return {1, static_cast<uint32_t>(lanes.total), false};
    return {lanes.repeats, lanes.per_repeat, true};
}

uint32_t LanesTogether(const VectorInstruction& v) {
    const Instruction& row = Row(v.op);
    if (v.dst.dtype == DType::I4 || v.src0.dtype == DType::I4) return 0;
    if (row.span == Span::HalfBlocks) return Bytes(v.dst.dtype) == 1 ? 16 : 32 / Bytes(v.src0.dtype);
    if (row.span != Span::Lanes) return 0;
    uint32_t widest = Bytes(v.dst.dtype), src0 = Bytes(v.src0.dtype), src1 = Bytes(v.src1.dtype);
    if (v.src0.address != nullptr && src0 > widest) widest = src0;
    if (v.src1.address != nullptr && src1 > widest) widest = src1;
    return 32 / widest;
}

uint64_t SpanOf(const VectorInstruction& v, const Lanes& lanes, const Operand& o) {
    const Instruction& row = Row(v.op);
    if (row.unit == Unit::Reduce && &o == &v.dst) return ReducedBytes(v, lanes);
    if (row.span == Span::Packed) return PackedBytes(v, lanes, o);
    if (row.span == Span::Blocks) return BlocksBytes(v, o);
    bool plain = !HalfBlocks(v, o) && o.dtype != DType::I4;
    if (lanes.contiguous && plain) return static_cast<uint64_t>(lanes.total) * Bytes(o.dtype);
    uint32_t top = lanes.contiguous ? static_cast<uint32_t>(lanes.total) : lanes.Top();
    if (top == 0 || (!lanes.contiguous && lanes.repeats == 0)) return 0;
    auto end = [&](uint32_t repeat, uint32_t lanes_on) -> uint64_t {
        Place last = PlaceOf(v, lanes, o, repeat, lanes_on - 1);
        return last.offset + last.bytes;
    };
    if (lanes.contiguous) return end(0, top);
    // In counter mode the last repeat may be a part; where repeats lie close together, the one before reaches further.
    uint32_t last = lanes.repeats - 1;
    uint64_t furthest = end(last, lanes.TopOf(last));
    uint64_t before = last > 0 ? end(last - 1, lanes.TopOf(last - 1)) : 0;
    return furthest > before ? furthest : before;
}

uint64_t ChoiceBytes(const VectorInstruction& v, const Lanes& lanes) {
    uint64_t all =
        lanes.contiguous ? static_cast<uint64_t>(lanes.total) : static_cast<uint64_t>(lanes.repeats) * lanes.per_repeat;
    bool every_repeat = v.mode == 0;  // one repeat's bits serve all repeats
    return ((every_repeat && all > lanes.per_repeat ? lanes.per_repeat : all) + 7) / 8;
}

}  // namespace twin
