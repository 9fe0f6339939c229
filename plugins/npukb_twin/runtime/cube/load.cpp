// LoadData: fractals on their way into L0A and L0B.
#include <string.h>

#include "../../include/twin/cube/params.h"
#include "check/raw_access.h"
#include "semantics/copy.h"
#include "cube/cube.h"
#include "check/tracker.h"

namespace twin {
namespace {

using npukb::DType;

// Fractals of one instruction, whole and in the order in which they are moved.
struct FractalWalk {
    const MoveRow& row;
    uint32_t count;     // iterations
    uint32_t per_step;  // fractals of an iteration
    int64_t src_first;  // in fractals
    int64_t src_step;
    uint64_t dst_step;
    uint64_t dst_fractal;  // from one fractal of an iteration to the next
};

uint64_t DstSpan(const FractalWalk& w) {
    return ((w.count - 1) * w.dst_step + (w.per_step - 1) * w.dst_fractal + 1) * kFractalBytes;
}

// Where the source begins and how far it reaches, whichever way it is gone through.
void SrcSpan(const FractalWalk& w, int64_t* first, uint64_t* bytes) {
    int64_t last = w.src_first + static_cast<int64_t>(w.count - 1) * w.src_step;
    int64_t low = w.src_first < last ? w.src_first : last, high = w.src_first < last ? last : w.src_first;
    *first = low * kFractalBytes;
    *bytes = static_cast<uint64_t>(high - low + w.per_step) * kFractalBytes;
}

npukb::BufferView Shifted(const npukb::BufferView& view, int64_t bytes) {
    npukb::BufferView part = view;
    part.address = static_cast<uint8_t*>(view.address) + bytes;
    part.bytes = static_cast<uint32_t>(view.bytes - bytes);
    return part;
}

template <typename T>
void TransposeWords(uint8_t* to, const uint8_t* from) {
    T in[256], out[256];
    memcpy(in, from, sizeof in);
    for (int r = 0; r < 16; ++r) {
        for (int c = 0; c < 16; ++c) out[c * 16 + r] = in[r * 16 + c];
    }
    memcpy(to, out, sizeof out);
}

// A square of `side` elements that consists of fractals, transposed into fractals.
void TransposeSquare(DType type, uint8_t* to, uint64_t dst_fractal_bytes, const uint8_t* from) {
    switch (BitsOfType(type)) {
        case 16: TransposeWords<uint16_t>(to, from); return;
        case 32:
            // Two fractals of 16 by 8 beside each other.
            for (int f = 0; f < 2; ++f) {
                uint32_t out[16][8];
                for (int r = 0; r < 16; ++r) {
                    for (int c = 0; c < 8; ++c) {
                        int row = f * 8 + c;  // of the source
                        memcpy(&out[r][c], from + (r / 8) * kFractalBytes + (row * 8 + r % 8) * 4, 4);
                    }
                }
                memcpy(to + f * dst_fractal_bytes, out, sizeof out);
            }
            return;
        case 8:
            // Two fractals of 16 by 32, one below the other.
            for (int f = 0; f < 2; ++f) {
                uint8_t out[16][32];
                for (int r = 0; r < 16; ++r) {
                    for (int c = 0; c < 32; ++c) out[r][c] = from[c * 32 + f * 16 + r];
                }
                memcpy(to + f * dst_fractal_bytes, out, sizeof out);
            }
            return;
        default:
            // Four fractals of 16 by 64 half bytes.
            for (int f = 0; f < 4; ++f) {
                uint8_t out[16][32];
                memset(out, 0, sizeof out);
                for (int r = 0; r < 16; ++r) {
                    int column = f * 16 + r;
                    for (int c = 0; c < 64; ++c) {
                        int value = from[c * 32 + column / 2] >> (column % 2 * 4) & 0xf;
                        out[r][c / 2] = static_cast<uint8_t>(out[r][c / 2] | value << (c % 2 * 4));
                    }
                }
                memcpy(to + f * dst_fractal_bytes, out, sizeof out);
            }
    }
}

// Whether a fractal of one iteration lies where another iteration puts one.
bool Overlaps(const FractalWalk& w) {
    for (uint64_t apart = 1; apart < w.per_step; ++apart) {
        uint64_t between = apart * w.dst_fractal;
        if (between % w.dst_step == 0 && between / w.dst_step < w.count) return true;
    }
    return false;
}

void CheckDestination(Core& core, const FractalWalk& w, const npukb::BufferView& dst, MemorySet memories,
                      const void* pc) {
    CheckCubeMove(core, w.row, Slot::Dst, dst, DstSpan(w), pc, memories);
    if (core.order != nullptr && w.per_step == 1) {
        core.order->Refine(dst.address, true, kFractalBytes, w.dst_step * kFractalBytes, w.count);
    }
}

void CheckSource(Core& core, const FractalWalk& w, const npukb::BufferView& src, const void* pc) {
    int64_t first;
    uint64_t bytes;
    SrcSpan(w, &first, &bytes);
    CheckCubeMove(core, w.row, Slot::Src0, Shifted(src, first), bytes, pc);
}

}  // namespace

void CheckCubeOperand(Core& core, const char* name, const char* role, const npukb::BufferView& view, uint64_t bytes,
                      uint32_t alignment, MemorySet memories, bool write, const void* pc) {
    CheckLocal(core, {name, role, view.address, bytes, view.bytes, alignment, write, memories}, pc);
}

double LoadCycles(const Core& core, Memory to, double bytes) {
    const Machine& m = core.launch->machine;
    double rate = to == Memory::L0A   ? m.load_a_bytes_per_cycle
                  : to == Memory::L0B ? m.load_b_bytes_per_cycle
                                      : m.load_table_bytes_per_cycle;
    return m.load_head_cycles + bytes / rate;
}

void DefineOnChip(Core& core, const void* address, uint64_t bytes) {
    if (core.tracker != nullptr) core.tracker->Results().Define(core.UbOffset(address), bytes);
}

}  // namespace twin

