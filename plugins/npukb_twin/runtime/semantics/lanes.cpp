// Cuts instructions into spans: consecutive repeats become one where operands have no gaps, and a copy of the sources
// is made only where a write could reach them.
#include "semantics/lanes.h"

#include <string.h>

namespace twin {
namespace {

constexpr uint32_t kMostLanes = 256;

struct Run {
    VectorInstruction v;
    Widths widths;
    SpanFunction span;
    const void* function;
    uint8_t* dst;
    const uint8_t* src0;
    const uint8_t* src1;
};

// Whether writing element after element overwrites source elements before they are read.
bool Clobbers(const uint8_t* d, uint32_t d_bytes, const uint8_t* s, uint32_t s_bytes, int64_t n) {
    if (s + s_bytes * n <= d || d + d_bytes * n <= s) return false;
    return d > s || d + d_bytes * n > s + s_bytes * n;
}

void Direct(const Run& r, uint64_t d, uint64_t a, uint64_t b, int64_t n) {
    r.span(r.function, r.dst + d, r.src0 + a, r.src1 + b, n);
}

// At most one repeat: its sources are read before anything is written.
void Buffered(const Run& r, uint64_t d, uint64_t a, uint64_t b, int64_t n) {
    uint8_t left[kMostLanes * 8];
    uint8_t right[kMostLanes * 8];
    memcpy(left, r.src0 + a, static_cast<size_t>(n) * r.widths.src0);
    memcpy(right, r.src1 + b, static_cast<size_t>(n) * r.widths.src1);
    r.span(r.function, r.dst + d, left, right, n);
}

void Span(const Run& r, uint64_t d, uint64_t a, uint64_t b, int64_t n, uint32_t per_repeat) {
    if (!Clobbers(r.dst + d, r.widths.dst, r.src0 + a, r.widths.src0, n) &&
        !Clobbers(r.dst + d, r.widths.dst, r.src1 + b, r.widths.src1, n)) {
        return Direct(r, d, a, b, n);
    }
    for (int64_t i = 0; i < n; i += per_repeat) {
        auto at = static_cast<uint64_t>(i);
        int64_t m = n - i < per_repeat ? n - i : per_repeat;
        Buffered(r, d + at * r.widths.dst, a + at * r.widths.src0, b + at * r.widths.src1, m);
    }
}

// Lanes [from, to) of a repeat, none of which crosses a block in any operand.
void Piece(const Run& r, uint32_t repeat, uint32_t from, uint32_t to) {
    Span(r, ElementOffset(r.v.dst, repeat, from, r.widths.dst), ElementOffset(r.v.src0, repeat, from, r.widths.src0),
         ElementOffset(r.v.src1, repeat, from, r.widths.src1), to - from, kMostLanes);
}

bool UnitBlocks(const Operand& o) { return o.address == nullptr || o.block_stride == 1; }

}  // namespace

void RunSpans(const VectorInstruction& v, const Lanes& lanes, Widths widths, SpanFunction span, const void* function) {
    Run run{v, widths, span, function, nullptr, nullptr, nullptr};
    if (v.src0.address == nullptr) run.v.src0 = v.dst;
    if (v.src1.address == nullptr) run.v.src1 = run.v.src0;
    run.dst = static_cast<uint8_t*>(const_cast<void*>(v.dst.address));
    run.src0 = static_cast<const uint8_t*>(run.v.src0.address);
    run.src1 = static_cast<const uint8_t*>(run.v.src1.address);
    int64_t n;
    if (lanes.Unbroken(&n) && (lanes.contiguous || (UnitStride(v.dst, lanes.per_repeat, widths.dst) &&
                                                    UnitStride(v.src0, lanes.per_repeat, widths.src0) &&
                                                    UnitStride(v.src1, lanes.per_repeat, widths.src1)))) {
        if (n > 0) Span(run, 0, 0, 0, n, lanes.per_repeat);
        return;
    }
    bool unit = UnitBlocks(v.dst) && UnitBlocks(v.src0) && UnitBlocks(v.src1);
    uint32_t widest = widths.dst > widths.src0 ? widths.dst : widths.src0;
    uint32_t block = 32 / (widest > widths.src1 ? widest : widths.src1);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        uint32_t leading = lanes.Leading(r);
        if (unit && leading <= lanes.per_repeat) {
            if (leading > 0) Piece(run, r, 0, leading);
            continue;
        }
        for (uint32_t first = 0; first < lanes.per_repeat; first += block) {
            uint32_t end = first + block < lanes.per_repeat ? first + block : lanes.per_repeat;
            for (uint32_t lane = first; lane < end;) {
                if (!lanes.On(r, lane)) {
                    ++lane;
                    continue;
                }
                uint32_t stop = lane + 1;
                while (stop < end && lanes.On(r, stop)) ++stop;
                Piece(run, r, lane, stop);
                lane = stop;
            }
        }
    }
}

}  // namespace twin
