// DataCopy on the cube core's own memories, and row-major matrices into fractals on their way from global memory.
#include <string.h>

#include <numeric>

#include "../../include/twin/copy.h"
#include "check/raw_access.h"
#include "semantics/copy.h"
#include "cube/cube.h"
#include "check/tracker.h"

namespace twin {
namespace {

// How a move inside the cube core counts: in bytes.
struct InsideMove {
    uint32_t unit;     // of lengths, in the source
    uint32_t src_gap;  // units of gaps
    uint32_t dst_gap;
    bool heads;          // gaps lie between beginnings
    uint32_t alignment;  // of dst
    Pipe pipe;
    MemorySet target;
};

InsideMove MoveTo(Memory memory) {
    if (memory == Memory::Fb) return {128, 32, 128, true, 128, Pipe::FIX, SetOf(Memory::Fb)};
    return {64, 32, 64, false, 64, Pipe::MTE1, SetOf(Memory::Bt)};
}

void MovePiece(uint8_t* to, const uint8_t* from, uint64_t bytes, bool half_to_float) {
    if (!half_to_float) {
        memcpy(to, from, bytes);
        return;
    }
    for (uint64_t i = 0; i < bytes / 2; ++i) {
        half narrow;
        memcpy(&narrow, from + 2 * i, 2);
        auto wide = static_cast<float>(narrow);
        memcpy(to + 4 * i, &wide, 4);
    }
}

// One matrix after the other, rows into columns of 32 bytes.
struct Rearrangement {
    uint32_t matrices, rows, columns;  // columns in elements
    uint64_t src_matrix, src_row;      // bytes
    uint64_t dst_matrix, dst_row, dst_column;
    uint32_t element;

    uint32_t Pieces() const { return Blocks(columns * element, 32); }
    uint64_t SrcSpan() const {
        return (matrices - 1) * src_matrix + (rows - 1) * src_row + static_cast<uint64_t>(columns) * element;
    }
    uint64_t DstSpan() const {
        return (matrices - 1) * dst_matrix + (Pieces() - 1) * dst_column + (rows - 1) * dst_row + 32;
    }
};

void MoveRow(const Rearrangement& r, uint8_t* to, const uint8_t* from) {
    uint32_t bytes = r.columns * r.element, whole = bytes / 32;
    for (uint32_t piece = 0; piece < whole; ++piece) memcpy(to + piece * r.dst_column, from + piece * 32, 32);
    if (bytes % 32 == 0) return;
    uint8_t last[32] = {};
    memcpy(last, from + whole * 32, bytes % 32);
    memcpy(to + whole * r.dst_column, last, 32);
}

void Rearrange(Core& core, const Rearrangement& r, uint8_t* to, const uint8_t* from) {
    bool tracked = core.tracker != nullptr;
    for (uint32_t matrix = 0; matrix < r.matrices; ++matrix) {
        for (uint32_t row = 0; row < r.rows; ++row) {
            uint8_t* here = to + matrix * r.dst_matrix + row * r.dst_row;
            MoveRow(r, here, from + matrix * r.src_matrix + row * r.src_row);
            for (uint32_t piece = 0; tracked && piece < r.Pieces(); ++piece)
                DefineOnChip(core, here + piece * r.dst_column, 32);
        }
    }
}

// Where strides are 0 that keep pieces of a matrix apart.
void CheckApart(Core& core, const AscendC::Nd2NzParams& p, const Rearrangement& r, const void* pc) {
    bool rows = r.rows > 1 && (p.srcDValue == 0 || p.dstNzNStride == 0), pieces = r.Pieces() > 1;
    if (!rows && !(pieces && p.dstNzC0Stride == 0)) return;
    core.Violate("limit_exceeded", pc, "Give every stride that is used: they begin at 1.",
                 "DataCopy: Nd2NzParams with srcDValue %u, dstNzC0Stride %u, dstNzNStride %u for %u rows of %u blocks",
                 p.srcDValue, p.dstNzC0Stride, p.dstNzNStride, r.rows, r.Pieces());
}

// Whether a block of one column of the result lies where a row of another column does: both are multiples of the
// least distance that the strides have in common.
bool BlocksMeet(const Rearrangement& r) {
    if (r.rows < 2 || r.Pieces() < 2) return false;
    uint64_t common = std::gcd(r.dst_row, r.dst_column);
    return r.dst_row / common < r.Pieces() && r.dst_column / common < r.rows;
}

void UndefineBlocks(const Rearrangement& r, uint8_t* to) {
    for (uint64_t matrix = 0; matrix < r.matrices; ++matrix) {
        for (uint64_t row = 0; row < r.rows; ++row) {
            uint8_t* here = to + matrix * r.dst_matrix + row * r.dst_row;
            for (uint64_t piece = 0; piece < r.Pieces(); ++piece) memset(here + piece * r.dst_column, 0xff, 32);
        }
    }
}

}  // namespace

void RunInsideCopy(const char* name, const npukb::BufferView& dst, const npukb::BufferView& src, const void* params,
                   uint64_t count_bytes, bool half_to_float, const void* pc) {
    Core& core = ThisCore();
    InsideMove move = MoveTo(core.Holding(dst.address));
    uint32_t pieces = 1;
    uint64_t bytes = count_bytes & ~31ull, src_step = 0, dst_step = 0;
    uint64_t factor = half_to_float ? 2 : 1;
    if (params != nullptr) {
        const auto p = twin::Given<AscendC::DataCopyParams>(params, NPUKB_PC);
        pieces = p.blockCount;
        bytes = static_cast<uint64_t>(p.blockLen) * move.unit;
        src_step = static_cast<uint64_t>(p.srcStride) * move.src_gap + (move.heads ? 0 : bytes);
        dst_step = static_cast<uint64_t>(p.dstStride) * move.dst_gap + (move.heads ? 0 : bytes * factor);
    }
    if (pieces == 0 || bytes == 0) return;
    if (pieces > 4095) {
        core.Violate("limit_exceeded", pc, "Split the transfer.", "%s: blockCount is %u, the limit is 4095", name,
                     pieces);
    }
    MemorySet target = move.target | (half_to_float ? 0 : SetOf(Memory::Fb));
    CheckCubeOperand(core, name, "dst", dst, (pieces - 1) * dst_step + bytes * factor, move.alignment, target, true,
                     pc);
    CheckCubeOperand(core, name, "src", src, (pieces - 1) * src_step + bytes, 32, SetOf(Memory::L1), false, pc);
    for (uint32_t i = 0; i < pieces; ++i) {
        auto* to = static_cast<uint8_t*>(dst.address) + i * dst_step;
        MovePiece(to, static_cast<const uint8_t*>(src.address) + i * src_step, bytes, half_to_float);
        DefineOnChip(core, to, bytes * factor);
    }
    core.time.Issue(core.launch->machine, move.pipe,
                    LoadCycles(core, Memory::Bt, static_cast<double>(pieces) * static_cast<double>(bytes)));
}

}  // namespace twin

