// Broadcast, Pad, UnPad and ArithProgression.
#include "../../include/twin/shape.h"
#include "check/raw_access.h"

#include <string.h>

#include "library/call.h"
#include "semantics/numeric.h"

namespace twin {
namespace {

using npukb::DType;

template <typename T>
void Progress(const Library& call, const npukb::BufferView* dst, uint64_t first_bits, uint64_t step_bits,
              int64_t count) {
    T first, step;
    memcpy(&first, &first_bits, sizeof first);
    memcpy(&step, &step_bits, sizeof step);
    T* d = call.Write<T>(dst, count, "dst");
    for (int64_t i = 0; i < count; ++i) d[i] = static_cast<T>(first + static_cast<T>(static_cast<T>(i) * step));
}

// Bits of an integer value in the type of the elements.
uint32_t ValueBits(DType dtype, int32_t value) {
    if (dtype == DType::F16) return Bits<uint16_t>(static_cast<half>(value));
    if (dtype == DType::F32) return Bits<uint32_t>(static_cast<float>(value));
    return static_cast<uint32_t>(value);
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_progression(npukb::DType dtype, const npukb::BufferView* dst, uint64_t first, uint64_t step, int64_t count) {
    using namespace twin;
    Library call("ArithProgression", NPUKB_PC);
    switch (dtype) {
        case DType::F16: Progress<half>(call, dst, first, step, count); break;
        case DType::F32: Progress<float>(call, dst, first, step, count); break;
        case DType::I16: Progress<int16_t>(call, dst, first, step, count); break;
        default: Progress<int32_t>(call, dst, first, step, count); break;
    }
    call.Charge(dtype, count, 2);
}

void npukb_broadcast(npukb::DType dtype, const npukb::BufferView* dst, const npukb::BufferView* src,
                     const npukb::BufferView* tmp, const uint32_t* dst_shape, const uint32_t* src_shape,
                     uint32_t dim_axis) {
    using namespace twin;
    const Pinned pinned[] = {dst, src};
    Library call("Broadcast", NPUKB_PC);
    uint32_t dim = dim_axis >> 8, axis = dim_axis & 0xff, bytes = npukb::kDTypeBytes[static_cast<int>(dtype)];
    for (uint32_t i = 0; i < dim && i < 2; ++i) {
        if (src_shape[i] == dst_shape[i] || (i == axis && src_shape[i] == 1)) continue;
        call.core().Violate(
            "bad_shape", call.pc(), "Let src have one element along the axis and agree with dst elsewhere.",
            "Broadcast: dimension %u is %u in src and %u in dst, the axis is %u", i, src_shape[i], dst_shape[i], axis);
    }
    // [rows, columns], of which one is repeated; a vector is a row.
    uint32_t last = dim == 2 ? 1 : 0;
    uint64_t rows = dim == 2 ? dst_shape[0] : 1, columns = dst_shape[last];
    uint64_t src_rows = dim == 2 ? src_shape[0] : 1, src_columns = src_shape[last];
    auto* s = static_cast<const uint8_t*>(src->address);
    auto* d = static_cast<uint8_t*>(dst->address);
    call.Read<uint8_t>(src, Area(Area(src_rows, src_columns), bytes), "src");
    call.Write<uint8_t>(dst, Area(Area(rows, columns), bytes), "dst");
    call.ScratchFor(tmp, 0);
    // From the last element down, so that dst may begin where src does.
    for (uint64_t r = rows; r-- > 0;) {
        const uint8_t* row = s + (src_rows == 1 ? 0 : r) * src_columns * bytes;
        if (src_columns == columns) {
            memmove(d + r * columns * bytes, row, columns * bytes);
            continue;
        }
        uint8_t element[4];
        memcpy(element, row, bytes);
        for (uint64_t c = 0; c < columns; ++c) memcpy(d + (r * columns + c) * bytes, element, bytes);
    }
    call.Charge(dtype, static_cast<int64_t>(rows * columns), 2);
}

void npukb_pad(npukb::DType dtype, const npukb::BufferView* dst, const npukb::BufferView* src,
               const npukb::BufferView* tmp, const void* params, const void* tiling) {
    using namespace twin;
    const Pinned pinned[] = {dst, src};
    Library call("Pad", NPUKB_PC);
    const auto p = twin::Given<AscendC::PadParams>(params, NPUKB_PC);
    const auto t = *static_cast<const PadTiling*>(tiling);
    uint64_t bytes = npukb::kDTypeBytes[static_cast<int>(dtype)];
    bool aligned = t.srcWidth * bytes % 32 == 0;
    // Rows that end on a block have their last columns replaced; others grow, on both sides.
    uint64_t kept = aligned ? t.srcOriWidth : t.srcWidth, left = aligned ? 0 : p.leftPad,
             width = aligned ? t.srcWidth : left + kept + p.rightPad;
    if (p.leftPad * bytes > 32 || p.rightPad * bytes > 32 || width * bytes % 32 != 0 || kept + left > width) {
        call.core().Violate(
            "bad_shape", call.pc(), "Pad rows to a multiple of 32 bytes, by less than 32 bytes on each side.",
            "Pad: rows of %llu elements become %llu elements of %llu bytes", static_cast<unsigned long long>(kept),
            static_cast<unsigned long long>(width), static_cast<unsigned long long>(bytes));
    }
    call.Read<uint8_t>(src, Area(Area(t.srcHeight, t.srcWidth), bytes), "src");
    call.Write<uint8_t>(dst, Area(Area(t.srcHeight, width), bytes), "dst");
    call.ScratchFor(tmp, 0);
    auto* s = static_cast<const uint8_t*>(src->address);
    auto* d = static_cast<uint8_t*>(dst->address);
    uint32_t value = ValueBits(dtype, p.padValue);
    for (uint64_t r = t.srcHeight; r-- > 0;) {
        uint8_t* row = d + r * width * bytes;
        memmove(row + left * bytes, s + r * t.srcWidth * bytes, kept * bytes);
        for (uint64_t c = 0; c < left; ++c) memcpy(row + c * bytes, &value, bytes);
        for (uint64_t c = left + kept; c < width; ++c) memcpy(row + c * bytes, &value, bytes);
    }
    call.Charge(dtype, static_cast<int64_t>(t.srcHeight * width), aligned ? 1 : 4);
}

void npukb_unpad(npukb::DType dtype, const npukb::BufferView* dst, const npukb::BufferView* src,
                 const npukb::BufferView* tmp, const void* params, const void* tiling) {
    using namespace twin;
    const Pinned pinned[] = {dst, src};
    Library call("UnPad", NPUKB_PC);
    const auto p = twin::Given<AscendC::UnPadParams>(params, NPUKB_PC);
    const auto t = *static_cast<const UnPadTiling*>(tiling);
    uint64_t bytes = npukb::kDTypeBytes[static_cast<int>(dtype)];
    if (t.srcWidth * bytes % 32 != 0 || p.rightPad == 0 || p.rightPad * bytes >= 32 || p.rightPad > t.srcWidth) {
        call.core().Violate("bad_shape", call.pc(), "UnPad rows of whole blocks, by less than 32 bytes on the right.",
                            "UnPad: %u of %u columns of %llu bytes", p.rightPad, t.srcWidth,
                            static_cast<unsigned long long>(bytes));
    }
    uint64_t width = t.srcWidth - p.rightPad;
    call.Read<uint8_t>(src, Area(Area(t.srcHeight, t.srcWidth), bytes), "src");
    call.Write<uint8_t>(dst, Area(Area(t.srcHeight, width), bytes), "dst");
    call.ScratchFor(tmp, 0);
    auto* s = static_cast<const uint8_t*>(src->address);
    auto* d = static_cast<uint8_t*>(dst->address);
    for (uint64_t r = 0; r < t.srcHeight; ++r)
        memmove(d + r * width * bytes, s + r * t.srcWidth * bytes, width * bytes);
    call.Charge(dtype, static_cast<int64_t>(t.srcHeight * t.srcWidth), 2);
}
}
