// Transpose and TransDataTo5HD.
#include "../../include/twin/transpose.h"
#include "check/raw_access.h"

#include <string.h>

#include "semantics/moves.h"

namespace twin {
namespace {

using AscendC::TransDataTo5HDParams;
using AscendC::TransposeType;

void Charge(Core& core, double repeats, double cycles_per_repeat) {
    const Machine& m = core.launch->machine;
    core.time.Vector(m, repeats * cycles_per_repeat, 0, false);
}

// Blocks as they were before anything was written, so that a result may replace them.
struct BlocksRead {
    BlocksRead(Core& core, uint32_t bytes, const uint8_t* const* src, uint32_t count) : core(core), bytes(bytes) {
        for (uint32_t i = 0; i < count; ++i) {
            memcpy(in[i], src[i], 32);
            for (uint32_t at = 0; core.tracker != nullptr && at < 32; at += bytes)
                holds[i][at] = HoldsValue(core, src[i] + at, bytes);
        }
    }
    void Put(uint8_t* to, uint32_t block, uint32_t at) const {
        if (core.tracker != nullptr) MarkResult(core, to, bytes, holds[block][at]);
        memcpy(to, in[block] + at, bytes);
    }
    Core& core;
    uint32_t bytes;
    uint8_t in[16][32];
    bool holds[16][32];
};

// Sixteen blocks in, sixteen out.
void TransposeRepeat(Core& core, uint32_t bytes, const TransDataTo5HDParams& p, uint8_t* const* dst,
                     const uint8_t* const* src) {
    const BlocksRead read(core, bytes, src, 16);
    if (bytes == 4) {
        for (uint32_t i = 0; i < 8; ++i) {
            for (uint32_t j = 0; j < 16; ++j) read.Put(dst[2 * i + j / 8] + j % 8 * 4, j, i * 4);
        }
        return;
    }
    uint32_t from = bytes == 1 && p.srcHighHalf ? 16 : 0, to = bytes == 1 && p.dstHighHalf ? 16 : 0;
    for (uint32_t i = 0; i < 16; ++i) {
        for (uint32_t j = 0; j < 16; ++j) read.Put(dst[i] + (to + j) * bytes, j, (from + i) * bytes);
    }
}

// `move` is the row, under the name that the kernel calls it by.
void TransposeBlocks(const MoveRow& move, uint32_t bytes, const uint64_t* dst, const uint64_t* src,
                     const TransDataTo5HDParams& p, const void* pc) {
    Core& core = ThisCore();
    const char* name = move.name;
    if (p.repeatTimes == 1 && (p.dstRepStride != 0 || p.srcRepStride != 0)) {
        core.Warn("repeat_stride", pc, "Set both strides to 0 when repeatTimes is 1.",
                  "%s: with one repeat, strides of %u and %u blocks move its start", name, p.dstRepStride,
                  p.srcRepStride);
    }
    uint32_t first = p.repeatTimes == 1 ? 1 : 0;
    for (int i = 0; i < 16 && p.repeatTimes > 0; ++i) {
        uint64_t last = p.repeatTimes - 1u + first;
        auto* d = reinterpret_cast<const uint8_t*>(dst[i]);
        auto* s = reinterpret_cast<const uint8_t*>(src[i]);
        uint32_t ub = core.launch->machine.ub_bytes;
        CheckMove(core, move, Slot::Dst, d, last * p.dstRepStride * 32 + 32, ub, pc);
        CheckMove(core, move, Slot::Src0, s, last * p.srcRepStride * 32 + 32, ub, pc);
    }
    for (uint32_t r = first; r < p.repeatTimes + first; ++r) {
        uint8_t* to[16];
        const uint8_t* from[16];
        for (int i = 0; i < 16; ++i) {
            to[i] = reinterpret_cast<uint8_t*>(dst[i]) + static_cast<uint64_t>(r) * p.dstRepStride * 32;
            from[i] = reinterpret_cast<const uint8_t*>(src[i]) + static_cast<uint64_t>(r) * p.srcRepStride * 32;
        }
        TransposeRepeat(core, bytes, p, to, from);
    }
    Charge(core, p.repeatTimes, 2);
}

// [outer, rows, columns] to [outer, columns, rows].
void SwapInner(Core& core, uint8_t* to, const uint8_t* from, uint64_t outer, uint64_t rows, uint64_t columns,
               uint32_t bytes) {
    for (uint64_t n = 0; n < outer; ++n) {
        for (uint64_t r = 0; r < rows; ++r) {
            for (uint64_t c = 0; c < columns; ++c) {
                uint8_t* element = to + ((n * columns + c) * rows + r) * bytes;
                const uint8_t* own = from + ((n * rows + r) * columns + c) * bytes;
                Follow(core, element, own, bytes);
                memcpy(element, own, bytes);
            }
        }
    }
}

void TransposeImage(Core& core, uint32_t bytes, const npukb::BufferView& dst, const npukb::BufferView& src,
                    const npukb::BufferView* scratch, const AscendC::TransposeParamsExt& p, const void* pc) {
    uint64_t image = static_cast<uint64_t>(p.hSize) * p.wSize, total = image * p.cSize * p.nSize * bytes;
    bool to_channels_last = p.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC;
    if (p.cSize > 4095 || image > 4095 || image * bytes % 32 != 0) {
        core.Violate("limit_exceeded", pc,
                     "Keep hSize * wSize and cSize up to 4095, and an image a multiple of 32 bytes.",
                     "Transpose: cSize %u and images of %llu elements of %u bytes", p.cSize,
                     static_cast<unsigned long long>(image), bytes);
    }
    uint64_t side = bytes == 1 ? 32 : 16, needed = (to_channels_last ? p.cSize + 2ull : 2ull * p.cSize + 1) * side * 32;
    if (scratch == nullptr || scratch->bytes < needed) {
        core.Violate("scratch_too_small", pc, "Give sharedTmpBuffer the documented size: it grows with cSize.",
                     "Transpose: sharedTmpBuffer has %u bytes and needs %llu", scratch != nullptr ? scratch->bytes : 0,
                     static_cast<unsigned long long>(needed));
    }
    CheckMove(core, moves::Transpose, Slot::Dst, dst.address, total, dst.bytes, pc);
    CheckMove(core, moves::Transpose, Slot::Src0, src.address, total, src.bytes, pc);
    CheckMove(core, moves::Transpose, Slot::Scratch, scratch->address, needed, scratch->bytes, pc);
    const Stretch result{"dst", dst.address, total};
    // Images may not even be transposed in place.
    bool lost = Clashes(core, moves::Transpose.name, result, {"src", src.address, total}, false, pc);
    uint64_t rows = to_channels_last ? p.cSize : image, columns = to_channels_last ? image : p.cSize;
    SwapInner(core, static_cast<uint8_t*>(dst.address), static_cast<const uint8_t*>(src.address), p.nSize, rows,
              columns, bytes);
    if (lost) Undefine(result);
    Charge(core, static_cast<double>(total) / 512.0, 4);
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_transpose(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* src,
                     const npukb::BufferView* scratch, const void* params) {
    using namespace twin;
    const Pinned pinned[] = {dst, src, scratch};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const auto p = twin::Given<AscendC::TransposeParamsExt>(params, NPUKB_PC);
    switch (p.transposeType) {
        case TransposeType::TRANSPOSE_TYPE_NONE: return;  // documented to do nothing
        case TransposeType::TRANSPOSE_NCHW2NHWC:
        case TransposeType::TRANSPOSE_NHWC2NCHW: return TransposeImage(core, element_bytes, *dst, *src, scratch, p, pc);
        case TransposeType::TRANSPOSE_ND2ND_B16: break;
        default:
            core.Violate("limit_exceeded", pc, "Use TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC or TRANSPOSE_NHWC2NCHW.",
                         "Transpose: the vector core has no transposeType %u", static_cast<unsigned>(p.transposeType));
    }
    if (element_bytes != 2 || p.hSize != 16 || p.wSize != 16) {
        core.Violate("limit_exceeded", pc, "Transpose 16 by 16 elements of 16 bits.",
                     "Transpose: TRANSPOSE_ND2ND_B16 of %u by %u elements of %u bytes", p.hSize, p.wSize,
                     element_bytes);
    }
    CheckMove(core, moves::Transpose, Slot::Dst, dst->address, 512, dst->bytes, pc);
    CheckMove(core, moves::Transpose, Slot::Src0, src->address, 512, src->bytes, pc);
    const uint8_t* rows[16];
    for (uint32_t i = 0; i < 16; ++i) rows[i] = static_cast<const uint8_t*>(src->address) + i * 32;
    const BlocksRead read(core, 2, rows, 16);
    for (uint32_t i = 0; i < 256; ++i) read.Put(static_cast<uint8_t*>(dst->address) + i * 2, i % 16, i / 16 * 2);
    const Stretch result{"dst", dst->address, 512};
    if (SharesBadly(core, moves::Transpose, Slot::Src0, result, src->address, 512, pc)) Undefine(result);
    Charge(core, 1, 2);
}

void npukb_transpose_blocks(uint32_t element_bytes, const void* dst, const void* src, int layout, const void* params) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    uint64_t to[16], from[16];
    if (layout == 2) {
        auto* d = static_cast<const npukb::BufferView*>(dst);
        auto* s = static_cast<const npukb::BufferView*>(src);
        CheckLocal(ThisCore(), {"TransDataTo5HD", "dstLocal", d->address, sizeof to, d->bytes, 32, false}, pc);
        CheckLocal(ThisCore(), {"TransDataTo5HD", "srcLocal", s->address, sizeof from, s->bytes, 32, false}, pc);
        dst = d->address;
        src = s->address;
    }
    for (int i = 0; i < 16; ++i) {
        to[i] = layout == 0 ? reinterpret_cast<uint64_t>(static_cast<const npukb::BufferView*>(dst)[i].address)
                            : static_cast<const uint64_t*>(dst)[i];
        from[i] = layout == 0 ? reinterpret_cast<uint64_t>(static_cast<const npukb::BufferView*>(src)[i].address)
                              : static_cast<const uint64_t*>(src)[i];
    }
    TransposeBlocks(moves::TransDataTo5HD, element_bytes, to, from, twin::Given<TransDataTo5HDParams>(params, NPUKB_PC),
                    pc);
}

void npukb_address_registers(int index, const uint64_t* addresses) {
    twin::Core& core = twin::ThisCore();
    memcpy(core.address_registers[index & 7], addresses, sizeof core.address_registers[0]);
    core.time.Scalar(8);
}

void npukb_transpose_registers(uint32_t element_bytes, int dst, int src, const void* params) {
    using namespace twin;
    static const char* const kNames[] = {"", "scatter_vnchwconv_b8", "scatter_vnchwconv_b16", "",
                                         "scatter_vnchwconv_b32"};
    Core& core = ThisCore();
    uint64_t to[16], from[16];  // a pair of registers each
    for (int i = 0; i < 16; ++i) {
        to[i] = core.address_registers[(dst + i / 8) & 7][i % 8];
        from[i] = core.address_registers[(src + i / 8) & 7][i % 8];
    }
    MoveRow move = moves::TransDataTo5HD;
    move.name = kNames[element_bytes];
    TransposeBlocks(move, element_bytes, to, from, twin::Given<TransDataTo5HDParams>(params, NPUKB_PC), NPUKB_PC);
}
}
