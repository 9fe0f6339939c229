// Mmad: fractals of L0A and L0B become floats, rows of A and panels of B, and their product is added to L0C where it
// lies.
#include <stdlib.h>
#include <string.h>

#include "../../include/twin/cube/params.h"
#include "check/raw_access.h"
#include "cube/cube.h"
#include "cube/product.h"
#include "time/cube_pace.h"
#include "check/tracker.h"

namespace twin {
namespace {

using npukb::DType;

struct Product {
    DType type;  // of A and B
    uint32_t m, n, k;
    uint32_t depth;      // k in fractals
    uint32_t a_columns;  // fractals in a row of L0A
    bool vector;         // one row, which lies in L0A without fractals
};

// Room for unpacked operands, kept by the thread: no Mmad has more than L0A and L0B hold.
float* Scratch(int which, size_t count) {
    static thread_local struct {
        float* memory;
        size_t room;
    } kept[3];
    auto& s = kept[which];
    if (s.room < count) {
        free(s.memory);
        s.memory = static_cast<float*>(aligned_alloc(64, (count * 4 + 63) & ~size_t{63}));
        if (s.memory == nullptr) abort();
        s.room = count;
    }
    return s.memory;
}

float HalfByte(uint8_t byte, uint32_t high) {
    int value = high ? byte >> 4 : byte & 0xf;
    return static_cast<float>(value < 8 ? value : value - 16);
}

// Consecutive elements as floats.
void Widen(DType type, float* to, const uint8_t* from, uint32_t count) {
    switch (type) {
        case DType::F16: {
            half in[64];
            memcpy(in, from, count * 2);
            for (uint32_t i = 0; i < count; ++i) to[i] = static_cast<float>(in[i]);
            return;
        }
        case DType::BF16: {
            uint16_t in[64];
            memcpy(in, from, count * 2);
            for (uint32_t i = 0; i < count; ++i) {
                uint32_t word = static_cast<uint32_t>(in[i]) << 16;
                memcpy(to + i, &word, 4);
            }
            return;
        }
        case DType::I8:
            for (uint32_t i = 0; i < count; ++i) to[i] = static_cast<float>(static_cast<int8_t>(from[i]));
            return;
        case DType::I4:
            for (uint32_t i = 0; i < count; ++i) to[i] = HalfByte(from[i / 2], i % 2);
            return;
        default: memcpy(to, from, count * 4ull);
    }
}

// A as rows of `ld` floats. A row is read in pieces of 32 bytes, each from another fractal.
void UnpackRows(const Product& p, float* to, uint32_t ld, const uint8_t* from) {
    uint32_t columns = ColumnsOfFractal(p.type);
    for (uint32_t i = 0; i < p.m; ++i) {
        for (uint32_t f = 0; f < p.depth; ++f) {
            const uint8_t* piece =
                p.vector ? from + f * 32 : from + (i / 16 * p.a_columns + f) * kFractalBytes + i % 16 * 32;
            Widen(p.type, to + static_cast<size_t>(i) * ld + f * columns, piece, columns);
        }
    }
}

// B as panels of 16 columns, `ld` rows each.
void UnpackPanels(const Product& p, float* to, uint32_t ld, const uint8_t* from) {
    uint32_t columns = ColumnsOfFractal(p.type), panels = Blocks(p.n, kCubeSide);
    float wide[16][64];
    for (uint32_t f = 0; f < p.depth; ++f) {
        for (uint32_t panel = 0; panel < panels; ++panel) {
            const uint8_t* fractal = from + (f * panels + panel) * kFractalBytes;
            for (uint32_t c = 0; c < 16; ++c) Widen(p.type, wide[c], fractal + c * 32, columns);
            float* rows = to + (static_cast<size_t>(panel) * ld + f * columns) * 16;
            for (uint32_t r = 0; r < columns; ++r) {
                for (uint32_t c = 0; c < 16; ++c) rows[r * 16 + c] = wide[c][r];
            }
        }
    }
}

// A row of a sparse product: of every four elements of A the two that the index of this column names.
void SelectRow(float* to, const float* row, const uint8_t* index, uint32_t column, uint32_t k, uint32_t panels) {
    for (uint32_t pair = 0; pair < k / 4; ++pair) {
        uint32_t at = 2 * pair, fractal = at / 32 * panels + column / 16;
        uint8_t byte = index[fractal * 128 + column % 16 * 8 + at % 32 / 4];
        uint32_t first = byte >> (at % 4 * 2) & 3, second = (byte >> (at % 4 * 2 + 2) & 3) + 1;
        if (first == 2 && second == 1) second = 2;
        to[at] = row[4 * pair + (first < 3 ? first : 2)];
        to[at + 1] = row[4 * pair + (second < 4 ? second : 3)];
    }
}

void RunSparse(const Core& core, const Product& p, int32_t* c, const float* a, uint32_t ld_a, const float* b,
               uint32_t ld_b, const void* filter) {
    uint32_t panels = Blocks(p.n, kCubeSide), rows = Blocks(p.m, kCubeSide) * kCubeSide;
    const uint8_t* index = core.cube.sparse_index + core.OffsetIn(Memory::L0B, filter) / 4;
    float* chosen = Scratch(2, p.k);
    for (uint32_t i = 0; i < p.m; ++i) {
        for (uint32_t j = 0; j < p.n; ++j) {
            SelectRow(chosen, a + static_cast<size_t>(i) * ld_a, index, j, p.k, panels);
            int64_t sum = 0;
            for (uint32_t q = 0; q < p.k / 2; ++q) {
                sum += static_cast<int64_t>(chosen[q]) *
                       static_cast<int64_t>(b[(static_cast<size_t>(j / 16) * ld_b + q) * 16 + j % 16]);
            }
            int32_t& at = c[(j / 16 * static_cast<size_t>(rows) + i) * 16 + j % 16];
            sum += at;
            at = static_cast<int32_t>(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
        }
    }
}

// Every row of the result begins with the bias, or with zeros.
void Begin(const Product& p, uint8_t* c, const uint8_t* bias) {
    uint32_t panels = Blocks(p.n, kCubeSide), rows = Blocks(p.m, kCubeSide) * kCubeSide;
    for (uint32_t panel = 0; panel < panels; ++panel) {
        uint8_t row[64] = {};
        uint32_t width = p.n - panel * 16 < 16 ? p.n - panel * 16 : 16;
        if (bias != nullptr) memcpy(row, bias + panel * 64, width * 4);
        for (uint32_t i = 0; i < p.m; ++i) memcpy(c + (static_cast<size_t>(panel) * rows + i) * 64, row, 64);
    }
}

// k counts in whole rows of fractals.
double MultiplyCycles(const Machine& m, const Core& core, const Product& p, bool sparse) {
    uint32_t granule = ColumnsOfFractal(p.type);
    uint32_t k = Blocks(sparse ? p.k / 2 : p.k, granule) * granule;
    double cycles =
        static_cast<double>(Blocks(p.m, 16)) * Blocks(p.n, 16) * k / DepthPerCycle(m, p.type, core.cube.hf32);
    return cycles < m.mmad_issue_cycles ? m.mmad_issue_cycles : cycles;
}

void Round(float* values, size_t count, bool away) {
    for (size_t i = 0; i < count; ++i) values[i] = ToHf32(values[i], away);
}

void Multiply(const Core& core, const Product& p, uint8_t* c, const uint8_t* a, const uint8_t* b, bool sparse) {
    uint32_t columns = ColumnsOfFractal(p.type), ld = p.depth * columns, panels = Blocks(p.n, kCubeSide);
    uint32_t rows = Blocks(p.m, kCubeSide) * kCubeSide;
    Product right = p;
    if (sparse) right.depth = Blocks(p.k / 2, columns);
    uint32_t ld_b = right.depth * columns;
    float* left = Scratch(0, static_cast<size_t>(p.m) * ld);
    float* panel = Scratch(1, static_cast<size_t>(panels) * ld_b * 16);
    UnpackRows(p, left, ld, a);
    UnpackPanels(right, panel, ld_b, b);
    if (p.type == DType::F32 && core.cube.hf32) {
        Round(left, static_cast<size_t>(p.m) * ld, core.cube.hf32_away);
        Round(panel, static_cast<size_t>(panels) * ld_b * 16, core.cube.hf32_away);
    }
    bool integers = p.type == DType::I8 || p.type == DType::I4;
    if (sparse) {
        RunSparse(core, p, reinterpret_cast<int32_t*>(c), left, ld, panel, ld_b, b);
    } else if (integers) {
        for (uint32_t j = 0; j < panels; ++j) {
            MultiplyAccumulateInteger(reinterpret_cast<int32_t*>(c) + static_cast<size_t>(j) * rows * 16, 16, left, ld,
                                      panel + static_cast<size_t>(j) * ld_b * 16, 16, p.m, 16, p.k);
        }
    } else {
        MultiplyPanels(reinterpret_cast<float*>(c), rows * 16, left, ld, panel, ld_b * 16, p.m, p.n, p.k);
    }
}

// Where the parts of an operand begin, one in each fractal.
struct Fractals {
    const char* role;
    const void* address;
    uint64_t count;
    uint32_t bytes;  // from one to the next
};

// Operands that nothing has filled in. The beginnings of fractals do: they hold elements of every product.
void CheckFilled(Core& core, const char* name, const Fractals& f, const void* pc) {
    if (core.tracker == nullptr) return;
    Shadow& shadow = core.tracker->shadow();
    const Memory memory = core.Holding(f.address);
    for (uint64_t i = 0; i < f.count; ++i) {
        auto begin = static_cast<uint32_t>(core.UbOffset(f.address) + i * f.bytes);
        if (shadow.FirstUndefined(begin, 32) != begin) continue;
        core.Warn("uninitialized_read", pc, "Load both factors, and begin a sum with cmatrixInitVal or a bias.",
                  "%s: %s holds bytes at %s offset %u that nothing has written", name, f.role, MemoryName(memory),
                  begin - core.launch->RangeOf(memory).offset);
        return;
    }
}

void CheckLimits(Core& core, const char* name, const AscendC::MmadParams& p, bool floats, bool sparse, const void* pc) {
    if (p.m > 4095 || p.n > 4095 || p.k > 4095) {
        core.Violate("limit_exceeded", pc, "Cut the matrices into smaller blocks.",
                     "%s: m %u, n %u, k %u; the limit is 4095", name, p.m, p.n, p.k);
    }
    if (p.unitFlag == 1 || p.unitFlag > 3) {
        core.Violate("limit_exceeded", pc, "Use 0, or 2 and 3 together with Fixpipe.",
                     "%s: unitFlag is %u, which means nothing", name, p.unitFlag);
    }
    if (p.kDirectionAlign && !floats) {
        core.Warn("limit_exceeded", pc, "Leave kDirectionAlign alone for other types than float.",
                  "%s: kDirectionAlign is for float, and is ignored here", name);
    }
    if (sparse && p.k % 4 != 0) {
        core.Violate("limit_exceeded", pc, "Fill k up to a multiple of 4.", "%s: k is %u, elements are chosen in fours",
                     name, p.k);
    }
}

// Flags of the memory blocks of L0C: Mmad writes where they are 0.
void MindUnitFlags(Core& core, const char* name, const npukb::BufferView& dst, uint64_t bytes, uint8_t unit,
                   const void* pc) {
    if (unit == 0) return;
    uint32_t first = core.OffsetIn(Memory::L0C, dst.address) / kFractalBytes;
    auto last = static_cast<uint32_t>((core.OffsetIn(Memory::L0C, dst.address) + bytes - 1) / kFractalBytes);
    for (uint32_t i = first; i <= last; ++i) {
        if (core.cube.unit_flags[i] == 0) continue;
        core.Violate("unit_flag", pc, "Let a Fixpipe with unitFlag 3 take what an earlier Mmad with unitFlag 3 left.",
                     "%s: waits for the unit flag of L0C bytes %u to %u, which nothing clears", name, i * kFractalBytes,
                     (i + 1) * kFractalBytes);
    }
    core.time.HoldUntil(Pipe::M, core.cube.unit_cleared);
}

void SetUnitFlags(Core& core, const npukb::BufferView& dst, uint64_t bytes, uint8_t unit) {
    if (unit != 3) return;
    uint32_t first = core.OffsetIn(Memory::L0C, dst.address) / kFractalBytes;
    auto last = static_cast<uint32_t>((core.OffsetIn(Memory::L0C, dst.address) + bytes - 1) / kFractalBytes);
    memset(core.cube.unit_flags + first, 1, last - first + 1);
    core.cube.unit_set = core.time.At(Pipe::M);
}

}  // namespace
}  // namespace twin

extern "C" void npukb_cube_multiply(uint32_t types, const npukb::BufferView* dst, const npukb::BufferView* a,
                                    const npukb::BufferView* b, const npukb::BufferView* bias, const void* params,
                                    int sparse) {
    using namespace twin;
    const Pinned pinned[] = {dst, a, b, bias};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const MoveRow& row = sparse ? moves::MmadWithSparse : moves::Mmad;
    const char* name = row.name;
    const auto p = twin::Given<AscendC::MmadParams>(params, NPUKB_PC);
    auto type = static_cast<npukb::DType>(types >> 8 & 0xff);
    bool floats = type == npukb::DType::F32;
    CheckLimits(core, name, p, floats, sparse, pc);
    if (p.m == 0 || p.n == 0 || p.k == 0) return;
    uint32_t columns = ColumnsOfFractal(type), depth = Blocks(p.k, columns), panels = Blocks(p.n, 16),
             strips = Blocks(p.m, 16);
    Product product{
        type, p.m, p.n, p.k, depth, floats && p.kDirectionAlign ? Blocks(p.k, 16) * 2 : depth, p.m == 1 && !sparse};
    uint64_t c_bytes = static_cast<uint64_t>(panels) * strips * 1024;
    uint64_t a_bytes = product.vector ? static_cast<uint64_t>(depth) * 32
                                      : (static_cast<uint64_t>(strips - 1) * product.a_columns + depth) * kFractalBytes;
    uint64_t b_bytes = static_cast<uint64_t>(sparse ? Blocks(p.k / 2, columns) : depth) * panels * kFractalBytes;
    bool from_table = bias != nullptr ? core.Holding(bias->address) != Memory::L0C
                                      : !p.cmatrixInitVal && !p.isBias && p.cmatrixSource;
    bool accumulates = !from_table && (bias != nullptr || !p.cmatrixInitVal || p.isBias);
    // Large products keep their own order where they add to the same place.
    if (strips * panels >= 10) core.time.Barrier(Pipe::M);
    MindUnitFlags(core, name, *dst, c_bytes, p.unitFlag, pc);
    CheckCubeMove(core, row, Slot::Src0, *a, a_bytes, pc);
    CheckCubeMove(core, row, Slot::Src1, *b, b_bytes, pc);
    const OperandRow& sum = row.At(Slot::Dst);
    if (accumulates) CheckCubeOperand(core, name, sum.role, *dst, c_bytes, sum.alignment, sum.memories, false, pc);
    CheckCubeMove(core, row, Slot::Dst, *dst, c_bytes, pc);
    npukb::BufferView table{core.ub + core.launch->RangeOf(Memory::Bt).offset, core.launch->RangeOf(Memory::Bt).bytes,
                            0, 0};
    if (from_table && bias != nullptr) table = *bias;
    if (from_table) CheckCubeMove(core, row, Slot::Src2, table, p.n * 4ull, pc);
    if (product.vector || product.a_columns == depth) {
        uint64_t pieces = static_cast<uint64_t>(depth) * (product.vector ? 1 : strips);
        CheckFilled(core, name, {"fm", a->address, pieces, product.vector ? 32u : kFractalBytes}, pc);
    }
    CheckFilled(core, name, {"filter", b->address, b_bytes / kFractalBytes, kFractalBytes}, pc);
    if (accumulates) CheckFilled(core, name, {"dst", dst->address, c_bytes / 1024, 1024}, pc);
    auto* c = static_cast<uint8_t*>(dst->address);
    if (!accumulates) Begin(product, c, from_table ? static_cast<const uint8_t*>(table.address) : nullptr);
    Multiply(core, product, c, static_cast<const uint8_t*>(a->address), static_cast<const uint8_t*>(b->address),
             sparse);
    DefineOnChip(core, c, c_bytes);
    const Machine& machine = core.launch->machine;
    core.time.Issue(machine, Pipe::M, MultiplyCycles(machine, core, product, sparse), 0, machine.mmad_drain_cycles);
    SetUnitFlags(core, *dst, c_bytes, p.unitFlag);
}
