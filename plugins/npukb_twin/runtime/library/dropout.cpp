// DropOut. Bits are taken from the lowest upwards, as by Select, which the function is documented to use.
#include "../../include/twin/library/dropout.h"
#include "library/rows.h"

namespace twin {
namespace {

enum class Mode : uint32_t { Inferred, PaddedBytes, Bytes, Bits, PaddedBits };

// What the lengths of a row and of its mask say.
Mode Infer(uint32_t length, uint32_t mask) {
    if (mask > length) return Mode::PaddedBytes;
    if (mask == length) return Mode::Bytes;
    return mask == length / 8 ? Mode::Bits : Mode::PaddedBits;
}

template <typename T>
void Run(const Library& call, bool bits, const npukb::BufferView* dst, const npukb::BufferView* src,
         const npukb::BufferView* mask, float keep, const AscendC::DropOutShapeInfo& info) {
    int64_t rows = info.firstAxis, n = info.srcLastAxis, pitch = info.maskLastAxis;
    const T* x = call.Read<T>(src, Area(rows, n), "srcLocal");
    const uint8_t* chosen = call.Read<uint8_t>(mask, Area(rows, pitch), "maskLocal");
    T* out = call.Write<T>(dst, Area(rows, n), "dstLocal");
    T scale = static_cast<T>(1.0f / keep);
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < n; ++i) {
            const uint8_t* row = chosen + r * pitch;
            bool kept = bits ? ((row[i / 8] >> (i % 8)) & 1) != 0 : row[i] != 0;
            out[r * n + i] = kept ? static_cast<T>(x[r * n + i] * scale) : static_cast<T>(0.0f);
        }
    }
}

}  // namespace
}  // namespace twin

using namespace twin;

extern "C" void npukb_drop_out(uint32_t element_bytes, uint32_t mode, const npukb::BufferView* dst,
                               const npukb::BufferView* src, const npukb::BufferView* mask,
                               const npukb::BufferView* tmp, float keep, const AscendC::DropOutShapeInfo* info) {
    Library call("DropOut", NPUKB_PC);
    Mode chosen = mode == 0 ? Infer(info->srcLastAxis, info->maskLastAxis) : static_cast<Mode>(mode);
    bool bits = chosen == Mode::Bits || chosen == Mode::PaddedBits;
    uint64_t needed = bits ? (info->srcLastAxis + 7u) / 8 : info->srcLastAxis;
    if (info->firstAxis == 0 || info->srcLastAxis == 0 || info->maskLastAxis < needed) {
        call.core().Violate("bad_shape", call.pc(), "Give rows a mask of a byte or a bit per element.",
                            "DropOut: %u rows of %u elements with %u bytes of mask", info->firstAxis, info->srcLastAxis,
                            info->maskLastAxis);
    }
    call.ScratchFor(tmp, 0);
    WithFloat(element_bytes, [&](auto zero) { Run<decltype(zero)>(call, bits, dst, src, mask, keep, *info); });
    call.Charge(element_bytes == 2 ? npukb::DType::F16 : npukb::DType::F32,
                static_cast<int64_t>(info->firstAxis) * info->srcLastAxis, bits ? 2 : 4);
}
