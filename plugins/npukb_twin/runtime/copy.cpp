// Data movement: GM and UB addresses are checked, bytes moved, the transfer given its time.
#include <string.h>

#include "../include/twin/types.h"
#include "core.h"
#include "region.h"

namespace twin {
namespace {

using npukb::CopyInstruction;

constexpr uint8_t kIn = 0, kOut = 1, kInside = 2;

uint64_t SpanOf(uint32_t blocks, int64_t stride, uint64_t bytes) {
    return blocks == 0 || bytes == 0 ? 0 : static_cast<uint64_t>(blocks - 1) * static_cast<uint64_t>(stride) + bytes;
}

const char* NameOf(const CopyInstruction& c) { return c.padded ? "DataCopyPad" : "DataCopy"; }

void CheckUb(Core& core, const CopyInstruction& c, const void* address, uint64_t span, const char* role, bool write,
             const void* pc) {
    CheckLocal(core, {NameOf(c), role, address, span, core.launch->machine.ub_bytes, 32, write}, pc);
}

}  // namespace

namespace {

void CheckShape(Core& core, const CopyInstruction& c, const void* pc) {
    if (c.blocks > 4095) {
        core.Violate("limit_exceeded", pc, "Split the transfer.", "%s: blockCount is %u, the limit is 4095", NameOf(c), c.blocks);
    }
    if (c.padded && c.block_bytes > 2097151) {
        core.Violate("limit_exceeded", pc, "Split the transfer.", "DataCopyPad: blockLen is %u bytes, the limit is 2097151",
                     c.block_bytes);
    }
    if (c.requested_bytes != c.block_bytes) {
        core.Warn("copy_truncated", pc, "Use DataCopyPad, or a count whose bytes are a multiple of 32.",
                  "DataCopy moves %u of the %u bytes asked for: lengths are rounded down to 32 bytes", c.block_bytes,
                  c.requested_bytes);
    }
    if (c.padded && (c.pad_left * c.element_bytes > 32 || c.pad_right * c.element_bytes > 32)) {
        core.Violate("limit_exceeded", pc, "Pad at most 32 bytes on each side.",
                     "DataCopyPad: padding of %u and %u elements exceeds 32 bytes", c.pad_left, c.pad_right);
    }
}

// One piece into UB. The rest of its last block holds padding, or dummy data when no padding was asked for.
void PlacePadded(const CopyInstruction& c, uint8_t* to, const uint8_t* from) {
    uint32_t left = c.pad_left * c.element_bytes;
    uint32_t right = c.pad_right * c.element_bytes;
    uint32_t used = left + c.block_bytes + right;
    uint32_t rounded = (used + 31) & ~31u;
    for (uint32_t i = 0; i < left; i += c.element_bytes) memcpy(to + i, &c.pad_value, c.element_bytes);
    memcpy(to + left, from, c.block_bytes);
    for (uint32_t i = left + c.block_bytes; i + c.element_bytes <= used; i += c.element_bytes) memcpy(to + i, &c.pad_value, c.element_bytes);
    if (rounded == used || c.block_bytes < c.element_bytes) return;
    for (uint32_t i = used; i + c.element_bytes <= rounded; i += c.element_bytes) {
        if (c.pad_value_set) {
            memcpy(to + i, &c.pad_value, c.element_bytes);
        } else {
            memcpy(to + i, from, c.element_bytes);
        }
    }
}

void Execute(const CopyInstruction& c) {
    auto* to = static_cast<uint8_t*>(const_cast<void*>(c.dst));
    auto* from = static_cast<const uint8_t*>(c.src);
    for (uint32_t i = 0; i < c.blocks; ++i) {
        if (c.direction == kIn && c.padded) {
            PlacePadded(c, to, from);
        } else {
            memmove(to, from, c.block_bytes);
        }
        to += c.dst_stride;
        from += c.src_stride;
    }
}

void Charge(Core& core, const CopyInstruction& c) {
    const Machine& m = core.launch->machine;
    double bytes = static_cast<double>(c.blocks) * c.block_bytes;
    if (c.direction == kInside) {
        core.time.Issue(m, Pipe::V, m.vector_head_cycles + bytes / 256.0);
        return;
    }
    bool in = c.direction == kIn;
    auto gm = reinterpret_cast<uint64_t>(in ? c.src : c.dst);
    double per_byte = in ? core.launch->copy_in_cycles_per_byte : core.launch->copy_out_cycles_per_byte;
    if (gm % 512 != 0) per_byte /= m.unaligned_factor;
    double latency = (in ? m.copy_in_latency_s : m.copy_out_latency_s) * m.clock_hz;
    core.time.Issue(m, in ? Pipe::MTE2 : Pipe::MTE3, latency + bytes * per_byte);
    (in ? core.bytes_in : core.bytes_out) += static_cast<uint64_t>(bytes);
}

void Run(const CopyInstruction& c, const void* pc) {
    Core& core = ThisCore();
    CheckShape(core, c, pc);
    uint64_t dst_span = SpanOf(c.blocks, c.dst_stride, c.block_bytes);
    uint64_t src_span = SpanOf(c.blocks, c.src_stride, c.block_bytes);
    if (c.direction == kIn && c.padded && dst_span > 0) {
        uint64_t used = (c.block_bytes + (c.pad_left + c.pad_right) * c.element_bytes + 31) & ~31ull;
        dst_span = SpanOf(c.blocks, c.dst_stride, used);
    }
    if (dst_span > 0) {
        c.direction == kOut ? CheckGlobal(core, {NameOf(c), c.dst, dst_span, c.element_bytes, true}, pc)
                            : CheckUb(core, c, c.dst, dst_span, "dst", true, pc);
        c.direction == kIn ? CheckGlobal(core, {NameOf(c), c.src, src_span, c.element_bytes, false}, pc)
                           : CheckUb(core, c, c.src, src_span, "src", false, pc);
    }
    Execute(c);
    Charge(core, c);
}

CopyInstruction Between(const void* dst, const void* src, uint32_t element_bytes, uint32_t direction) {
    CopyInstruction c{};
    c.dst = *static_cast<void* const*>(dst);
    c.src = *static_cast<void* const*>(src);
    c.element_bytes = element_bytes;
    c.direction = static_cast<uint8_t>(direction);
    return c;
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_copy_count(uint32_t element_bytes, uint32_t direction, const void* dst, const void* src, uint32_t count) {
    npukb::CopyInstruction c = twin::Between(dst, src, element_bytes, direction);
    c.blocks = 1;
    c.requested_bytes = count * element_bytes;
    c.block_bytes = c.requested_bytes & ~31u;
    twin::Run(c, NPUKB_PC);
}

void npukb_copy_blocks(uint32_t element_bytes, uint32_t direction, const void* dst, const void* src, const void* params) {
    const auto& p = *static_cast<const AscendC::DataCopyParams*>(params);
    npukb::CopyInstruction c = twin::Between(dst, src, element_bytes, direction);
    c.blocks = p.blockCount;
    c.block_bytes = c.requested_bytes = p.blockLen * 32u;
    c.src_stride = (static_cast<int64_t>(p.blockLen) + p.srcStride) * 32;
    c.dst_stride = (static_cast<int64_t>(p.blockLen) + p.dstStride) * 32;
    twin::Run(c, NPUKB_PC);
}

void npukb_copy_pad_in(uint32_t element_bytes, const void* dst, const void* src, const void* params, const void* pad,
                       const void* pad_value) {
    const auto& p = *static_cast<const AscendC::DataCopyExtParams*>(params);
    const auto& padding = *static_cast<const AscendC::DataCopyPadParams*>(pad);  // every variant begins alike
    npukb::CopyInstruction c = twin::Between(dst, src, element_bytes, twin::kIn);
    c.padded = 1;
    c.pad_value_set = padding.isPad;
    c.pad_left = padding.isPad ? padding.leftPadding : 0;
    c.pad_right = padding.isPad ? padding.rightPadding : 0;
    memcpy(&c.pad_value, pad_value, element_bytes);
    c.blocks = p.blockCount;
    c.block_bytes = c.requested_bytes = p.blockLen;
    uint32_t placed = p.blockLen + (c.pad_left + c.pad_right) * element_bytes;
    c.src_stride = static_cast<int64_t>(p.blockLen) + p.srcStride;
    c.dst_stride = static_cast<int64_t>((placed + 31u) & ~31u) + static_cast<int64_t>(p.dstStride) * 32;
    twin::Run(c, NPUKB_PC);
}

void npukb_copy_pad_out(uint32_t element_bytes, const void* dst, const void* src, const void* params) {
    const auto& p = *static_cast<const AscendC::DataCopyExtParams*>(params);
    npukb::CopyInstruction c = twin::Between(dst, src, element_bytes, twin::kOut);
    c.padded = 1;
    c.blocks = p.blockCount;
    c.block_bytes = c.requested_bytes = p.blockLen;
    c.src_stride = static_cast<int64_t>((p.blockLen + 31u) & ~31u) + static_cast<int64_t>(p.srcStride) * 32;
    c.dst_stride = static_cast<int64_t>(p.blockLen) + p.dstStride;
    twin::Run(c, NPUKB_PC);
}

void npukb_scalar_access(const void* address, uint32_t bytes, int write, int global) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const Machine& m = core.launch->machine;
    if (global) {
        CheckGlobal(core, {write ? "GlobalTensor::SetValue" : "GlobalTensor::GetValue", address, bytes, bytes, write != 0}, pc);
        core.time.Scalar(m.gm_scalar_cycles);
        return;
    }
    if (!core.InUb(address) || core.UbOffset(address) + bytes > m.ub_bytes) {
        core.Violate("out_of_bounds", pc, "Keep the index inside the tensor.",
                     "LocalTensor element access at %p is outside of the unified buffer", address);
    }
    // The compiler's automatic synchronisation makes the scalar unit wait for whoever fills UB.
    core.time.HoldUntil(Pipe::S, core.time.At(Pipe::V));
    core.time.HoldUntil(Pipe::S, core.time.At(Pipe::MTE2));
    core.time.Scalar(m.scalar_access_cycles);
}
}
