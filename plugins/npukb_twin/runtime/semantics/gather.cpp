// Gather, Gatherb and GatherMask.
#include <string.h>

#include "../../include/twin/gather.h"
#include "check/raw_access.h"
#include "semantics/moves.h"

namespace twin {
namespace {

constexpr uint32_t kMaxStride = 4095;

uint32_t Offset(Core& core, const MoveRow& move, const void* offsets, uint64_t index, const void* pc) {
    const uint8_t* at = static_cast<const uint8_t*>(offsets) + 4 * index;
    uint32_t offset;
    memcpy(&offset, at, sizeof offset);
    Decide(core, move, Slot::Src1, at, sizeof offset, pc);
    return offset;
}

// Where an offset of Gather or Gatherb leads to: `bytes` bytes that must lie in UB, at a multiple of `bytes`.
const uint8_t* Source(Core& core, const MoveRow& move, const void* src, uint64_t offset, uint32_t bytes,
                      const void* pc) {
    const char* name = move.name;
    uint64_t at = core.UbOffset(src) + offset;
    if (at + bytes > core.launch->machine.ub_bytes) {
        core.Violate("out_of_bounds", pc, "Offsets are bytes from the start of src; keep them inside of it.",
                     "%s: an offset leads to byte %llu of UB, which has %u bytes", name,
                     static_cast<unsigned long long>(at), core.launch->machine.ub_bytes);
    }
    if (at % bytes != 0) {
        core.Violate("misaligned", pc, "Offsets are bytes: multiply indices by the size of what is gathered.",
                     "%s: an offset leads to byte %llu of UB, which is not a multiple of %u", name,
                     static_cast<unsigned long long>(at), bytes);
    }
    return core.ub + at;
}

void CheckSource(Core& core, const MoveRow& move, const npukb::BufferView& src, const void* pc) {
    CheckMove(core, move, Slot::Src0, src.address, 1, src.bytes, pc);
}

// What an instruction read. A result that begins elsewhere in it is undefined; both may begin at the same place,
// because kernels that were verified on a device spread out a tensor in place.
class Reach {
  public:
    const uint8_t* Note(const uint8_t* from, uint32_t bytes) {
        if (begin_ == nullptr || from < begin_) begin_ = from;
        if (from + bytes > end_) end_ = from + bytes;
        return from;
    }
    void Settle(Core& core, const MoveRow& move, const Stretch& dst, const void* src, const void* pc) const {
        Stretch read{move.At(Slot::Src0).role, begin_, static_cast<uint64_t>(end_ - begin_)};
        if (dst.address != src && Clashes(core, move.name, dst, read, false, pc)) Undefine(dst);
    }

  private:
    const uint8_t* begin_ = nullptr;
    const uint8_t* end_ = nullptr;
};

void Charge(Core& core, double repeats, double cycles_per_repeat) {
    const Machine& m = core.launch->machine;
    core.time.Vector(m, repeats * cycles_per_repeat, 0, false);
}

// Bits of GatherMask's built-in patterns, repeated over a word.
constexpr uint32_t kPatterns[] = {0,           0x55555555u, 0xaaaaaaaau, 0x11111111u,
                                  0x22222222u, 0x44444444u, 0x88888888u, 0xffffffffu};

}  // namespace
}  // namespace twin

