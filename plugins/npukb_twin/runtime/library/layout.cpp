// TransData, and the library's Transpose: whole tensors from one arrangement into another.
#include "../../include/twin/layout.h"
#include "../../include/twin/transpose.h"

#include <string.h>

#include "library/rows.h"

namespace twin {
namespace {

using AscendC::DataFormat;
using AscendC::TransposeType;
using npukb::BufferView;

constexpr uint64_t kC0 = 16;

uint64_t Up16(uint64_t n) { return (n + 15) / 16 * 16; }

// The axes of a tensor in NCDHW.
struct Volume {
    uint64_t n, c, d, h, w;
    uint64_t Row() const { return Up16(h * w); }  // h and w together, padded to whole blocks
    uint64_t Plain() const { return n * c * d * Row(); }
};

void CheckSplit(const Library& call, const char* axis, uint64_t whole, uint64_t outer, uint64_t inner) {
    if (inner == kC0 && outer == (whole + kC0 - 1) / kC0) return;
    call.core().Violate("bad_shape", call.pc(), "Split c and n into parts of 16: c1 = (c + 15) / 16, c0 = 16.",
                        "TransData: %s is %llu in NCDHW and %llu times %llu in the other shape", axis,
                        static_cast<unsigned long long>(whole), static_cast<unsigned long long>(outer),
                        static_cast<unsigned long long>(inner));
}

void CheckEqual(const Library& call, const Volume& v, uint64_t d, uint64_t h, uint64_t w) {
    if (v.d == d && v.h == h && v.w == w) return;
    call.core().Violate("bad_shape", call.pc(), "Give both layouts the sizes of the same tensor.",
                        "TransData: d, h, w are %llu, %llu, %llu in NCDHW and %llu, %llu, %llu in the other shape",
                        static_cast<unsigned long long>(v.d), static_cast<unsigned long long>(v.h),
                        static_cast<unsigned long long>(v.w), static_cast<unsigned long long>(d),
                        static_cast<unsigned long long>(h), static_cast<unsigned long long>(w));
}

// Elements in front of (n, c, d, hw) in either split format.
struct Split {
    bool fractal;
    uint64_t c1, n_room, image;  // image: elements of h and w, unpadded
    const Volume& v;
    uint64_t Place(uint64_t n, uint64_t c, uint64_t d, uint64_t hw) const {
        if (fractal) return (((d * c1 + c / kC0) * image + hw) * n_room + n) * kC0 + c % kC0;
        return (((n * v.d + d) * c1 + c / kC0) * image + hw) * kC0 + c % kC0;
    }
    uint64_t Size() const { return (fractal ? n_room : v.n) * v.d * c1 * image * kC0; }
};

void Convert(const Library& call, const Volume& v, const Split& split, bool to_split, const BufferView* dst,
             const BufferView* src) {
    auto plain = static_cast<int64_t>(v.Plain()), whole = static_cast<int64_t>(split.Size());
    auto* from = call.Read<uint16_t>(src, to_split ? plain : whole, "srcTensor");
    auto* to = call.Write<uint16_t>(dst, to_split ? whole : plain, "dstTensor");
    call.Apart();
    memset(to, 0, static_cast<size_t>(to_split ? whole : plain) * 2);
    uint64_t row = v.Row();
    for (uint64_t n = 0; n < v.n; ++n) {
        for (uint64_t c = 0; c < v.c; ++c) {
            for (uint64_t d = 0; d < v.d; ++d) {
                uint64_t at = ((n * v.c + c) * v.d + d) * row;
                for (uint64_t hw = 0; hw < split.image; ++hw) {
                    uint64_t place = split.Place(n, c, d, hw);
                    if (to_split)
                        to[place] = from[at + hw];
                    else
                        to[at + hw] = from[place];
                }
            }
        }
    }
    call.Charge(npukb::DType::F16, plain > whole ? plain : whole, 2);
}

// A tensor (b, n, s, hn) in NZ: fractals of 16 rows of 16 elements, one column of fractals after the other. What a part
// of the last axis leaves of its last fractal is padding.
struct Heads {
    uint64_t b, n, s, hn;
};

// Elements in front of (row, column) of one NZ matrix of `rows`.
uint64_t InNz(uint64_t row, uint64_t column, uint64_t rows) {
    return column / 16 * Up16(rows) * 16 + row * 16 + column % 16;
}

struct Place {
    uint64_t at;
    uint64_t size;  // of the whole tensor
};

// Where (b, n, s, k) lies: the last axis in `n` parts (a matrix each) or joined into rows of n * hn.
Place Parted(const Heads& i, uint64_t b, uint64_t n, uint64_t s, uint64_t k) {
    uint64_t matrix = Up16(i.hn) * Up16(i.s);
    return {(b * i.n + n) * matrix + InNz(s, k, i.s), i.b * i.n * matrix};
}
Place Joined(const Heads& i, uint64_t b, uint64_t n, uint64_t s, uint64_t k) {
    uint64_t matrix = Up16(i.n * i.hn) * Up16(i.s);
    return {b * matrix + InNz(s, n * i.hn + k, i.s), i.b * matrix};
}

Place Source(TransposeType type, const Heads& i, uint64_t b, uint64_t n, uint64_t s, uint64_t k) {
    bool split = type == TransposeType::TRANSPOSE_NZ2NZ_012_WITH_N || type == TransposeType::TRANSPOSE_NZ2ND_012_WITH_N;
    return split ? Joined(i, b, n, s, k) : Parted(i, b, n, s, k);
}

Place Target(TransposeType type, const Heads& i, uint64_t b, uint64_t n, uint64_t s, uint64_t k) {
    uint64_t wide = Up16(i.hn), row = Up16(i.n * i.hn);
    switch (type) {
        case TransposeType::TRANSPOSE_NZ2ND_0213: return {((b * i.s + s) * i.n + n) * wide + k, i.b * i.s * i.n * wide};
        case TransposeType::TRANSPOSE_NZ2NZ_0213: {
            uint64_t matrix = wide * Up16(i.n);
            return {(b * i.s + s) * matrix + InNz(n, k, i.n), i.b * i.s * matrix};
        }
        case TransposeType::TRANSPOSE_NZ2NZ_012_WITH_N: return Parted(i, b, n, s, k);
        case TransposeType::TRANSPOSE_NZ2ND_012_WITH_N:
            return {((b * i.n + n) * i.s + s) * wide + k, i.b * i.n * i.s * wide};
        case TransposeType::TRANSPOSE_NZ2ND_012_WITHOUT_N: return {(b * i.s + s) * row + n * i.hn + k, i.b * i.s * row};
        default: return Joined(i, b, n, s, k);
    }
}

void Move(const Library& call, TransposeType type, const Heads& i, uint32_t bytes, const BufferView* dst,
          const BufferView* src) {
    uint64_t from_size = Source(type, i, 0, 0, 0, 0).size, to_size = Target(type, i, 0, 0, 0, 0).size;
    auto* from = call.Read<uint8_t>(src, static_cast<int64_t>(from_size * bytes), "src");
    auto* to = call.Write<uint8_t>(dst, static_cast<int64_t>(to_size * bytes), "dst");
    call.Apart();
    memset(to, 0, to_size * bytes);
    for (uint64_t b = 0; b < i.b; ++b) {
        for (uint64_t n = 0; n < i.n; ++n) {
            for (uint64_t s = 0; s < i.s; ++s) {
                for (uint64_t k = 0; k < i.hn; ++k) {
                    memcpy(to + Target(type, i, b, n, s, k).at * bytes, from + Source(type, i, b, n, s, k).at * bytes,
                           bytes);
                }
            }
        }
    }
    call.Charge(npukb::DType::F16, static_cast<int64_t>((from_size + to_size) * bytes / 2), 2);
}

void Flip(const Library& call, uint64_t rows, uint64_t columns, uint32_t bytes, const BufferView* dst,
          const BufferView* src) {
    auto all = static_cast<int64_t>(rows * columns * bytes);
    auto* from = call.Read<uint8_t>(src, all, "src");
    auto* to = call.Write<uint8_t>(dst, all, "dst");
    call.Apart();
    for (uint64_t r = 0; r < rows; ++r) {
        for (uint64_t c = 0; c < columns; ++c)
            memcpy(to + (c * rows + r) * bytes, from + (r * columns + c) * bytes, bytes);
    }
    call.Charge(npukb::DType::F16, all / 2, 2);
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_trans_data(uint32_t formats, const npukb::BufferView* dst, const npukb::BufferView* src,
                      const npukb::BufferView* tmp, const uint32_t* src_shape, const uint32_t* dst_shape) {
    using namespace twin;
    Library call("TransData", NPUKB_PC);
    bool to_split = static_cast<DataFormat>(formats & 0xff) == DataFormat::NCDHW;
    auto other = static_cast<DataFormat>(to_split ? formats >> 8 : formats & 0xff);
    const uint32_t* p = to_split ? src_shape : dst_shape;
    const uint32_t* q = to_split ? dst_shape : src_shape;
    Volume v{p[0], p[1], p[2], p[3], p[4]};
    bool fractal = other == DataFormat::FRACTAL_Z_3D;
    if (fractal) {
        CheckEqual(call, v, q[0], q[2], q[3]);
        CheckSplit(call, "c", v.c, q[1], q[6]);
        CheckSplit(call, "n", v.n, q[4], q[5]);
    } else {
        CheckEqual(call, v, q[1], q[3], q[4]);
        CheckSplit(call, "c", v.c, q[2], q[5]);
    }
    Split split{fractal, (v.c + kC0 - 1) / kC0, Up16(v.n), v.h * v.w, v};
    Convert(call, v, split, to_split, dst, src);
    call.ScratchFor(tmp, v.Plain() * 2);
}

void npukb_rearrange(uint32_t element_bytes, AscendC::TransposeType type, const npukb::BufferView* dst,
                     const npukb::BufferView* src, const npukb::BufferView* tmp,
                     const ConfusionTransposeTiling* tiling) {
    using namespace twin;
    Library call("Transpose", NPUKB_PC);
    Heads i{tiling->param0, tiling->param1, tiling->param2, tiling->param3};
    bool flat = type == TransposeType::TRANSPOSE_ND2ND_ONLY;
    if (type == TransposeType::TRANSPOSE_TYPE_NONE || type > TransposeType::TRANSPOSE_ND2ND_ONLY) {
        call.core().Violate("limit_exceeded", call.pc(), "Use one of TRANSPOSE_NZ2ND_0213 to TRANSPOSE_ND2ND_ONLY.",
                            "Transpose: the library has no transposeType %u", static_cast<unsigned>(type));
    }
    if (i.s == 0 || i.hn == 0 || i.s % 16 != 0 || (flat ? i.hn % 16 != 0 : i.b * i.n == 0)) {
        call.core().Violate("bad_shape", call.pc(),
                            "Let GetTransposeTilingInfo fill the tiling in, of axes that are multiples of 16.",
                            "Transpose: the tiling says (%llu, %llu, %llu, %llu); %s",
                            static_cast<unsigned long long>(i.b), static_cast<unsigned long long>(i.n),
                            static_cast<unsigned long long>(i.s), static_cast<unsigned long long>(i.hn),
                            flat ? "both axes have to be multiples of 16" : "the third has to be a multiple of 16");
    }
    if (flat)
        Flip(call, i.s, i.hn, element_bytes, dst, src);
    else
        Move(call, type, i, element_bytes, dst, src);
    call.ScratchFor(tmp, Up16(i.s) * Up16(i.hn) * element_bytes);
}
}
