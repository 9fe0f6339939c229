// Which elements a vector instruction touches, and where they lie.
#pragma once
#include "cores/core.h"

namespace twin {

using npukb::Operand;
using npukb::VectorInstruction;

inline uint32_t Bytes(npukb::DType dtype) { return npukb::kDTypeBytes[static_cast<int>(dtype)]; }

// Lanes of one instruction, after mask register and counter mode have been looked at.
struct Lanes {
    bool contiguous;      // count form: `total` elements one after the other
    int64_t total;        // count form, or counter mode: elements over all repeats
    bool counted;         // repeats are cut off after `total` elements
    uint32_t per_repeat;  // elements of one 256-byte repeat, by the widest operand
    uint32_t repeats;
    uint64_t mask[2];

    bool On(uint32_t repeat, uint32_t lane) const {
        if (counted) return static_cast<int64_t>(repeat) * per_repeat + lane < total;
        return (mask[lane >> 6] >> (lane & 63)) & 1;
    }
    // One past the highest lane that is on in the last repeat; 0 when no lane is.
    uint32_t Top() const {
        if (counted) {
            int64_t rest = total - static_cast<int64_t>(repeats ? repeats - 1 : 0) * per_repeat;
            return static_cast<uint32_t>(repeats > 1 ? per_repeat : rest);
        }
        for (uint32_t lane = per_repeat; lane > 0; --lane) {
            if ((mask[(lane - 1) >> 6] >> ((lane - 1) & 63)) & 1) return lane;
        }
        return 0;
    }
    // One past the highest lane that is on in one repeat.
    uint32_t TopOf(uint32_t repeat) const { return counted ? Leading(repeat) : Top(); }
    // Lanes that are on when they are the first ones of the repeat; otherwise more than there are.
    uint32_t Leading(uint32_t repeat) const {
        if (counted) {
            int64_t rest = total - static_cast<int64_t>(repeat) * per_repeat;
            return rest >= per_repeat ? per_repeat : (rest < 0 ? 0 : static_cast<uint32_t>(rest));
        }
        uint32_t n = 0;
        while (n < per_repeat && ((mask[n >> 6] >> (n & 63)) & 1)) ++n;
        return n == Top() ? n : ~0u;
    }
    // The whole instruction is elements one after the other, operands permitting; how many.
    bool Unbroken(int64_t* n) const {
        if (contiguous || counted) return *n = total, true;
        *n = static_cast<int64_t>(repeats) * per_repeat;
        return repeats == 0 || Leading(0) == per_repeat;
    }
};

Lanes ResolveLanes(const Core& core, const VectorInstruction& v, uint32_t widest_bytes);
// Refuses a mask of its own that has no lanes of a repeat, or more than there are.
void CheckLanes(Core& core, const char* name, const VectorInstruction& v, uint32_t per_repeat, const void* pc);

// Byte offset of an element of an operand in mask form.
inline uint64_t ElementOffset(const Operand& o, uint32_t repeat, uint32_t lane, uint32_t bytes) {
    uint32_t per_block = 32 / bytes;
    return (static_cast<uint64_t>(repeat) * o.repeat_stride +
            static_cast<uint64_t>(lane / per_block) * o.block_stride) *
               32 +
           (lane % per_block) * bytes;
}

// Whether the operand's repeats follow each other without gaps, so that the instruction is one contiguous run.
inline bool UnitStride(const Operand& o, uint32_t per_repeat, uint32_t bytes) {
    return o.address == nullptr || (o.block_stride == 1 && o.repeat_stride * 32u == per_repeat * bytes);
}

// Sizes of the elements of an instruction's operands.
struct Widths {
    uint32_t dst;
    uint32_t src0;
    uint32_t src1;
};

// Works on `n` elements that lie one after the other in each operand.
using SpanFunction = void (*)(const void* function, void* dst, const void* src0, const void* src1, int64_t n);

// Cuts an instruction into spans of consecutive elements, in the order of the hardware, and calls `span` for each.
// Absent operands are passed as copies of the one before. Where operands overlap so that the order matters, a repeat
// reads all its sources before it writes.
void RunSpans(const VectorInstruction& v, const Lanes& lanes, Widths widths, SpanFunction span, const void* function);

// Calls f(dst, src0, src1) for every lane that is on. D, A and B are the storage types.
template <typename D, typename A, typename B, typename F>
void ForEachLane(const VectorInstruction& v, const Lanes& lanes, F f) {
    struct Loop {
        static void Span(const void* function, void* dst, const void* src0, const void* src1, int64_t n) {
            F each = *static_cast<const F*>(function);
            auto* d = static_cast<D*>(dst);
            auto* a = static_cast<const A*>(src0);
            auto* b = static_cast<const B*>(src1);
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
            for (int64_t i = 0; i < n; ++i) each(d[i], a[i], b[i]);
        }
    };
    RunSpans(v, lanes, {sizeof(D), sizeof(A), sizeof(B)}, Loop::Span, &f);
}

// Calls f(dst, src0, src1, n) for every span of elements that lie one after the other.
template <typename D, typename A, typename B, typename F>
void ForEachSpan(const VectorInstruction& v, const Lanes& lanes, F f) {
    auto span = [](const void* function, void* dst, const void* src0, const void* src1, int64_t n) {
        (*static_cast<const F*>(function))(dst, src0, src1, n);
    };
    RunSpans(v, lanes, {sizeof(D), sizeof(A), sizeof(B)}, span, &f);
}

// Calls f(dst, src) for `n` elements, with src as a float. Widening halves piece by piece keeps compilers from
// comparing and rounding them as such, for which most hosts have no vector instructions.
template <typename D, typename A, typename F>
void SpanWidened(const F* function, void* dst, const void* src, int64_t n) {
    constexpr int64_t kPiece = 512;
    F each = *function;
    float wide[kPiece];
    for (int64_t first = 0; first < n; first += kPiece) {
        int64_t m = n - first < kPiece ? n - first : kPiece;
        auto* d = static_cast<D*>(dst) + first;
        auto* a = static_cast<const A*>(src) + first;
        for (int64_t i = 0; i < m; ++i) wide[i] = static_cast<float>(a[i]);
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
        for (int64_t i = 0; i < m; ++i) each(d[i], wide[i]);
    }
}
template <typename D, typename A, typename F>
void ForEachWidened(const VectorInstruction& v, const Lanes& lanes, F f) {
    ForEachSpan<D, A, A>(v, lanes,
                         [&f](void* d, const void* a, const void*, int64_t n) { SpanWidened<D, A>(&f, d, a, n); });
}

// The executing half of each instruction family. Operands have been checked.
void ExecuteElementwise(const Core& core, const VectorInstruction& v, const Lanes& lanes);
void ExecuteCast(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc);
void ExecuteCompare(Core& core, const VectorInstruction& v, const Lanes& lanes);
void ExecuteSelect(const Core& core, const VectorInstruction& v, const Lanes& lanes);
void ExecuteReduce(Core& core, const VectorInstruction& v, const Lanes& lanes);
void ExecuteFill(const VectorInstruction& v, const Lanes& lanes);
// Instructions that compute and convert in one: AddReluCast and kin.
void ExecuteFused(const Core& core, const VectorInstruction& v, const Lanes& lanes);
// What saturating mode makes of the results: no infinities, no NaN.
void SaturateResults(const VectorInstruction& v, const Lanes& lanes);

}  // namespace twin
