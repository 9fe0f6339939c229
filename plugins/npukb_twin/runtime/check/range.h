// Memory that an instruction touches: pieces of equal length at equal distances.
#pragma once
#include <stdint.h>

namespace twin {

struct Range {
    uint64_t begin;  // an address, or an offset in UB
    uint64_t bytes;  // of one piece
    uint64_t stride;
    uint32_t count;

    uint64_t End() const { return count == 0 ? begin : begin + (count - 1) * stride + bytes; }
    bool Empty() const { return count == 0 || bytes == 0; }
};

// A range without gaps.
inline Range Whole(uint64_t begin, uint64_t bytes) { return {begin, bytes, bytes, 1}; }

// Whether a piece [begin, end) meets any piece of `r`.
inline bool Meets(const Range& r, uint64_t begin, uint64_t end) {
    if (end <= r.begin || begin >= r.End()) return false;
    if (r.count == 1 || r.stride <= r.bytes) return true;
    uint64_t first = begin < r.begin ? 0 : (begin - r.begin) / r.stride;
    uint64_t at = r.begin + first * r.stride;
    if (begin < at + r.bytes) return true;
    return first + 1 < r.count && end > at + r.stride;
}

// Whether two ranges share a byte; `from` and `to` are then the first such bytes.
inline bool Overlap(const Range& a, const Range& b, uint64_t* from, uint64_t* to) {
    if (a.Empty() || b.Empty() || a.End() <= b.begin || b.End() <= a.begin) return false;
    const Range& few = a.count <= b.count ? a : b;
    const Range& many = a.count <= b.count ? b : a;
    for (uint32_t i = 0; i < few.count; ++i) {
        uint64_t begin = few.begin + i * few.stride, end = begin + few.bytes;
        if (begin >= many.End()) break;
        if (!Meets(many, begin, end)) continue;
        uint64_t k =
            begin <= many.begin || many.count == 1 || many.stride == 0 ? 0 : (begin - many.begin) / many.stride;
        if (k >= many.count) k = many.count - 1;
        if (many.begin + k * many.stride + many.bytes <= begin && k + 1 < many.count) ++k;
        uint64_t other = many.begin + k * many.stride;
        *from = begin > other ? begin : other;
        *to = end < other + many.bytes ? end : other + many.bytes;
        return true;
    }
    return false;
}

}  // namespace twin
