// Data movement: GM and UB addresses are checked, bytes moved, the transfer given its time.
#include <string.h>

#include "../../include/twin/types.h"
#include "check/raw_access.h"
#include "semantics/atomic.h"
#include "semantics/copy.h"
#include "cube/cube.h"
#include "check/data_cache.h"
#include "check/journal.h"
#include "check/late_stores.h"
#include "check/tracker.h"
#include "semantics/moves.h"

namespace twin {
namespace {

using npukb::CopyInstruction;
using npukb::kIn;
using npukb::kInside;
using npukb::kOut;

constexpr uint32_t kMaxPieces = 4095;
constexpr uint64_t kAligned = 256;  // memory takes pieces of 256 bytes as well as those of 512

uint64_t SpanOf(uint32_t blocks, int64_t stride, uint64_t bytes) {
    return blocks == 0 || bytes == 0 ? 0 : static_cast<uint64_t>(blocks - 1) * static_cast<uint64_t>(stride) + bytes;
}

uint64_t Rounded(uint64_t bytes) { return (bytes + 31) & ~31ull; }

// What a padded piece takes in UB before it is rounded up to whole blocks.
uint64_t PlacedBytes(const CopyInstruction& c) {
    return c.block_bytes + (static_cast<uint64_t>(c.pad_left) + c.pad_right) * c.element_bytes;
}

void CheckUb(Core& core, const CopyInstruction& c, const void* address, uint64_t span, uint32_t tensor_bytes, Slot slot,
             const void* pc) {
    const OperandRow& row = (c.padded ? moves::DataCopyPad : moves::DataCopy).At(slot);
    bool inner_source = c.direction == kInside && !row.Written();
    MemorySet memories = inner_source ? SetOf(Memory::Ub) : CopyMemories(core);
    CheckLocal(
        core,
        {c.name, row.role, address, span, tensor_bytes, row.alignment, row.Written(), memories, c.direction == kIn},
        pc);
}

void CheckShape(Core& core, const CopyInstruction& c, const void* pc) {
    if (c.blocks > kMaxPieces) {
        core.Violate("limit_exceeded", pc, "Split the transfer.", "%s: blockCount is %u, the limit is %u", c.name,
                     c.blocks, kMaxPieces);
    }
    if (c.padded && c.block_bytes > 2097151) {
        core.Violate("limit_exceeded", pc, "Split the transfer.", "%s: blockLen is %llu bytes, the limit is 2097151",
                     c.name, static_cast<unsigned long long>(c.block_bytes));
    }
    if (c.requested_bytes != c.block_bytes) {
        core.Warn("copy_truncated", pc, "Use DataCopyPad, or a count whose bytes are a multiple of 32.",
                  "%s moves %llu of the %llu bytes asked for: lengths are rounded down to 32 bytes", c.name,
                  static_cast<unsigned long long>(c.block_bytes), static_cast<unsigned long long>(c.requested_bytes));
    }
    if (c.padded && (c.pad_left * c.element_bytes > 32 || c.pad_right * c.element_bytes > 32)) {
        core.Violate("limit_exceeded", pc, "Pad at most 32 bytes on each side.",
                     "%s: padding of %u and %u elements exceeds 32 bytes", c.name, c.pad_left, c.pad_right);
    }
    if (c.padded && c.pad_value_set == 1 && c.element_bytes == 8 && c.pad_value != 0) {
        core.Violate("limit_exceeded", pc, "Pad with 0 and write the value afterwards.",
                     "%s: paddingValue of a 64-bit type must be 0", c.name);
    }
}

// Bytes that the documentation calls random: what UB is filled with before anyone writes to it.
void PlaceUndefined(uint8_t* to, uint64_t bytes) {
    constexpr uint8_t kPattern[] = {0xc0, 0x7f};
    for (uint64_t i = 0; i < bytes; ++i) to[i] = kPattern[(reinterpret_cast<uintptr_t>(to) + i) & 1];
}

void Repeat(uint8_t* to, uint64_t bytes, const void* element, uint32_t element_bytes) {
    for (uint64_t i = 0; i < bytes; ++i) to[i] = static_cast<const uint8_t*>(element)[i % element_bytes];
}

// One piece into UB, padding on both sides. Behind it, up to the end of the block, lies dummy data: the padding value,
// random bytes when there is padding without a value, and the piece's first element when there is no padding at all.
void PlacePadded(const CopyInstruction& c, uint8_t* to, const uint8_t* from) {
    uint64_t left = static_cast<uint64_t>(c.pad_left) * c.element_bytes;
    uint64_t used = PlacedBytes(c), tail = left + c.block_bytes;
    bool pads = c.pad_left + c.pad_right > 0;
    memcpy(to + left, from, c.block_bytes);
    if (!pads && c.block_bytes >= c.element_bytes) {
        Repeat(to + tail, Rounded(used) - tail, from, c.element_bytes);
    } else if (c.pad_value_set) {
        Repeat(to, left, &c.pad_value, c.element_bytes);
        Repeat(to + tail, Rounded(used) - tail, &c.pad_value, c.element_bytes);
    } else {
        PlaceUndefined(to, left);
        PlaceUndefined(to + tail, Rounded(used) - tail);
    }
}

// The vector unit moves blocks in ascending order, whatever lies under them.
void MoveInside(uint8_t* to, const uint8_t* from, uint64_t bytes) {
    if (to <= from || to >= from + bytes) {
        memmove(to, from, bytes);
        return;
    }
    for (uint64_t i = 0; i < bytes; i += 32) memmove(to + i, from + i, bytes - i < 32 ? bytes - i : 32);
}

void Execute(Core& core, const CopyInstruction& c, const void* pc) {
    auto* to = static_cast<uint8_t*>(const_cast<void*>(c.dst));
    auto* from = static_cast<const uint8_t*>(c.src);
    bool atomic = c.direction == kOut && core.atomic_mode != npukb::AtomicMode::None;
    if (atomic) WaitForTurn(core);
    if (c.direction == kOut && core.late != nullptr) to = core.late->Place(to);
    for (uint32_t i = 0; i < c.blocks; ++i) {
        if (c.direction == kIn && c.padded) {
            PlacePadded(c, to, from);
        } else if (c.direction == kInside) {
            MoveInside(to, from, c.block_bytes);
        } else if (atomic) {
            AtomicMove(core, to, from, c.block_bytes, pc);
        } else {
            memcpy(to, from, c.block_bytes);
        }
        to += c.dst_stride;
        from += c.src_stride;
    }
}

// Moves inside UB that overwrite what they have yet to read.
bool Overlaps(Core& core, const CopyInstruction& c, uint64_t src_span, const void* pc) {
    auto d = reinterpret_cast<uint64_t>(c.dst), s = reinterpret_cast<uint64_t>(c.src);
    if (d <= s || d >= s + src_span) return false;
    core.Warn("overlap", pc, "Keep dst and src apart, or move towards lower addresses.",
              "%s: dst begins inside src (UB offsets %u and %u); the move overwrites what it has yet to read", c.name,
              core.UbOffset(c.dst), core.UbOffset(c.src));
    return true;
}

// The page does not say in which order blocks are copied, so nobody can rely on what comes of it.
void Lose(const CopyInstruction& c) {
    auto* to = static_cast<uint8_t*>(const_cast<void*>(c.dst));
    for (uint32_t i = 0; i < c.blocks; ++i) memset(to + i * c.dst_stride, 0xff, c.block_bytes);
}

void Charge(Core& core, const CopyInstruction& c) {
    const Machine& m = core.launch->machine;
    double bytes = static_cast<double>(c.blocks) * static_cast<double>(c.block_bytes);
    if (c.direction == kInside) {
        auto whole = static_cast<uint64_t>(bytes);
        bool chained = core.vector.Chains(c.src, whole);
        Lateness late{0, core.vector.Late(c.src, whole)};
        core.vector.Wrote(c.dst, whole);
        core.time.Vector(m, m.copy_inside_head_cycles - m.vector_head_cycles + bytes / 256.0, 0, chained, late);
        return;
    }
    bool in = c.direction == kIn;
    const Pieces pieces{in ? c.src : c.dst, c.block_bytes, c.blocks,
                        static_cast<int64_t>(in ? c.src_stride : c.dst_stride)};
    if (in) core.AwaitWriters(Pipe::MTE2, pieces);
    TimeTransfer(core, in ? Pipe::MTE2 : Pipe::MTE3, {in ? c.src : c.dst, c.origin}, c.block_bytes, c.blocks,
                 in ? c.src_stride : c.dst_stride);
    if (!in) core.Wrote(Pipe::MTE3, pieces);
    (in ? core.bytes_in : core.bytes_out) += static_cast<uint64_t>(bytes);
}

// A raw pointer has no tensor around it.
struct RawView {
    npukb::BufferView view;
    const void* origin;
};
RawView Raw(const void* address) {
    return {{const_cast<void*>(address), ThisCore().launch->arena_bytes, 0, 0}, nullptr};
}

}  // namespace

MemorySet CopyMemories(const Core& core) {
    if (core.kind == CoreKind::Cube) return SetOf(Memory::L1);
    return SetOf(Memory::Ub);
}

namespace {

// What a transfer takes a core that has its share of memory to itself.
double CyclesAlone(const Core& core, bool out, bool unaligned, double bytes) {
    const Machine& m = core.launch->machine;
    double per_byte = out ? core.launch->copy_out_cycles_per_byte : core.launch->copy_in_cycles_per_byte;
    if (core.kind == CoreKind::Cube && !out) per_byte = m.clock_hz / m.l1_in_bytes_per_s;
    if (unaligned) per_byte /= m.unaligned_factor;
    return (out ? m.copy_out_latency_s : m.copy_in_latency_s) * m.clock_hz + bytes * per_byte;
}

}  // namespace

void TimeTransfer(Core& core, Pipe pipe, const TimedPlace& place, uint64_t piece_bytes, uint64_t pieces,
                  int64_t stride) {
    uint64_t address = core.launch->memory.DeviceAddress(place.address);
    bool out = pipe == Pipe::MTE3 || pipe == Pipe::FIX, unaligned = address % kAligned != 0;
    uint8_t flags = out ? kTapeWrite : 0;
    if (unaligned) flags |= kTapeUnaligned;
    if (core.kind == CoreKind::Cube) flags |= kTapeLateral;
    if (core.hints.Bypasses(place.origin, out)) flags |= kTapeBypass;
    double cycles = CyclesAlone(core, out, unaligned, static_cast<double>(piece_bytes) * static_cast<double>(pieces));
    core.time.Move(core.launch->machine, {pipe, flags, address, piece_bytes, static_cast<uint32_t>(pieces), stride},
                   cycles);
}

void RunCopy(const CopyInstruction& c, const void* pc) {
    Core& core = ThisCore();
    CheckShape(core, c, pc);
    bool moves = c.blocks > 0 && (c.padded ? PlacedBytes(c) : c.block_bytes) > 0;
    if (moves) {
        uint64_t in_ub = c.direction == kIn && c.padded ? Rounded(PlacedBytes(c)) : c.block_bytes;
        uint64_t dst_span = SpanOf(c.blocks, c.dst_stride, in_ub);
        uint64_t src_span = SpanOf(c.blocks, c.src_stride, c.block_bytes);
        uint32_t alignment = c.padded ? 1 : c.element_bytes;  // DataCopyPad moves bytes
        if (c.direction == kOut) {
            CheckGlobal(core, {c.name, c.dst, dst_span, alignment, true, c.origin}, pc);
        } else {
            CheckUb(core, c, c.dst, dst_span, c.ub_bytes, Slot::Dst, pc);
        }
        if (c.direction == kIn) {
            if (src_span > 0) CheckGlobal(core, {c.name, c.src, src_span, alignment, false, c.origin}, pc);
        } else {
            CheckUb(core, c, c.src, src_span, c.direction == kOut ? c.ub_bytes : c.src_bytes, Slot::Src0, pc);
        }
        bool lost = c.direction == kInside && Overlaps(core, c, src_span, pc);
        Execute(core, c, pc);
        if (lost) Lose(c);
        TrackCopy(core, c, pc);
    }
    Charge(core, c);
}

CopyInstruction CopyBetween(const char* name, const void* dst, const void* src, uint32_t element_bytes,
                            uint32_t direction) {
    CopyInstruction c{};
    c.name = name;
    c.dst = *static_cast<void* const*>(dst);
    c.src = *static_cast<void* const*>(src);
    if (direction != kOut) c.ub_bytes = static_cast<const npukb::BufferView*>(dst)->bytes;
    if (direction == kOut) c.ub_bytes = static_cast<const npukb::BufferView*>(src)->bytes;
    if (direction == kInside) c.src_bytes = static_cast<const npukb::BufferView*>(src)->bytes;
    if (direction != kInside) c.origin = static_cast<const npukb::GlobalView*>(direction == kIn ? src : dst)->origin;
    c.element_bytes = element_bytes;
    c.direction = static_cast<uint8_t>(direction);
    return c;
}

namespace {

// Pieces of whole blocks, with gaps in blocks.
void InBlocks(CopyInstruction& c, uint32_t blocks, uint32_t length, uint32_t src_gap, uint32_t dst_gap) {
    c.blocks = blocks;
    c.block_bytes = c.requested_bytes = length * 32ull;
    c.src_stride = (static_cast<int64_t>(length) + src_gap) * 32;
    c.dst_stride = (static_cast<int64_t>(length) + dst_gap) * 32;
}

// Pieces of bytes: gaps are bytes in global memory and blocks in UB, where every piece begins on a block.
void InBytes(CopyInstruction& c, uint32_t blocks, uint32_t length, uint32_t src_gap, uint32_t dst_gap) {
    c.padded = 1;
    c.blocks = blocks;
    c.block_bytes = c.requested_bytes = length;
    auto in_ub = static_cast<int64_t>(Rounded(PlacedBytes(c)));
    int64_t gm_gap = c.direction == kIn ? src_gap : dst_gap, ub_gap = 32ll * (c.direction == kIn ? dst_gap : src_gap);
    (c.direction == kIn ? c.src_stride : c.dst_stride) = static_cast<int64_t>(length) + gm_gap;
    (c.direction == kIn ? c.dst_stride : c.src_stride) = in_ub + ub_gap;
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_copy_count(uint32_t element_bytes, uint32_t direction, const void* dst, const void* src, uint32_t count) {
    if (direction == twin::kInside && twin::ThisCore().kind == twin::CoreKind::Cube) {
        twin::RunInsideCopy("DataCopy", *static_cast<const npukb::BufferView*>(dst),
                            *static_cast<const npukb::BufferView*>(src), nullptr,
                            static_cast<uint64_t>(count) * element_bytes, false, NPUKB_PC);
        return;
    }
    npukb::CopyInstruction c = twin::CopyBetween("DataCopy", dst, src, element_bytes, direction);
    c.blocks = 1;
    c.requested_bytes = static_cast<uint64_t>(count) * element_bytes;
    c.block_bytes = c.requested_bytes & ~31ull;
    twin::RunCopy(c, NPUKB_PC);
}

void npukb_copy_blocks(uint32_t element_bytes, uint32_t direction, const void* dst, const void* src,
                       const void* params) {
    if (direction == twin::kInside && twin::ThisCore().kind == twin::CoreKind::Cube) {
        twin::RunInsideCopy("DataCopy", *static_cast<const npukb::BufferView*>(dst),
                            *static_cast<const npukb::BufferView*>(src), params, 0, false, NPUKB_PC);
        return;
    }
    const auto p = twin::Given<AscendC::DataCopyParams>(params, NPUKB_PC);
    npukb::CopyInstruction c = twin::CopyBetween("DataCopy", dst, src, element_bytes, direction);
    twin::InBlocks(c, p.blockCount, p.blockLen, p.srcStride, p.dstStride);
    twin::RunCopy(c, NPUKB_PC);
}

void npukb_copy_pad_in(uint32_t element_bytes, const void* dst, const void* src, const void* params, const void* pad,
                       const void* pad_value) {
    const auto p = twin::Given<AscendC::DataCopyExtParams>(params, NPUKB_PC);
    struct {
        bool isPad;
        uint8_t leftPadding, rightPadding;
    } padding;
    twin::CheckSource(pad, sizeof padding, NPUKB_PC);
    memcpy(&padding, pad, sizeof padding);  // every variant begins alike
    npukb::CopyInstruction c = twin::CopyBetween("DataCopyPad", dst, src, element_bytes, twin::kIn);
    c.pad_value_set = padding.isPad;
    c.pad_left = padding.leftPadding;
    c.pad_right = padding.rightPadding;
    if (element_bytes > sizeof c.pad_value) element_bytes = sizeof c.pad_value;
    twin::CheckSource(pad_value, element_bytes, NPUKB_PC);
    memcpy(&c.pad_value, pad_value, element_bytes);
    twin::InBytes(c, p.blockCount, p.blockLen, p.srcStride, p.dstStride);
    twin::Core& core = twin::ThisCore();
    if (padding.isPad) {
        core.pad_value = c.pad_value;
    } else if (core.pad_value_given) {
        c.pad_value_set = 2;
        c.pad_value = core.pad_value;
    }
    twin::RunCopy(c, NPUKB_PC);
}

void npukb_pad_value(uint64_t value) {
    twin::Core& core = twin::ThisCore();
    core.pad_value = value;
    core.pad_value_given = true;
    core.time.Scalar(1);
}

void npukb_copy_pad_out(uint32_t element_bytes, const void* dst, const void* src, const void* params) {
    const auto p = twin::Given<AscendC::DataCopyExtParams>(params, NPUKB_PC);
    npukb::CopyInstruction c = twin::CopyBetween("DataCopyPad", dst, src, element_bytes, twin::kOut);
    twin::InBytes(c, p.blockCount, p.blockLen, p.srcStride, p.dstStride);
    twin::RunCopy(c, NPUKB_PC);
}

void npukb_copy_raw(uint32_t direction, void* dst, const void* src, uint32_t count, uint32_t length, uint32_t src_gap,
                    uint32_t dst_gap) {
    static const char* const kVectorNames[] = {"copy_gm_to_ubuf", "copy_ubuf_to_gm", "copy_ubuf_to_ubuf"};
    static const char* const kCubeNames[] = {"copy_gm_to_cbuf", "copy_cbuf_to_gm", "copy_ubuf_to_ubuf"};
    const char* const* kNames = twin::ThisCore().kind == twin::CoreKind::Cube ? kCubeNames : kVectorNames;
    twin::RawView to = twin::Raw(dst), from = twin::Raw(src);
    npukb::CopyInstruction c = twin::CopyBetween(kNames[direction], &to, &from, 1, direction);
    twin::InBlocks(c, count, length, src_gap, dst_gap);
    twin::RunCopy(c, NPUKB_PC);
}

void npukb_copy_raw_align(uint32_t element_bytes, uint32_t direction, void* dst, const void* src, uint32_t count,
                          uint32_t length, uint32_t left, uint32_t right, uint32_t src_gap, uint32_t dst_gap) {
    twin::RawView to = twin::Raw(dst), from = twin::Raw(src);
    const char* name = direction == twin::kIn ? "copy_gm_to_ubuf_align" : "copy_ubuf_to_gm_align";
    npukb::CopyInstruction c = twin::CopyBetween(name, &to, &from, element_bytes, direction);
    c.pad_left = static_cast<uint8_t>(left);
    c.pad_right = static_cast<uint8_t>(right);
    twin::InBytes(c, count, length, src_gap, dst_gap);
    twin::RunCopy(c, NPUKB_PC);
}

void npukb_copy_init(uint32_t element_bytes, const void* gm, uint64_t count, uint64_t value) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    auto* to = *static_cast<uint8_t* const*>(gm);
    uint64_t bytes = count * element_bytes;
    if (bytes == 0) return;
    CheckGlobal(core, {"InitOutput", to, bytes, element_bytes, true}, pc);
    uint8_t* place = core.late == nullptr ? to : core.late->Place(to);
    for (uint64_t i = 0; i < bytes; i += element_bytes) memcpy(place + i, &value, element_bytes);
    TimeTransfer(core, Pipe::MTE3, {to, nullptr}, bytes, 1, 0);
    core.Wrote(Pipe::MTE3, {to, bytes, 1, 0});
    TrackStored(core, to, bytes);
    core.bytes_out += bytes;
}

void npukb_l2_hint(const void* tensor, int which, int mode) {
    twin::Core& core = twin::ThisCore();
    core.time.Scalar(1);
    core.hints.Set(static_cast<const npukb::GlobalView*>(tensor)->origin, which, mode == 0);
}

void npukb_cache_hint(uint32_t cycles) { twin::ThisCore().time.Scalar(cycles); }

void npukb_cache_clean(const void* tensor, int whole) {
    twin::Core& core = twin::ThisCore();
    core.time.Scalar(whole ? 512 : 8);
    if (core.late != nullptr) core.late->SettleAll();
    if (core.cache != nullptr)
        core.cache->Clean(whole ? nullptr : static_cast<const npukb::GlobalView*>(tensor)->address);
}

void* npukb_scalar_global(const void* tensor, uint64_t offset_bytes, uint32_t bytes, int write) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const auto view = *static_cast<const npukb::GlobalView*>(tensor);
    auto* address = static_cast<uint8_t*>(view.address) + offset_bytes;
    const char* name = write ? "GlobalTensor::SetValue" : "GlobalTensor::GetValue";
    CheckGlobal(core, {name, address, bytes, bytes, write != 0, view.origin}, pc);
    TrackScalar(core, address, bytes, write != 0, true, pc);
    const GlobalBuffer* buffer = core.launch->memory.Holding(address);
    if (buffer != nullptr) ThroughCache(core, *buffer, address, bytes, write != 0, name, pc);
    core.PayGlobal(address);
    const Pieces piece{address, bytes, 1, 0};
    write ? core.Wrote(Pipe::S, piece) : core.AwaitWriters(Pipe::S, piece);
    core.announced = reinterpret_cast<uint64_t>(address);
    core.announced_bytes = bytes <= sizeof(uint64_t) ? bytes : 0;
    return address;
}

void npukb_scalar_access(const void* address, uint32_t bytes, int write, uint32_t index, uint32_t tensor_bytes) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const Machine& m = core.launch->machine;
    if (!core.InUb(address) || uint64_t{core.UbOffset(address)} + bytes > m.ub_bytes) {
        core.Violate("out_of_bounds", pc, "Keep the index inside the tensor.",
                     "LocalTensor element access at %p is outside of the unified buffer", address);
    }
    // A slice taken past the end of its tensor has a size that wrapped around.
    bool inside = uint64_t{index} * bytes + bytes <= tensor_bytes && tensor_bytes <= core.launch->arena_bytes;
    if (core.launch->checker != Checker::Off && !inside)
        core.Warn("past_tensor", pc, "Keep the index inside the tensor.",
                  "LocalTensor element access reaches past the end of its tensor: the memory there is another's");
    // The compiler's automatic synchronisation makes the scalar unit wait for whoever fills UB.
    if (core.launch->auto_sync) {
        core.time.AwaitScalar(Pipe::V);
        core.time.AwaitScalar(Pipe::MTE2);
    }
    core.Place(pc);
    TrackScalar(core, address, bytes, write != 0, false, pc);
    if (core.launch->journal != nullptr) {
        Range element = Whole(core.UbOffset(address), bytes);
        core.launch->journal->Note(core, {write ? "LocalTensor::SetValue" : "LocalTensor::GetValue", "element", pc,
                                          element, write != 0, false, false, false});
    }
    if (core.order != nullptr)
        core.order->Note({"LocalTensor element access", "element", pc, Whole(core.UbOffset(address), bytes), write != 0,
                          false, false});
    core.time.Access(m.scalar_access_cycles);
    core.announced = reinterpret_cast<uint64_t>(address);
    core.announced_bytes = bytes <= sizeof(uint64_t) ? bytes : 0;
}
}
