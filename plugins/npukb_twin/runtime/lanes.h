// Which elements a vector instruction touches, and where they lie.
#pragma once
#include "core.h"

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
    bool Full() const {
        if (counted) return total == static_cast<int64_t>(repeats) * per_repeat;
        return per_repeat <= 64 ? (mask[0] == (per_repeat == 64 ? ~0ull : (1ull << per_repeat) - 1) || mask[0] == ~0ull)
                                : (mask[0] == ~0ull && mask[1] == ~0ull);
    }
};

Lanes ResolveLanes(const Core& core, const VectorInstruction& v, uint32_t widest_bytes);

// Byte offset of an element of an operand in mask form.
inline uint64_t ElementOffset(const Operand& o, uint32_t repeat, uint32_t lane, uint32_t bytes) {
    uint32_t per_block = 32 / bytes;
    return (static_cast<uint64_t>(repeat) * o.repeat_stride + static_cast<uint64_t>(lane / per_block) * o.block_stride) * 32 +
           (lane % per_block) * bytes;
}

// Whether the operand's repeats follow each other without gaps, so that the instruction is one contiguous run.
inline bool UnitStride(const Operand& o, uint32_t per_repeat, uint32_t bytes) {
    return o.address == nullptr || (o.block_stride == 1 && o.repeat_stride * 32u == per_repeat * bytes);
}

// Calls f(dst, src0, src1) for every lane that is on. Elements of contiguous runs go through one vectorisable loop.
// D, A and B are the storage types; absent operands are passed as references to a dummy.
template <typename D, typename A, typename B, typename F>
void ForEachLane(const VectorInstruction& v, const Lanes& lanes, F f) {
    auto* d = static_cast<D*>(const_cast<void*>(v.dst.address));
    auto* a = static_cast<const A*>(v.src0.address != nullptr ? v.src0.address : v.dst.address);
    auto* b = static_cast<const B*>(v.src1.address != nullptr ? v.src1.address : static_cast<const void*>(a));
    bool run = lanes.contiguous;
    if (!run && lanes.Full()) {
        run = UnitStride(v.dst, lanes.per_repeat, sizeof(D)) && UnitStride(v.src0, lanes.per_repeat, sizeof(A)) &&
              UnitStride(v.src1, lanes.per_repeat, sizeof(B));
    }
    if (run) {
        int64_t n = lanes.contiguous ? lanes.total : static_cast<int64_t>(lanes.repeats) * lanes.per_repeat;
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
        for (int64_t i = 0; i < n; ++i) f(d[i], a[i], b[i]);
        return;
    }
    auto* db = reinterpret_cast<uint8_t*>(d);
    auto* ab = reinterpret_cast<const uint8_t*>(a);
    auto* bb = reinterpret_cast<const uint8_t*>(b);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        for (uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
            if (!lanes.On(r, lane)) continue;
            f(*reinterpret_cast<D*>(db + ElementOffset(v.dst, r, lane, sizeof(D))),
              *reinterpret_cast<const A*>(ab + ElementOffset(v.src0, r, lane, sizeof(A))),
              *reinterpret_cast<const B*>(bb + ElementOffset(v.src1, r, lane, sizeof(B))));
        }
    }
}

// The executing half of each instruction family. Operands have been checked.
void ExecuteElementwise(const VectorInstruction& v, const Lanes& lanes);
void ExecuteCast(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc);
void ExecuteCompare(const VectorInstruction& v, const Lanes& lanes);
void ExecuteSelect(const VectorInstruction& v, const Lanes& lanes);
void ExecuteReduce(const VectorInstruction& v, const Lanes& lanes);
void ExecuteFill(const VectorInstruction& v, const Lanes& lanes);

}  // namespace twin
