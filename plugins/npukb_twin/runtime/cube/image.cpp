// LoadData of images: a part of the matrix that im2col makes of a feature map in L1, as fractals of L0A or L0B.
#include <string.h>

#include "../../include/twin/cube/params.h"
#include "check/raw_access.h"
#include "cube/cube.h"
#include "check/tracker.h"

namespace twin {
namespace {

using npukb::DType;

struct FeatureMap {
    DType type;
    uint32_t height, width, channels;
    uint32_t left, top;
    uint32_t columns;  // of output pixels
    uint32_t filter_w, filter_h, stride_w, stride_h, dilation_w, dilation_h;
    const uint8_t* pixels;
    uint32_t pixels_at;  // their offset in L1
    uint32_t boundary;
    const uint8_t* l1;
    uint64_t padding;
};

uint32_t Outputs(uint32_t size, uint32_t before, uint32_t after, uint32_t filter, uint32_t dilation, uint32_t stride) {
    int64_t free = static_cast<int64_t>(size) + before + after - (static_cast<int64_t>(dilation) * (filter - 1) + 1);
    return free < 0 || stride == 0 ? 0 : static_cast<uint32_t>(free / stride) + 1;
}

constexpr uint32_t kLongestSide = 32767;

// No pixel: padding, or a channel that is not there.
constexpr int64_t kNoPixel = -1;

// Bits of an element, half bytes included.
uint32_t ReadElement(const FeatureMap& image, uint64_t index) {
    uint32_t bits = BitsOfType(image.type);
    uint64_t byte = index * bits / 8;
    const uint8_t* at = image.pixels + byte;
    if (image.boundary > 0 && image.pixels_at + byte >= image.boundary)
        at = image.l1 + (image.pixels_at + byte - image.boundary);
    uint32_t value = 0;
    memcpy(&value, at, bits < 8 ? 1 : bits / 8);
    return bits == 4 ? value >> (index % 2 * 4) & 0xf : value;
}

// Where element (m, k) of the matrix is among the pixels, and how many of its row follow each other from there on (0:
// the channel is not there). m counts output pixels, k channels inside of filter taps inside of groups of channels.
int64_t IndexOf(const FeatureMap& image, uint32_t m, uint32_t k, uint32_t* run) {
    uint32_t group = ColumnsOfFractal(image.type), taps = image.filter_w * image.filter_h;
    uint32_t c1 = k / (group * taps), inside = k - c1 * group * taps;
    uint32_t width = image.channels - c1 * group < group ? image.channels - c1 * group : group;
    *run = 0;
    if (c1 * group >= image.channels || width == 0) return kNoPixel;
    uint32_t tap = inside / width, c0 = inside % width;
    *run = width - c0;
    int64_t y =
        static_cast<int64_t>(m / image.columns) * image.stride_h + tap / image.filter_w * image.dilation_h - image.top;
    int64_t x =
        static_cast<int64_t>(m % image.columns) * image.stride_w + tap % image.filter_w * image.dilation_w - image.left;
    if (y < 0 || x < 0 || y >= image.height || x >= image.width) return kNoPixel;
    int64_t plane = static_cast<int64_t>(image.height) * image.width;
    return c1 * group * plane + (y * image.width + x) * width + c0;
}

uint32_t Element(const FeatureMap& image, uint32_t m, uint32_t k) {
    uint32_t run;
    int64_t at = IndexOf(image, m, k, &run);
    if (at == kNoPixel) return run == 0 ? 0 : static_cast<uint32_t>(image.padding);
    return ReadElement(image, static_cast<uint64_t>(at));
}

// How the fractals of the destination are arranged.
struct Target {
    bool right;       // L0B: columns of fractals run along m
    bool transposed;  // L0A that holds the matrix the other way round
    uint32_t rows;    // of fractals
    uint32_t columns;
};

void WriteElement(uint8_t* fractal, uint32_t bits, uint32_t at, uint32_t value) {
    if (bits == 4) {
        uint8_t& byte = fractal[at / 2];
        byte = static_cast<uint8_t>((byte & (at % 2 ? 0x0f : 0xf0)) | (value & 0xf) << (at % 2 * 4));
        return;
    }
    memcpy(fractal + at * (bits / 8), &value, bits / 8);
}

// Puts element (m, k) of the loaded block where the destination's layout has it.
void Place(const Target& t, DType type, uint8_t* to, uint32_t m, uint32_t k, uint32_t value) {
    uint32_t group = ColumnsOfFractal(type), fractal, at;
    if (t.right) {  // rows of L0B run along m in fractals of `group`, its columns along k in fractals of 16
        fractal = m / group * t.columns + k / 16;
        at = k % 16 * group + m % group;
    } else if (t.transposed) {
        fractal = k / 16 * t.columns + m / group;
        at = k % 16 * group + m % group;
    } else {
        fractal = m / 16 * t.columns + k / group;
        at = m % 16 * group + k % group;
    }
    WriteElement(to + fractal * static_cast<uint64_t>(kFractalBytes), BitsOfType(type), at, value);
}

Target Arrange(const AscendC::NpukbImageParams& p, DType type, bool right, uint32_t m, uint32_t k) {
    uint32_t group = ColumnsOfFractal(type), bits = BitsOfType(type);
    bool transposed = !right && p.enTranspose && (bits == 16 || bits == 32);
    uint32_t wide = bits == 32 ? 2 : 1;  // fractals of 16 rows, which squares consist of
    if (right) return {true, false, Blocks(m, 16) * wide, Blocks(k, 16)};
    if (transposed) return {false, true, Blocks(k, 16), Blocks(m, 16) * wide};
    return {false, false, Blocks(m, 16), Blocks(k, group)};
}

void CheckImage(Core& core, const AscendC::NpukbImageParams& p, DType type, bool right, const void* pc) {
    uint32_t group = ColumnsOfFractal(type), bits = BitsOfType(type), rest = p.channelSize % group;
    if (right && bits < 16) {
        core.Violate("limit_exceeded", pc, "Use LoadDataWithTranspose.",
                     "LoadData: images of %u-bit elements cannot be loaded into L0B", bits);
    }
    if (rest != 0 && (rest < 4 || (rest & (rest - 1)) != 0)) {
        core.Violate("limit_exceeded", pc, "Fill the channels up.",
                     "LoadData: channelSize %u; what is left over groups of %u channels must be 4, 8 or 16",
                     p.channelSize, group);
    }
    if (p.strideW > 63 || p.strideH > 63 || p.strideW == 0 || p.strideH == 0) {
        core.Violate("limit_exceeded", pc, "Use strides of 1 to 63.",
                     "LoadData: strides %u and %u are outside of 1 to 63", p.strideW, p.strideH);
    }
    if (p.kStartPt % group != 0) {
        core.Violate("limit_exceeded", pc, "Begin at a fractal.", "LoadData: kStartPt %u is not a multiple of %u",
                     p.kStartPt, group);
    }
    if (p.fMatrixCtrl) {
        core.Violate("limit_exceeded", pc, "Leave fMatrixCtrl false.", "LoadData: fMatrixCtrl must be false");
    }
    if (p.mStartPt > kLongestSide) {
        core.Violate("limit_exceeded", pc, "Begin nearer to the top.", "LoadData: mStartPt %u, the limit is %u",
                     p.mStartPt, kLongestSide);
    }
}

// A map has 1 to 32767 rows and columns; one without any loads nothing.
void CheckMap(Core& core, const char* name, uint32_t height, uint32_t width, const void* pc) {
    if (height <= kLongestSide && width <= kLongestSide) return;
    core.Violate("limit_exceeded", pc, "Cut the feature map.", "%s: l1H %u and l1W %u, the limit is %u", name, height,
                 width, kLongestSide);
}

// Loads end between fractals, or inside of the last one of the matrix.
void CheckWidth(Core& core, const AscendC::NpukbImageParams& p, const FeatureMap& image, const void* pc) {
    uint32_t group = ColumnsOfFractal(image.type), taps = image.filter_w * image.filter_h;
    uint32_t columns = Blocks(image.channels, group) * group * taps, end = p.kStartPt + p.kExtension;
    if (p.kExtension % group == 0 || end + group > columns) return;
    core.Warn("limit_exceeded", pc, "Load whole fractals, or up to the end of the matrix.",
              "LoadData: kExtension %u is not a multiple of %u and ends at column %u of %u", p.kExtension, group, end,
              columns);
}

// Rows and columns of the whole matrix that the loaded block consists of, repeated as SetLoadDataRepeat says.
struct Sweep {
    uint32_t first, length, stride;
    uint32_t At(uint32_t i) const { return first + i % length + i / length * stride; }
};

Sweep RowsOf(const AscendC::NpukbImageParams& p, const CubeState& state) {
    return {p.mStartPt, p.mExtension, state.repeat_stride * 16};
}
Sweep ColumnsOf(const AscendC::NpukbImageParams& p, const CubeState& state, DType type) {
    return {p.kStartPt, p.kExtension, state.repeat_stride * ColumnsOfFractal(type)};
}

// The bytes of L1 from the first pixel of the map to the last that the block is made of.
uint64_t ReachedBytes(const FeatureMap& image, Sweep rows, Sweep columns, uint32_t m_all, uint32_t k_all) {
    int64_t reached = 0;
    for (uint32_t m = 0; m < m_all; ++m) {
        for (uint32_t k = 0, run; k < k_all; k += run) {
            int64_t at = IndexOf(image, rows.At(m), columns.At(k), &run);
            uint32_t left = columns.length - k % columns.length;
            if (run == 0 || run > left) run = left;
            if (at != kNoPixel && at + run > reached) reached = at + run;
        }
    }
    return (static_cast<uint64_t>(reached) * BitsOfType(image.type) + 7) / 8;
}

void LoadBlock(const FeatureMap& image, Sweep rows, Sweep columns, const Target& t, uint8_t* to, uint32_t m_all,
               uint32_t k_all) {
    for (uint32_t m = 0; m < m_all; ++m) {
        for (uint32_t k = 0; k < k_all; ++k) Place(t, image.type, to, m, k, Element(image, rows.At(m), columns.At(k)));
    }
}

// Documented cycles per fractal of 512 bytes, by the width of the filter and of its steps; L0B takes two more.
double ImagePace(uint32_t filter_width, uint32_t step, bool right) {
    constexpr uint32_t kSlowest = 16;
    bool even = step == 1 || step == 2 || step == 4 || step == 8;
    uint32_t cycles = even ? 2 * step + (filter_width > 1 ? filter_width : 0) : kSlowest;
    return (cycles < kSlowest ? cycles : kSlowest) + (right ? 2 : 0);
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_cube_load_image(npukb::DType type, const npukb::BufferView* dst, const npukb::BufferView* src,
                           const void* params, const void* padding, int keep) {
    using namespace twin;
    const Pinned pinned[] = {dst, src};
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    CubeState& state = core.cube;
    const auto p = twin::Given<AscendC::NpukbImageParams>(params, NPUKB_PC);
    if (!(keep & 1)) {
        state.map_height = p.l1H, state.map_width = p.l1W, state.map_set = true;
        memcpy(state.map_padding, p.padList, sizeof state.map_padding);
    }
    if (!(keep & 2)) {
        state.padding_value = 0;
        memcpy(&state.padding_value, padding, npukb::kDTypeBytes[static_cast<int>(type)]);
    }
    CheckMap(core, "LoadData", state.map_height, state.map_width, pc);
    if (!state.map_set) {
        core.Violate("limit_exceeded", pc, "Call SetFmatrix first.",
                     "LoadData: SetFmatrix has not said how large the feature map is");
    }
    uint32_t filter_w = p.filterW + (p.filterSizeW ? 256u : 0), filter_h = p.filterH + (p.filterSizeH ? 256u : 0);
    uint32_t times = state.repeat_set ? state.repeat_times : 1;
    if (state.map_height == 0 || state.map_width == 0 || p.channelSize == 0 || p.kExtension == 0 || p.mExtension == 0 ||
        filter_w == 0 || filter_h == 0 || times == 0) {
        return;
    }
    bool right = core.Holding(dst->address) == Memory::L0B;
    CheckImage(core, p, type, right, pc);
    const MemoryRange& l1 = core.launch->RangeOf(Memory::L1);
    FeatureMap image{
        type,
        state.map_height,
        state.map_width,
        p.channelSize,
        state.map_padding[0],
        state.map_padding[2],
        Outputs(state.map_width, state.map_padding[0], state.map_padding[1], filter_w, p.dilationFilterW, p.strideW),
        filter_w,
        filter_h,
        p.strideW,
        p.strideH,
        p.dilationFilterW,
        p.dilationFilterH,
        static_cast<const uint8_t*>(src->address),
        0,
        state.load_boundary,
        core.ub + l1.offset,
        state.padding_value};
    if (image.columns == 0) {
        core.Violate("limit_exceeded", pc, "Give a feature map that the filter fits into.",
                     "LoadData: a filter of %u by %u does not fit into a feature map of %u by %u", filter_w, filter_h,
                     image.width, image.height);
    }
    if (times == 1) CheckWidth(core, p, image, pc);
    uint32_t m = p.mExtension * (state.repeat_mode == 0 ? times : 1),
             k = p.kExtension * (state.repeat_mode == 1 ? times : 1);
    Target target = Arrange(p, type, right, m, k);
    uint64_t bytes = static_cast<uint64_t>(target.rows) * target.columns * kFractalBytes;
    CheckCubeMove(core, moves::LoadData, Slot::Dst, *dst, bytes, pc, kL0);
    Sweep rows = RowsOf(p, state), columns = ColumnsOf(p, state, type);
    uint64_t pixels = ReachedBytes(image, rows, columns, m, k);
    if (image.boundary > 0) {
        image.pixels_at = core.OffsetIn(Memory::L1, src->address);
        uint64_t room = image.pixels_at < image.boundary ? image.boundary - image.pixels_at : 0;
        pixels = pixels < room ? pixels : room;
    }
    CheckCubeMove(core, moves::LoadData, Slot::Src0, *src, pixels, pc);
    LoadBlock(image, rows, columns, target, static_cast<uint8_t*>(dst->address), m, k);
    DefineOnChip(core, dst->address, bytes);
    double slower = ImagePace(filter_w, p.strideW, right) / ImagePace(1, 1, right);
    core.time.Issue(core.launch->machine, Pipe::MTE1,
                    LoadCycles(core, right ? Memory::L0B : Memory::L0A, static_cast<double>(bytes) * slower));
}

void npukb_cube_feature_map(uint32_t height, uint32_t width, const uint8_t* padding, int right) {
    twin::Core& core = twin::ThisCore();
    if (right) {
        core.Violate("limit_exceeded", NPUKB_PC, "Use FMATRIX_LEFT: both matrices read it.",
                     "SetFmatrix: this chip has FMATRIX_LEFT only");
    }
    twin::CheckMap(core, "SetFmatrix", height, width, NPUKB_PC);
    core.cube.map_height = static_cast<uint16_t>(height);
    core.cube.map_width = static_cast<uint16_t>(width);
    core.cube.map_set = true;
    memcpy(core.cube.map_padding, padding, sizeof core.cube.map_padding);
    core.time.Scalar(1);
}

void npukb_cube_load_repeat(uint32_t stride, uint32_t times, uint32_t mode) {
    twin::Core& core = twin::ThisCore();
    if (mode > 1) {
        core.Violate("limit_exceeded", NPUKB_PC, "Use 0 for repeats along the height and 1 along the width.",
                     "SetLoadDataRepeat: repeatMode is %u, which is outside of 0 to 1", mode);
    }
    core.cube.repeat_stride = stride;
    core.cube.repeat_times = times;
    core.cube.repeat_mode = mode;
    core.cube.repeat_set = true;
    core.time.Scalar(1);
}

void npukb_cube_register(npukb::CubeRegister which, uint64_t value) {
    using npukb::CubeRegister;
    twin::Core& core = twin::ThisCore();
    twin::CubeState& state = core.cube;
    switch (which) {
        case CubeRegister::Hf32: state.hf32 = value != 0; break;
        case CubeRegister::Hf32Away: state.hf32_away = value != 0; break;
        case CubeRegister::RowMajor: break;  // a matter of speed that the twin does not model
        case CubeRegister::LoadBoundary: state.load_boundary = static_cast<uint32_t>(value); break;
        case CubeRegister::PaddingValue: state.padding_value = value; break;
        case CubeRegister::NzToNd: state.nz_to_nd = value; break;
        case CubeRegister::PreQuant: state.pre_quant = value; break;
    }
    core.time.Scalar(1);
}
}
