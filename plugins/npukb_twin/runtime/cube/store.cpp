// The way out of L0C: Fixpipe and DataCopy quantise, clip and rearrange the fractals of a result.
#include <string.h>

#include "../../include/twin/cube/params.h"
#include "check/raw_access.h"
#include "semantics/atomic.h"
#include "semantics/copy.h"
#include "cube/cube.h"
#include "semantics/numeric.h"
#include "check/late_stores.h"
#include "check/tracker.h"

namespace twin {
namespace {

using npukb::DType;

// One instruction, wherever its numbers come from.
struct Store {
    const char* name;  // Fixpipe, or DataCopy where that does the same
    DType from, to;
    bool row_major;
    bool local;  // to L1
    uint8_t* dst;
    const uint8_t* src;
    uint32_t n, m;
    uint32_t src_stride;  // from one column of fractals to the next, in rows of 16 elements
    uint64_t dst_stride;  // in bytes: of a row, or of a column of fractals
    QuantMode_t mode;
    uint64_t scale;
    const uint8_t* scales;  // one word per column
    uint32_t matrices;
    uint64_t src_matrix, dst_matrix;  // bytes
    bool relu;
    uint8_t unit;
    bool split;
    bool saturate;

    // The operands, under the name that the kernel calls the instruction by.
    MoveRow Row() const {
        MoveRow row = moves::Fixpipe;
        row.name = name;
        return row;
    }
};

bool PerColumn(QuantMode_t mode) { return mode == VDEQF16 || mode == VQF322B8_PRE || mode == VREQ8; }

// Whether a mode makes `to` of `from`.
bool Fits(QuantMode_t mode, DType from, DType to) {
    bool byte = to == DType::I8 || to == DType::U8;
    switch (mode) {
        case NoQuant: return from == to;
        case F322F16: return from == DType::F32 && to == DType::F16;
        case F322BF16: return from == DType::F32 && to == DType::BF16;
        case DEQF16:
        case VDEQF16: return from == DType::I32 && to == DType::F16;
        case QF322B8_PRE:
        case VQF322B8_PRE: return from == DType::F32 && byte;
        case REQ8:
        case VREQ8: return from == DType::I32 && byte;
    }
    return false;
}

// The parts of a word of quantisation: the unit multiplies by a float of which it reads ten bits of fraction.
struct Scale {
    float factor;
    int shift;  // 0 for none
    int offset;
    bool is_signed;
    explicit Scale(uint64_t word)
        : factor(Bits<float>(static_cast<uint32_t>(word) & 0xffffe000u)),
          shift(word >> 36 & 1 ? static_cast<int>(word >> 32 & 0xf) + 1 : 0),
          offset(static_cast<int>(word >> 37 & 0x1ff)),
          is_signed((word >> 46 & 1) != 0) {
        if (offset > 255) offset -= 512;
    }
};

float Clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

// An integer on its way out, or the float that L0C holds, times its factor.
float Scaled(const Store& s, const Scale& scale, const uint8_t* element) {
    float x;
    if (s.from == DType::F32) {
        memcpy(&x, element, 4);
    } else {
        int32_t value;
        memcpy(&value, element, 4);
        if (scale.shift > 0)
            value = static_cast<int32_t>(Clamp(static_cast<float>(value >> scale.shift), -32768.0f, 32767.0f));
        x = static_cast<float>(value);
    }
    if (s.relu && x < 0) return 0.0f;
    return x * scale.factor;
}

half ToHalf(float x, bool saturate) {
    half h = static_cast<half>(x);
    if (!saturate) return h;
    if (x != x) return static_cast<half>(0.0f);
    float wide = static_cast<float>(h);
    return wide > 65504.0f ? static_cast<half>(65504.0f) : wide < -65504.0f ? static_cast<half>(-65504.0f) : h;
}

uint8_t ToByte(const Scale& scale, float x) {
    int value = x != x ? 0 : static_cast<int>(__builtin_rintf(Clamp(x, -256.0f, 255.0f)));
    value += scale.offset;
    if (scale.is_signed) return static_cast<uint8_t>(value < -128 ? -128 : value > 127 ? 127 : value);
    return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// `count` elements of one row, columns `column` and following, at most sixteen.
void Convert(const Store& s, uint8_t* to, const uint8_t* from, uint32_t column, uint32_t count) {
    if (s.mode == NoQuant && !s.relu) {
        memcpy(to, from, count * 4ull);
        return;
    }
    if (s.mode == F322F16 && !s.relu && !s.saturate) {
        float in[16];
        half out[16];
        memcpy(in, from, count * 4ull);
        for (uint32_t i = 0; i < count; ++i) out[i] = static_cast<half>(in[i]);
        memcpy(to, out, count * 2ull);
        return;
    }
    for (uint32_t i = 0; i < count; ++i) {
        uint64_t word = s.scale;
        if (PerColumn(s.mode)) memcpy(&word, s.scales + (column + i) * 8ull, 8);
        if (s.mode == NoQuant || s.mode == F322F16 || s.mode == F322BF16) word = 0x3f800000u;
        Scale scale(word);
        const uint8_t* element = from + i * 4;
        if (s.mode == NoQuant && s.from == DType::I32) {
            int32_t value;
            memcpy(&value, element, 4);
            if (value < 0) value = 0;
            memcpy(to + i * 4, &value, 4);
            continue;
        }
        float x = Scaled(s, scale, element);
        if (s.mode == NoQuant) {
            memcpy(to + i * 4, &x, 4);
        } else if (s.to == DType::F16) {
            half h = ToHalf(x, s.saturate);
            memcpy(to + i * 2, &h, 2);
        } else if (s.to == DType::BF16) {
            uint16_t brain = BrainFromFloat(s.saturate && x != x ? 0.0f : x);
            memcpy(to + i * 2, &brain, 2);
        } else {
            to[i] = ToByte(scale, x);
        }
    }
}

void Put(Core& core, const Store& s, uint8_t* to, const uint8_t* from, uint64_t bytes, const void* pc) {
    if (!s.local && core.atomic_mode != npukb::AtomicMode::None) {
        AtomicMove(core, to, from, bytes, pc);
    } else {
        memcpy(s.local || core.late == nullptr ? to : core.late->Place(to), from, bytes);
        if (!s.local) TrackStored(core, to, bytes);
    }
}

// Rows of a matrix, one after the other.
void StoreRows(Core& core, const Store& s, uint8_t* to, const uint8_t* from, const void* pc) {
    uint32_t size = Bytes(s.to);
    uint8_t row[4096 * 4];
    for (uint32_t i = 0; i < s.m; ++i) {
        for (uint32_t j = 0; j < s.n; j += 16) {
            uint32_t width = s.n - j < 16 ? s.n - j : 16;
            Convert(s, row + j * size, from + (static_cast<uint64_t>(j / 16) * s.src_stride + i) * 64, j, width);
        }
        Put(core, s, to + i * s.dst_stride, row, static_cast<uint64_t>(s.n) * size, pc);
    }
}

// Columns of an NZ matrix are 16 elements wide; 8 for floats that are split; 32 for bytes, but for a last one that has
// no partner.
uint32_t ColumnWidth(const Store& s, uint32_t column) {
    if (s.split) return 8;
    if (Bytes(s.to) == 1) return s.n - column >= 32 ? 32 : 16;
    return 16;
}

void StoreFractals(Core& core, const Store& s, const void* pc) {
    uint32_t size = Bytes(s.to), at = 0;
    for (uint32_t j = 0; j < s.n; ++at) {
        uint32_t width = ColumnWidth(s, j);
        for (uint32_t i = 0; i < s.m; ++i) {
            uint8_t row[64];
            for (uint32_t part = 0; part < width; part += 16) {
                uint32_t column = j + part;
                const uint8_t* from =
                    s.src + (static_cast<uint64_t>(column / 16) * s.src_stride + i) * 64 + column % 16 * 4;
                Convert(s, row + part * size, from, column, width < 16 ? width : 16);
            }
            Put(core, s, s.dst + at * s.dst_stride + i * static_cast<uint64_t>(width) * size, row,
                static_cast<uint64_t>(width) * size, pc);
        }
        j += width;
    }
}

void CheckLimits(Core& core, const Store& s, const void* pc) {
    const char* remedy = "See the ranges of the parameters; cut the matrix into smaller ones.";
    if (s.n == 0 || s.m == 0 || s.n > 4095 || (s.row_major && s.m > 8192)) {
        core.Violate("limit_exceeded", pc, remedy,
                     "%s: nSize %u, mSize %u; both begin at 1, the limits are 4095 and, for row-major results, 8192",
                     s.name, s.n, s.m);
    }
    if (!s.row_major && s.n % (s.split ? 8 : 16) != 0) {
        core.Violate("limit_exceeded", pc, "Round nSize up to whole fractals.",
                     "%s: nSize is %u, results in NZ need a multiple of %u", s.name, s.n, s.split ? 8 : 16);
    }
    if (s.dst_stride == 0) {
        core.Violate("limit_exceeded", pc, remedy, "%s: dstStride is 0; every row would overwrite the one before",
                     s.name);
    }
    if (s.unit == 1 || s.unit > 3) {
        core.Violate("limit_exceeded", pc, "Use 0, or 2 and 3 together with Mmad.",
                     "%s: unitFlag is %u, which means nothing", s.name, s.unit);
    }
    if (s.split && (s.row_major || s.from != DType::F32 || s.to != DType::F32)) {
        core.Violate("quant_mode", pc, "Split channels of float results in NZ only.",
                     "%s: channels are split where floats stay floats and the result is in NZ", s.name);
    }
    if (s.mode >= QF322F16_PRE) {
        core.Violate("quant_mode", pc, "Use a mode that this chip has, such as F322F16 or QF322B8_PRE.",
                     "%s: quantPre is a mode of other chips", s.name);
    }
    if (!Fits(s.mode, s.from, s.to)) {
        core.Violate("quant_mode", pc, "Choose the mode that leads from the type in L0C to the destination's.",
                     "%s: quantPre %d does not make the element type of dst out of that of src", s.name,
                     static_cast<int>(s.mode));
    }
    if (s.row_major && s.matrices > 1 && (s.src_matrix == 0 || s.src_matrix > 512 * 1024)) {
        core.Violate("limit_exceeded", pc, remedy,
                     "%s: srcNdStride is %llu, between several matrices 1 to 512 are possible", s.name,
                     static_cast<unsigned long long>(s.src_matrix / 1024));
    }
}

// Columns of fractals lie behind one another in L0C, rows or columns of the result in the destination.
void CheckStrides(Core& core, const Store& s, const void* pc) {
    if (s.n > 16 && s.src_stride < s.m) {
        core.Violate("limit_exceeded", pc, "Set srcStride to mSize rounded up to 16.",
                     "%s: srcStride is %u, and columns of fractals have %u rows", s.name, s.src_stride, s.m);
    }
    uint64_t row = static_cast<uint64_t>(s.n) * Bytes(s.to);
    if (s.row_major && s.m > 1 && s.dst_stride < row) {
        core.Warn("overlap", pc, "Set dstStride to the number of elements in a row of the result.",
                  "%s: rows of %u elements are stored %llu bytes apart; each overwrites a part of the one before",
                  s.name, s.n, static_cast<unsigned long long>(s.dst_stride));
    }
}

void CheckScales(Core& core, const Store& s, const void* pc) {
    for (uint32_t j = 0; j < (PerColumn(s.mode)                                              ? s.n
                              : s.mode == NoQuant || s.mode == F322F16 || s.mode == F322BF16 ? 0
                                                                                             : 1);
         ++j) {
        uint64_t word = s.scale;
        if (PerColumn(s.mode)) memcpy(&word, s.scales + j * 8ull, 8);
        if ((word & 0x7f800000u) != 0x7f800000u) continue;
        core.Warn("quant_mode", pc, "Give finite scales.", "%s: the scale of column %u is not a finite number", s.name,
                  j);
        return;
    }
}

// Fixpipe reads blocks of L0C whose flag is 1.
void MindUnitFlags(Core& core, const Store& s, uint64_t bytes, const void* pc) {
    uint32_t begin = core.OffsetIn(Memory::L0C, s.src);
    if (s.unit == 0) {
        if (core.cube.unit_flags[begin / kFractalBytes] == 0) return;
        core.Warn("unit_flag", pc, "Give Mmad and Fixpipe of a result both a unitFlag, or none.",
                  "%s: unitFlag is 0, and Mmad has set the unit flag of what is stored; it stays set", s.name);
        return;
    }
    for (uint32_t i = begin / kFractalBytes; i <= (begin + bytes - 1) / kFractalBytes; ++i) {
        if (core.cube.unit_flags[i] != 0) continue;
        core.Violate("unit_flag", pc, "Give the last Mmad of this result unitFlag 3.",
                     "%s: waits for the unit flag of L0C bytes %u to %u, which no Mmad sets", s.name, i * kFractalBytes,
                     (i + 1) * kFractalBytes);
    }
    core.time.HoldUntil(Pipe::FIX, core.cube.unit_set);
}

void ClearUnitFlags(Core& core, const Store& s, uint64_t bytes) {
    if (s.unit != 3) return;
    uint32_t begin = core.OffsetIn(Memory::L0C, s.src);
    uint32_t first = begin / kFractalBytes, last = static_cast<uint32_t>((begin + bytes - 1) / kFractalBytes);
    memset(core.cube.unit_flags + first, 0, last - first + 1);
    core.cube.unit_cleared = core.time.At(Pipe::FIX);
}

// Results that no Mmad has put there.
void CheckWritten(Core& core, const Store& s, const void* pc) {
    if (core.tracker == nullptr) return;
    Shadow& shadow = core.tracker->shadow();
    for (uint32_t column = 0; column < Blocks(s.n, 16); ++column) {
        uint32_t begin = core.UbOffset(s.src) + column * s.src_stride * 64;
        uint32_t first = shadow.FirstUndefined(begin, s.m * 64ull);
        if (first == begin + s.m * 64) continue;
        core.Warn("uninitialized_read", pc, "Store what a Mmad has computed, or begin with zeros.",
                  "%s: src holds bytes at L0C offset %u that no Mmad has written", s.name,
                  first - core.launch->RangeOf(Memory::L0C).offset);
        return;
    }
}

uint64_t DstSpan(const Store& s) {
    uint64_t size = Bytes(s.to);
    if (s.row_major) return (s.matrices - 1) * s.dst_matrix + (s.m - 1) * s.dst_stride + s.n * size;
    uint32_t columns = 0, width = 16;
    for (uint32_t j = 0; j < s.n; j += width, ++columns) width = ColumnWidth(s, j);
    return (columns - 1) * s.dst_stride + static_cast<uint64_t>(s.m) * width * size;
}

void CheckDestination(Core& core, const Store& s, const npukb::BufferView* local, const void* origin, const void* pc) {
    if (local != nullptr) {
        CheckCubeMove(core, s.Row(), Slot::Dst, *local, DstSpan(s), pc);
        return;
    }
    CheckGlobal(core, {s.name, s.dst, DstSpan(s), s.row_major ? Bytes(s.to) : 32, true, origin}, pc);
    bool rows = s.row_major && s.matrices == 1;
    if (core.order != nullptr && rows)
        core.order->Refine(s.dst, true, static_cast<uint64_t>(s.n) * Bytes(s.to), s.dst_stride, s.m);
    uint64_t bytes = static_cast<uint64_t>(s.matrices) * s.m * s.n * Bytes(s.to);
    if (core.late != nullptr && !rows && DstSpan(s) != bytes) core.late->Drop();
}

void Run(Core& core, const Store& s, const npukb::BufferView& src, const npukb::BufferView* local, const void* origin,
         const void* pc) {
    CheckLimits(core, s, pc);
    if (s.matrices == 0) return;
    uint64_t src_bytes = (static_cast<uint64_t>(Blocks(s.n, 16) - 1) * s.src_stride + Blocks(s.m, 16) * 16ull) * 64;
    if (s.row_major) src_bytes += (s.matrices - 1) * s.src_matrix;
    CheckCubeMove(core, s.Row(), Slot::Src0, src, src_bytes, pc);
    CheckStrides(core, s, pc);
    CheckScales(core, s, pc);
    CheckWritten(core, s, pc);
    MindUnitFlags(core, s, src_bytes, pc);
    CheckDestination(core, s, local, origin, pc);
    bool atomic = !s.local && core.atomic_mode != npukb::AtomicMode::None;
    if (atomic) WaitForTurn(core);
    if (s.row_major) {
        for (uint32_t i = 0; i < s.matrices; ++i)
            StoreRows(core, s, s.dst + i * s.dst_matrix, s.src + i * s.src_matrix, pc);
    } else {
        StoreFractals(core, s, pc);
    }
    const Machine& m = core.launch->machine;
    double bytes = static_cast<double>(s.matrices) * s.m * s.n * Bytes(s.to);
    if (s.local) {
        DefineOnChip(core, s.dst, DstSpan(s));
        core.time.Issue(m, Pipe::FIX,
                        m.load_head_cycles + bytes / (Bytes(s.to) == 2 ? m.fixpipe_l1_b16_bytes_per_cycle
                                                                       : m.fixpipe_l1_b8_bytes_per_cycle));
    } else {
        uint64_t row = static_cast<uint64_t>(s.n) * Bytes(s.to), rows = static_cast<uint64_t>(s.matrices) * s.m;
        const Pieces pieces{s.dst, s.row_major ? row : row * rows, s.row_major ? rows : 1,
                            static_cast<int64_t>(s.dst_stride)};
        TimeTransfer(core, Pipe::FIX, {s.dst, origin}, pieces.bytes, pieces.count, pieces.stride);
        core.Wrote(Pipe::FIX, pieces);
        core.bytes_out += static_cast<uint64_t>(bytes);
    }
    ClearUnitFlags(core, s, src_bytes);
}

// What both instructions have in common.
Store Prepare(Core& core, const char* name, uint32_t types, uint32_t flags, const void* dst,
              const npukb::BufferView& src) {
    Store s{};
    s.name = name;
    s.to = static_cast<DType>(types & 0xff);
    s.from = static_cast<DType>(types >> 8 & 0xff);
    s.row_major = (flags & npukb::kStoreRowMajor) != 0;
    s.local = (flags & npukb::kStoreLocal) != 0;
    s.dst = *static_cast<uint8_t* const*>(dst);  // tensors begin with their address
    s.src = static_cast<const uint8_t*>(src.address);
    s.saturate = core.vector.saturate;
    s.matrices = 1;
    return s;
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_cube_fixpipe(uint32_t types, uint32_t flags, const void* dst, const npukb::BufferView* src,
                        const npukb::BufferView* scales, const void* params) {
    using namespace twin;
    const Pinned pinned[] = {src, scales};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const auto p = twin::Given<AscendC::FixpipeParamsV220>(params, NPUKB_PC);
    Store s = Prepare(core, "Fixpipe", types, flags, dst, *src);
    s.n = p.nSize, s.m = p.mSize, s.src_stride = p.srcStride;
    s.dst_stride = static_cast<uint64_t>(p.dstStride) * (s.row_major ? Bytes(s.to) : 32);
    s.mode = p.quantPre, s.scale = p.deqScalar, s.relu = p.reluEn, s.unit = p.unitFlag, s.split = p.isChannelSplit;
    if (s.row_major) {
        s.matrices = p.ndNum;
        s.src_matrix = p.srcNdStride * 1024ull;
        s.dst_matrix = static_cast<uint64_t>(p.dstNdStride) * Bytes(s.to);
    }
    if (PerColumn(s.mode)) {
        if (scales == nullptr) {
            core.Violate("quant_mode", pc, "Give the tensor of scales as third argument.",
                         "Fixpipe: quantPre %d takes a scale per column, and there is no tensor of them",
                         static_cast<int>(s.mode));
        }
        CheckCubeMove(core, moves::Fixpipe, Slot::Src1, *scales, s.n * 8ull, pc);
        s.scales = static_cast<const uint8_t*>(scales->address);
    }
    const auto* global = static_cast<const npukb::GlobalView*>(dst);
    const auto* local = static_cast<const npukb::BufferView*>(dst);
    Run(core, s, *src, s.local ? local : nullptr, s.local ? nullptr : global->origin, pc);
}

void npukb_cube_copy_out(uint32_t types, uint32_t flags, const void* dst, const npukb::BufferView* src,
                         const void* params) {
    using namespace twin;
    const Pinned pinned[] = {src};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    const auto p = twin::Given<AscendC::DataCopyCO12DstParams>(params, NPUKB_PC);
    Store s = Prepare(core, "DataCopy", types, flags, dst, *src);
    s.row_major = p.nz2ndEn && !s.local;
    s.n = p.nSize, s.m = p.mSize, s.src_stride = p.srcStride;
    s.dst_stride = static_cast<uint64_t>(p.dstStride) * (s.row_major ? Bytes(s.to) : 32);
    s.mode = p.quantPre, s.scale = core.cube.pre_quant, s.relu = p.reluPre != 0, s.unit = p.unitFlag,
    s.split = p.channelSplit;
    if (p.clipReluPre != 0 || p.eltWiseOp != 0) {
        core.Warn("other_chip", pc, "Leave clipReluPre and eltWiseOp at 0.",
                  "DataCopy: clipReluPre and eltWiseOp are documented for other chips, and are ignored");
    }
    if (s.row_major && core.cube.nz_to_nd != 0) {
        s.matrices = core.cube.nz_to_nd & 0xffff;
        s.src_matrix = (core.cube.nz_to_nd >> 16 & 0xffff) * 1024;
        s.dst_matrix = (core.cube.nz_to_nd >> 32 & 0xffff) * Bytes(s.to);
        if (s.matrices > 1 && s.dst_matrix == 0) {
            core.Violate("limit_exceeded", pc, "Say with SetFixpipeNz2ndFlag how far apart the matrices lie.",
                         "DataCopy: dstNdStride is 0, and %u matrices are stored", s.matrices);
        }
    } else if (s.row_major) {
        core.Violate("quant_mode", pc, "Call SetFixpipeNz2ndFlag first.",
                     "DataCopy: nz2ndEn is set, and SetFixpipeNz2ndFlag has not said how many matrices there are");
    }
    if (PerColumn(s.mode)) {
        if (core.cube.scales == nullptr) {
            core.Violate(
                "quant_mode", pc, "Call SetFixPipeConfig with the tensor of scales first.",
                "DataCopy: quantPre %d takes a scale per column, and SetFixPipeConfig has not said where they are",
                static_cast<int>(s.mode));
        }
        uint32_t rest = core.launch->RangeOf(Memory::Fb).bytes - core.OffsetIn(Memory::Fb, core.cube.scales);
        npukb::BufferView view{const_cast<uint8_t*>(core.cube.scales), rest, 0, 0};
        CheckCubeOperand(core, s.name, "quantPre", view, s.n * 8ull, 128, SetOf(Memory::Fb), false, pc);
        s.scales = core.cube.scales;
    }
    const auto* global = static_cast<const npukb::GlobalView*>(dst);
    const auto* local = static_cast<const npukb::BufferView*>(dst);
    Run(core, s, *src, s.local ? local : nullptr, s.local ? nullptr : global->origin, pc);
}

void npukb_cube_fixpipe_config(const npukb::BufferView* scales, int clear_unit_flags) {
    using namespace twin;
    const Pinned pinned[] = {scales};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    if (clear_unit_flags) memset(core.cube.unit_flags, 0, sizeof core.cube.unit_flags);
    if (core.Holding(scales->address) == Memory::L0C && clear_unit_flags) return;  // nothing else is meant
    CheckCubeOperand(core, "SetFixPipeConfig", "quantPre", *scales, 8, 128, SetOf(Memory::Fb), false, pc);
    if (core.order != nullptr) core.order->Forget();
    core.cube.scales = static_cast<const uint8_t*>(scales->address);
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
}
}