extern "C" {

void npukb_gather_count(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* src,
                        const npukb::BufferView* offsets, uint32_t base, int64_t count) {
    using namespace twin;
    const Pinned pinned[] = {dst, src, offsets};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    auto n = static_cast<uint64_t>(count);
    CheckMove(core, moves::Gather, Slot::Dst, dst->address, n * element_bytes, dst->bytes, pc);
    CheckMove(core, moves::Gather, Slot::Src1, offsets->address, n * 4, offsets->bytes, pc);
    CheckSource(core, moves::Gather, *src, pc);
    auto* to = static_cast<uint8_t*>(dst->address);
    Reach read;
    for (uint64_t i = 0; i < n; ++i) {
        uint64_t offset = static_cast<uint64_t>(base) + Offset(core, moves::Gather, offsets->address, i, pc);
        const uint8_t* from = Source(core, moves::Gather, src->address, offset, element_bytes, pc);
        Follow(core, to + i * element_bytes, from, element_bytes);
        memcpy(to + i * element_bytes, read.Note(from, element_bytes), element_bytes);
    }
    read.Settle(core, moves::Gather, {"dst", to, n * element_bytes}, src->address, pc);
    Charge(core, 1, static_cast<double>(count) / moves::Gather.Rate(element_bytes));
}

void npukb_gather_lanes(const npukb::VectorInstruction* lanes_of, uint32_t base) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const VectorInstruction v = *lanes_of;
    uint32_t bytes = Bytes(v.dst.dtype);
    CheckLanes(core, "Gather", v, bytes == 0 ? 0 : 256 / bytes, pc);
    Lanes lanes = ResolveLanes(core, v, bytes);
    if (v.dst.repeat_stride > kMaxStride) {
        core.Violate("limit_exceeded", pc, "Split the instruction.", "Gather: dstRepStride is %u, the limit is %u",
                     v.dst.repeat_stride, kMaxStride);
    }
    uint32_t top = lanes.Top();
    uint64_t span = 0;
    Reach read;
    if (lanes.repeats > 0 && top > 0) {
        span = ElementOffset(v.dst, lanes.repeats - 1, top - 1, bytes) + bytes;
        uint64_t last = static_cast<uint64_t>(lanes.repeats - 1) * lanes.per_repeat + top;
        CheckMove(core, moves::Gather, Slot::Dst, v.dst.address, span, v.dst.tensor_bytes, pc);
        CheckMove(core, moves::Gather, Slot::Src1, v.src1.address, last * 4, v.src1.tensor_bytes, pc);
        CheckSource(core, moves::Gather, {const_cast<void*>(v.src0.address), v.src0.tensor_bytes, 0, 0}, pc);
    }
    auto* to = static_cast<uint8_t*>(const_cast<void*>(v.dst.address));
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        for (uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
            if (!lanes.On(r, lane)) continue;
            uint64_t number = static_cast<uint64_t>(r) * lanes.per_repeat + lane;
            uint64_t offset = static_cast<uint64_t>(base) + Offset(core, moves::Gather, v.src1.address, number, pc);
            const uint8_t* from = Source(core, moves::Gather, v.src0.address, offset, bytes, pc);
            Follow(core, to + ElementOffset(v.dst, r, lane, bytes), from, bytes);
            memcpy(to + ElementOffset(v.dst, r, lane, bytes), read.Note(from, bytes), bytes);
        }
    }
    read.Settle(core, moves::Gather, {"dst", to, span}, v.src0.address, pc);
    Charge(core, lanes.repeats, lanes.per_repeat / moves::Gather.Rate(bytes));
}

void npukb_gather_blocks(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* src,
                         const npukb::BufferView* offsets, uint32_t repeat, const void* params) {
    using namespace twin;
    const Pinned pinned[] = {dst, src, offsets};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    auto p = twin::Given<AscendC::GatherRepeatParams>(params, NPUKB_PC);
    if (p.dstBlkStride == 0) p.dstBlkStride = 1;  // as the page says
    uint64_t span = 0;
    Reach read;
    if (repeat > 0) {
        span = (static_cast<uint64_t>(repeat - 1) * p.dstRepStride + 7u * p.dstBlkStride + 1) * 32;
        CheckMove(core, moves::Gatherb, Slot::Dst, dst->address, span, dst->bytes, pc);
        CheckMove(core, moves::Gatherb, Slot::Src1, offsets->address, repeat * 32ull, offsets->bytes, pc);
        CheckSource(core, moves::Gatherb, *src, pc);
    }
    auto* to = static_cast<uint8_t*>(dst->address);
    for (uint64_t r = 0; r < repeat; ++r) {
        for (uint64_t b = 0; b < 8; ++b) {
            uint32_t offset = Offset(core, moves::Gatherb, offsets->address, r * 8 + b, pc);
            const uint8_t* from = Source(core, moves::Gatherb, src->address, offset, 32, pc);
            uint8_t* block = to + (r * p.dstRepStride + b * p.dstBlkStride) * 32;
            for (uint32_t at = 0; at < 32; at += element_bytes) Follow(core, block + at, from + at, element_bytes);
            memmove(block, read.Note(from, 32), 32);
        }
    }
    read.Settle(core, moves::Gatherb, {"dst", to, span}, src->address, pc);
    Charge(core, repeat, 256.0 / element_bytes / moves::Gatherb.Rate(element_bytes));
}

