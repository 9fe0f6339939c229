// Sharing of memory between operands, once for all functions.
#include "semantics/overlap.h"

#include "semantics/instruction.h"

namespace twin {
namespace {

using npukb::DType;

// The functions that may add to their second source, one repeat after the other: dst and src1 stay where they are.
bool Accumulates(const VectorInstruction& v, const Operand& src) {
    bool typed = v.dst.dtype == DType::F16 || v.dst.dtype == DType::I32 || v.dst.dtype == DType::F32;
    return Row(v.op).Has(bits::Accumulates) && typed && &src == &v.src1 &&
           (src.repeat_stride == 0 || v.dst.repeat_stride == 0);
}

// Repeats of an operand without gaps inside of them.
struct Line {
    int64_t begin;
    int64_t bytes;
    int64_t stride;
};

Line LineOf(const Operand& o, uint32_t top) {
    auto bytes = static_cast<int64_t>(top) * Bytes(o.dtype);
    if (o.block_stride == 0 && bytes > 32) bytes = 32;
    return {reinterpret_cast<int64_t>(o.address), bytes, static_cast<int64_t>(o.repeat_stride) * 32};
}

bool Meet(const Line& d, int64_t earlier, const Line& s, int64_t later) {
    int64_t apart = d.begin + earlier * d.stride - s.begin - later * s.stride;
    return apart < s.bytes && -apart < d.bytes;
}

bool AnyLaterMeets(const Line& d, const Line& s, int64_t repeats) {
    if (d.stride == s.stride) {  // only the distance of the repeats matters
        for (int64_t later = 1; later < repeats; ++later) {
            if (Meet(d, 0, s, later)) return true;
        }
        return false;
    }
    for (int64_t later = 1; later < repeats; ++later) {
        for (int64_t earlier = 0; earlier < later; ++earlier) {
            if (Meet(d, earlier, s, later)) return true;
            if (d.stride == 0) break;
        }
    }
    return false;
}

// Bytes of a result of one repeat, and how far apart those of repeats lie; no bytes where the result is one for all.
Line ReducedLine(const VectorInstruction& v) {
    const int64_t bytes = Bytes(v.dst.dtype), stride = v.dst.repeat_stride;
    const auto begin = reinterpret_cast<int64_t>(v.dst.address);
    switch (Row(v.op).span) {
        case Span::PerBlock: return {begin, 8 * bytes, 8 * bytes * stride};
        case Span::PerPair: return {begin, 128, 128 * stride};
        case Span::PerRepeat: return {begin, v.flags & npukb::ToAccumulator ? 0 : bytes, bytes * stride};
        case Span::RepeatExtreme: return {begin, bytes, bytes * stride};
        default: return {begin, 0, 0};
    }
}

}  // namespace

bool Clashes(Core& core, const char* name, const Stretch& dst, const Stretch& src, bool same, const void* pc) {
    if (!dst.Meets(src) || (same && dst.address == src.address)) return false;
    core.Warn("overlap", pc, "Give dst memory of its own.",
              "%s: dst and %s overlap (UB offsets %u and %u); the result is undefined on the device", name, src.role,
              core.UbOffset(dst.address), core.UbOffset(src.address));
    return true;
}

void Undefine(const Stretch& dst) { __builtin_memset(const_cast<void*>(dst.address), 0xff, dst.bytes); }

bool ReadsResults(Core& core, const VectorInstruction& v, const Lanes& lanes, const Operand& src, const char* role,
                  const void* pc) {
    if (lanes.contiguous || lanes.repeats < 2 || v.dst.block_stride > 1 || src.block_stride > 1) return false;
    const uint32_t top = lanes.counted ? lanes.per_repeat : lanes.Top();
    const Line d = LineOf(v.dst, top), s = LineOf(src, top);
    const int64_t last = lanes.repeats - 1;
    bool reach = d.begin < s.begin + last * s.stride + s.bytes && s.begin < d.begin + last * d.stride + d.bytes;
    bool in_place = d.begin == s.begin && d.stride == s.stride && d.stride >= d.bytes && s.bytes == d.bytes;
    if (!reach || in_place || Accumulates(v, src) || !AnyLaterMeets(d, s, lanes.repeats)) return false;
    core.Warn("overlap", pc, "Give the result memory of its own, or let every repeat read what none has written.",
              "%s: a repeat reads from %s what an earlier one has written to dst (UB offsets %u and %u); the result is "
              "undefined on the device",
              Row(v.op).name, role, core.UbOffset(src.address), core.UbOffset(v.dst.address));
    return true;
}

bool ReadsReduced(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    if (lanes.contiguous || lanes.repeats < 2) return false;
    const Line d = ReducedLine(v), s = LineOf(v.src0, lanes.counted ? lanes.per_repeat : lanes.Top());
    // Results that lie closer together than the sources, and begin no later, fall behind them.
    if (d.bytes == 0 || s.stride == 0 || (d.begin <= s.begin && d.stride <= s.stride && d.bytes <= s.stride))
        return false;
    const int64_t last = lanes.repeats - 1;
    if (d.begin >= s.begin + last * s.stride + s.bytes || s.begin >= d.begin + last * d.stride + d.bytes) return false;
    for (int64_t earlier = 0; earlier < last; ++earlier) {
        int64_t ahead = (d.begin + earlier * d.stride - s.begin) / s.stride;  // the repeat that reads there
        for (int64_t later = ahead; later <= ahead + 1; ++later) {
            if (later <= earlier || later > last || !Meet(d, earlier, s, later)) continue;
            core.Warn("overlap", pc, "Give the result memory of its own, or let it begin where the source does.",
                      "%s: a repeat reads from src what an earlier one has written to dst (UB offsets %u and %u); the "
                      "result is undefined on the device",
                      Row(v.op).name, core.UbOffset(v.src0.address), core.UbOffset(v.dst.address));
            return true;
        }
    }
    return false;
}

}  // namespace twin