extern "C" {

void npukb_cube_load(npukb::DType type, const npukb::BufferView* dst, const void* src, int global, const void* params) {
    using namespace twin;
    const Pinned pinned[] = {dst};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const auto p = twin::Given<AscendC::LoadData2DParams>(params, NPUKB_PC);
    if (p.ifTranspose && (BitsOfType(type) != 16 || global)) {
        core.Violate("limit_exceeded", pc, "Use LoadDataWithTranspose.",
                     "LoadData: ifTranspose is for elements of 16 bits on their way from L1 to L0A and L0B");
    }
    if (p.addrMode > 1) {
        core.Violate("limit_exceeded", pc, "Use 0 to go upwards and 1 to go downwards.",
                     "LoadData: addrMode is %u, which is outside of 0 to 1", p.addrMode);
    }
    if (p.repeatTimes == 0) return;
    int64_t step = p.addrMode == 1 ? -static_cast<int64_t>(p.srcStride) : p.srcStride;
    FractalWalk w{moves::LoadData, p.repeatTimes, 1, p.startIndex, step, p.dstGap + 1ull, 1};
    const uint8_t* from;
    if (global) {
        const auto view = *static_cast<const npukb::GlobalView*>(src);
        int64_t first;
        uint64_t bytes;
        SrcSpan(w, &first, &bytes);
        from = static_cast<const uint8_t*>(view.address);
        CheckDestination(core, w, *dst, moves::LoadData.At(Slot::Dst).memories, pc);
        CheckGlobal(core, {w.row.name, from + first, bytes, 1, false, view.origin}, pc);
    } else {
        const auto view = *static_cast<const npukb::BufferView*>(src);
        from = static_cast<const uint8_t*>(view.address);
        CheckDestination(core, w, *dst, kL0, pc);
        CheckSource(core, w, view, pc);
    }
    auto* to = static_cast<uint8_t*>(dst->address);
    for (uint32_t i = 0; i < w.count; ++i) {
        uint8_t* here = to + i * w.dst_step * kFractalBytes;
        const uint8_t* there = from + (w.src_first + static_cast<int64_t>(i) * w.src_step) * kFractalBytes;
        if (p.ifTranspose) {
            TransposeWords<uint16_t>(here, there);
        } else {
            memmove(here, there, kFractalBytes);
        }
        DefineOnChip(core, here, kFractalBytes);
    }
    double bytes = static_cast<double>(w.count) * kFractalBytes;
    if (global) {
        core.AwaitWriters(Pipe::MTE2, {from, static_cast<uint64_t>(bytes), 1, 0});
        TimeTransfer(core, Pipe::MTE2, {from, nullptr}, static_cast<uint64_t>(bytes), 1, 0);
        core.bytes_in += static_cast<uint64_t>(bytes);
    } else {
        core.time.Issue(core.launch->machine, Pipe::MTE1, LoadCycles(core, core.Holding(dst->address), bytes));
    }
}

void npukb_cube_load_transposed(npukb::DType type, const npukb::BufferView* dst, const npukb::BufferView* src,
                                const void* params) {
    using namespace twin;
    const Pinned pinned[] = {dst, src};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const auto p = twin::Given<AscendC::LoadData2dTransposeParams>(params, NPUKB_PC);
    if (p.repeatTimes == 0) return;
    uint32_t bits = BitsOfType(type), fractals = bits == 16 ? 1 : bits == 4 ? 4 : 2;
    int64_t step = static_cast<int64_t>(p.srcStride) * fractals;
    FractalWalk w{moves::LoadDataWithTranspose,
                  p.repeatTimes,
                  fractals,
                  static_cast<int64_t>(p.startIndex) * fractals,
                  p.addrMode == 1 ? -step : step,
                  p.dstGap + 1ull,
                  p.dstFracGap + 1ull};
    CheckDestination(core, w, *dst, bits == 4 ? SetOf(Memory::L0B) : kL0, pc);
    CheckSource(core, w, *src, pc);
    auto* to = static_cast<uint8_t*>(dst->address);
    auto* from = static_cast<const uint8_t*>(src->address);
    for (uint32_t i = 0; i < w.count; ++i) {
        uint8_t* here = to + i * w.dst_step * kFractalBytes;
        TransposeSquare(type, here, w.dst_fractal * kFractalBytes,
                        from + (w.src_first + static_cast<int64_t>(i) * w.src_step) * kFractalBytes);
        for (uint32_t f = 0; f < fractals; ++f)
            DefineOnChip(core, here + f * w.dst_fractal * kFractalBytes, kFractalBytes);
    }
    if (Overlaps(w)) {
        core.Warn("overlap", pc, "Leave room for all fractals of an iteration: see dstGap and dstFracGap.",
                  "%s: with dstGap %u and dstFracGap %u iterations put fractals where others do; the result is "
                  "undefined on the device",
                  w.row.name, p.dstGap, p.dstFracGap);
        for (uint64_t i = 0; i < w.count; ++i) {
            for (uint64_t f = 0; f < fractals; ++f)
                memset(to + (i * w.dst_step + f * w.dst_fractal) * kFractalBytes, 0xff, kFractalBytes);
        }
    }
    core.time.Issue(
        core.launch->machine, Pipe::MTE1,
        LoadCycles(core, core.Holding(dst->address), static_cast<double>(w.count) * fractals * kFractalBytes));
}

void npukb_cube_load_sparse(const npukb::BufferView* dst, const npukb::BufferView* src, const npukb::BufferView* index,
                            const void* params) {
    using namespace twin;
    const Pinned pinned[] = {dst, src, index};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const auto p = twin::Given<AscendC::LoadData2DParams>(params, NPUKB_PC);
    if (p.repeatTimes == 0) return;
    FractalWalk w{moves::LoadDataWithSparse, p.repeatTimes, 1, p.startIndex, 1, 1, 1};
    constexpr uint32_t kIndexBytes = kFractalBytes / 4;
    CheckDestination(core, w, *dst, kL0, pc);
    CheckSource(core, w, *src, pc);
    CheckCubeMove(core, w.row, Slot::Src1, Shifted(*index, p.startIndex * static_cast<int64_t>(kIndexBytes)),
                  w.count * kIndexBytes, pc);
    uint64_t bytes = w.count * static_cast<uint64_t>(kFractalBytes);
    memcpy(dst->address, static_cast<const uint8_t*>(src->address) + w.src_first * kFractalBytes, bytes);
    memcpy(core.cube.sparse_index + core.OffsetIn(Memory::L0B, dst->address) / 4,
           static_cast<const uint8_t*>(index->address) + w.src_first * kIndexBytes, w.count * kIndexBytes);
    DefineOnChip(core, dst->address, bytes);
    core.time.Issue(core.launch->machine, Pipe::MTE1, LoadCycles(core, Memory::L0B, static_cast<double>(bytes) * 1.25));
}

void npukb_cube_fill(npukb::DType type, const npukb::BufferView* dst, const void* params, uint64_t value) {
    using namespace twin;
    const Pinned pinned[] = {dst};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const auto p =
        twin::Given<AscendC::InitConstValueParams<uint16_t>>(params, NPUKB_PC);  // every variant begins alike
    if (p.repeatTimes > 32767 || p.blockNum > 32767 || p.dstGap > 32767) {
        core.Violate("limit_exceeded", pc, "Split the fill.",
                     "Fill: repeatTimes %u, blockNum %u, dstGap %u; the limit is 32767", p.repeatTimes, p.blockNum,
                     p.dstGap);
    }
    if (p.repeatTimes == 0 || p.blockNum == 0) return;
    bool l1 = core.Holding(dst->address) == Memory::L1;
    uint64_t unit = l1 ? 32 : kFractalBytes, piece = p.blockNum * unit, stride = piece + p.dstGap * unit;
    uint64_t span = (p.repeatTimes - 1) * stride + piece;
    CheckCubeOperand(core, "Fill", "dst", *dst, span, l1 ? 32 : kFractalBytes, kL0 | SetOf(Memory::L1), true, pc);
    if (core.order != nullptr) core.order->Refine(dst->address, true, piece, stride, p.repeatTimes);
    uint32_t element = npukb::kDTypeBytes[static_cast<int>(type)];
    auto* to = static_cast<uint8_t*>(dst->address);
    for (uint32_t r = 0; r < p.repeatTimes; ++r) {
        for (uint64_t i = 0; i < piece; i += element) memcpy(to + r * stride + i, &value, element);
        DefineOnChip(core, to + r * stride, piece);
    }
    const Machine& m = core.launch->machine;
    double cycles = m.load_head_cycles + static_cast<double>(p.repeatTimes * piece) / m.load_b_bytes_per_cycle;
    core.time.Issue(m, l1 ? Pipe::MTE2 : Pipe::MTE1, cycles);
}
}