void npukb_gather_mask(const npukb::GatherMaskCall* given, const void* params, uint64_t* kept) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    npukb::GatherMaskCall copied = *given;
    const Pinned pinned[] = {copied.dst, copied.src, copied.bits};
    const npukb::GatherMaskCall* call = &copied;
    const auto p = twin::Given<AscendC::GatherMaskParams>(params, NPUKB_PC);
    uint32_t bytes = call->element_bytes, per_block = 32 / bytes;
    if (call->bits == nullptr && (call->pattern < 1 || call->pattern > 7)) {
        core.Violate("limit_exceeded", pc, "Use pattern 1 to 7, or a tensor of bits.",
                     "GatherMask: there is no pattern %u", call->pattern);
    }
    if (call->counted && call->count == 0) {
        core.Warn("limit_exceeded", pc, "Leave the call out when there is nothing to do.",
                  "GatherMask: the mask is 0; in counter mode it begins at 1");
    }
    // Elements of one repeat: 256 bytes, or as many as `mask` says in counter mode.
    uint64_t per_repeat = call->counted ? call->count : 256 / bytes, repeats = p.repeatTimes;
    uint64_t read = 0, pattern = 0;  // bytes
    if (per_repeat > 0 && repeats > 0) {
        uint64_t blocks = (per_repeat + per_block - 1) / per_block;
        read = ((repeats - 1) * p.src0RepeatStride + (blocks - 1) * p.src0BlockStride) * 32 +
               (per_repeat - 1) % per_block * bytes + bytes;
        CheckMove(core, moves::GatherMask, Slot::Src0, call->src->address, read, call->src->bytes, pc);
        if (call->bits != nullptr) {
            pattern = (repeats - 1) * p.src1RepeatStride * 32 + (per_repeat + 7) / 8;
            CheckMove(core, moves::GatherMask, Slot::Src1, call->bits->address, pattern, call->bits->bytes, pc);
        }
        CheckMove(core, moves::GatherMask, Slot::Dst, call->dst->address, bytes, call->dst->bytes, pc);
    }
    auto* to = static_cast<uint8_t*>(call->dst->address);
    auto* from = static_cast<const uint8_t*>(call->src->address);
    auto* bits = call->bits != nullptr ? static_cast<const uint8_t*>(call->bits->address) : nullptr;
    uint64_t room = core.launch->machine.ub_bytes - (repeats > 0 && per_repeat > 0 ? core.UbOffset(to) : 0), count = 0;
    for (uint64_t r = 0; r < repeats; ++r) {
        for (uint64_t i = 0; i < per_repeat; ++i) {
            const uint8_t* byte = bits != nullptr ? bits + r * p.src1RepeatStride * 32 + (i >> 3) : nullptr;
            if (byte != nullptr && i % 8 == 0) Decide(core, moves::GatherMask, Slot::Src1, byte, 1, pc);
            bool on = byte != nullptr ? *byte >> (i & 7) & 1 : kPatterns[call->pattern] >> (i & 31) & 1;
            if (!on || (count + 1) * bytes > room) continue;
            uint64_t at = (r * p.src0RepeatStride + i / per_block * p.src0BlockStride) * 32 + i % per_block * bytes;
            Follow(core, to + count * bytes, from + at, bytes);
            memmove(to + count++ * bytes, from + at, bytes);
        }
    }
    CheckMove(core, moves::GatherMask, Slot::Dst, call->dst->address, count * bytes, call->dst->bytes, pc);
    const Stretch result{"dst", to, count * bytes};
    bool lost = SharesBadly(core, moves::GatherMask, Slot::Src0, result, from, read, pc);
    if (SharesBadly(core, moves::GatherMask, Slot::Src1, result, bits, pattern, pc) || lost) Undefine(result);
    CheckResult(kept, sizeof *kept, pc);
    *kept = count;
    core.counter_mode = false;  // documented: whatever the mode was, it is normal afterwards
    Charge(core, static_cast<double>(repeats), static_cast<double>(per_repeat) / moves::GatherMask.Rate(bytes));
    core.time.HoldUntil(Pipe::S, core.time.At(Pipe::V));  // the count is read back
}
}