extern "C" {

void npukb_cube_copy_convert(uint32_t, const npukb::BufferView* dst, const npukb::BufferView* src, const void* params) {
    const twin::Pinned pinned[] = {dst, src};
    twin::RunInsideCopy("DataCopy", *dst, *src, params, 0, true, NPUKB_PC);
}

void npukb_copy_nd2nz(uint32_t element_bytes, const void* dst, const void* src, const void* params) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const auto p = twin::Given<AscendC::Nd2NzParams>(params, NPUKB_PC);
    if (p.ndNum > 4095 || p.nValue > 16384 || p.dstNzC0Stride > 16384 || p.dstNzNStride > 16384) {
        core.Violate("limit_exceeded", pc, "Split the transfer.",
                     "DataCopy: Nd2NzParams with ndNum %u, nValue %u, dstNzC0Stride %u, dstNzNStride %u; the limits "
                     "are 4095 and 16384",
                     p.ndNum, p.nValue, p.dstNzC0Stride, p.dstNzNStride);
    }
    if (p.ndNum == 0 || p.nValue == 0 || p.dValue == 0) return;
    Rearrangement r{p.ndNum,
                    p.nValue,
                    p.dValue,
                    static_cast<uint64_t>(p.srcNdMatrixStride) * element_bytes,
                    static_cast<uint64_t>(p.srcDValue) * element_bytes,
                    static_cast<uint64_t>(p.dstNzMatrixStride) * element_bytes,
                    p.dstNzNStride * 32ull,
                    p.dstNzC0Stride * 32ull,
                    element_bytes};
    CheckApart(core, p, r, pc);
    const auto local = *static_cast<const npukb::BufferView*>(dst);
    const auto global = *static_cast<const npukb::GlobalView*>(src);
    CheckCubeMove(core, moves::DataCopy, Slot::Dst, local, r.DstSpan(), pc, CopyMemories(core));
    CheckGlobal(core, {"DataCopy", global.address, r.SrcSpan(), element_bytes, false, global.origin}, pc);
    if (core.order != nullptr && r.matrices == 1) {
        core.order->Refine(global.address, false, static_cast<uint64_t>(r.columns) * element_bytes, r.src_row, r.rows);
        if (r.Pieces() == 1) core.order->Refine(local.address, true, 32, r.dst_row, r.rows);
        if (r.dst_row == 32) core.order->Refine(local.address, true, r.rows * 32ull, r.dst_column, r.Pieces());
    }
    Rearrange(core, r, static_cast<uint8_t*>(local.address), static_cast<const uint8_t*>(global.address));
    if (BlocksMeet(r)) {
        core.Warn("overlap", pc, "Set dstNzC0Stride to the rows of the result, rounded up to 16.",
                  "DataCopy: with dstNzC0Stride %u and dstNzNStride %u, columns of %u rows overlap; the result is "
                  "undefined on the device",
                  p.dstNzC0Stride, p.dstNzNStride, r.rows);
        UndefineBlocks(r, static_cast<uint8_t*>(local.address));
    }
    double bytes = static_cast<double>(r.matrices) * r.rows * r.columns * element_bytes;
    const Pieces pieces{global.address, static_cast<uint64_t>(r.columns) * element_bytes,
                        static_cast<uint64_t>(r.matrices) * r.rows, static_cast<int64_t>(r.src_row)};
    core.AwaitWriters(Pipe::MTE2, pieces);
    TimeTransfer(core, Pipe::MTE2, {global.address, global.origin}, pieces.bytes, pieces.count, pieces.stride);
    core.bytes_in += static_cast<uint64_t>(bytes);
}
}
