// Moves that know of shapes: slices of tensors with several dimensions.
#include <string.h>

#include "../../include/twin/copy.h"
#include "semantics/copy.h"

namespace twin {
namespace {

using AscendC::SliceInfo;
using npukb::kIn;
using npukb::kOut;

constexpr uint32_t kMaxDimensions = 8;

// Walks over the rows of a sliced tensor, dimension 0 being the innermost.
class Slices {
  public:
    Slices(const SliceInfo* info, uint32_t dimensions, uint32_t element_bytes)
        : info_(info), dimensions_(dimensions), bytes_(element_bytes) {}
    uint64_t burst_elements() const { return info_[0].burstLen * 32ull / bytes_; }
    // Bursts in a row, rows in the tensor.
    uint64_t Bursts() const {
        const SliceInfo& s = info_[0];
        return (s.endIndex - s.startIndex + 1ull + s.stride) / (burst_elements() + s.stride);
    }
    uint64_t Along(uint32_t d) const {
        const SliceInfo& s = info_[d];
        return (s.endIndex - s.startIndex + 1ull + s.stride) / (1ull + s.stride);
    }
    uint64_t Rows() const {
        uint64_t rows = 1;
        for (uint32_t d = 1; d < dimensions_; ++d) rows *= Along(d);
        return rows;
    }
    // Offset in elements of burst `burst` of row `row`.
    uint64_t Offset(uint64_t row, uint64_t burst) const {
        uint64_t offset = info_[0].startIndex + burst * (burst_elements() + info_[0].stride);
        uint64_t scale = info_[0].shapeValue;
        for (uint32_t d = 1; d < dimensions_; ++d) {
            uint64_t index = info_[d].startIndex + row % Along(d) * (1ull + info_[d].stride);
            row /= Along(d);
            offset += index * scale;
            scale *= info_[d].shapeValue;
        }
        return offset;
    }
    void Check(Core& core, const char* role, const void* pc) const {
        for (uint32_t d = 0; d < dimensions_; ++d) {
            const SliceInfo& s = info_[d];
            if (s.endIndex < s.startIndex || (d == 0 && s.burstLen == 0) || (d > 0 && s.burstLen != 1)) {
                core.Violate("limit_exceeded", pc,
                             "Let a slice end behind its start; burstLen is 1 in every dimension but the first.",
                             "DataCopy: slice %u of %s goes from %u to %u with burstLen %u", d, role, s.startIndex,
                             s.endIndex, s.burstLen);
            }
        }
    }

  private:
    const SliceInfo* info_;
    uint32_t dimensions_;
    uint32_t bytes_;
};

void CheckUbStride(Core& core, uint64_t bytes, const void* pc) {
    if (bytes % 32 == 0) return;
    core.Violate("misaligned", pc, "Let every slice in UB begin at a multiple of 32 bytes.",
                 "DataCopy: slices in UB are %llu bytes apart, which is not a multiple of 32",
                 static_cast<unsigned long long>(bytes));
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_copy_slices(uint32_t element_bytes, uint32_t direction, const void* dst, const void* src,
                       const void* dst_slices, const void* src_slices, uint32_t dimensions) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    if (dimensions == 0 || dimensions > kMaxDimensions) {
        core.Violate("limit_exceeded", pc, "Merge dimensions that lie close together.",
                     "DataCopy: slices of %u dimensions, 1 to %u are possible", dimensions, kMaxDimensions);
    }
    Slices to(static_cast<const SliceInfo*>(dst_slices), dimensions, element_bytes);
    Slices from(static_cast<const SliceInfo*>(src_slices), dimensions, element_bytes);
    to.Check(core, "dst", pc);
    from.Check(core, "src", pc);
    uint64_t bursts = from.Bursts(), rows = from.Rows();
    if (to.burst_elements() != from.burst_elements() || to.Bursts() * to.Rows() != bursts * rows) {
        core.Violate("limit_exceeded", pc, "Describe as many slices of the same length on both sides.",
                     "DataCopy: %llu slices of src meet %llu slices of dst",
                     static_cast<unsigned long long>(bursts * rows),
                     static_cast<unsigned long long>(to.Bursts() * to.Rows()));
    }
    // Rows that have as many slices on both sides are one transfer each; otherwise every slice is.
    uint64_t together = to.Bursts() == bursts ? bursts : 1;
    for (uint64_t piece = 0; piece < bursts * rows; piece += together) {
        uint64_t to_at = to.Offset(piece / to.Bursts(), piece % to.Bursts()),
                 from_at = from.Offset(piece / bursts, piece % bursts);
        CopyInstruction c = CopyBetween("DataCopy", dst, src, element_bytes, direction);
        c.blocks = static_cast<uint32_t>(together);
        c.block_bytes = c.requested_bytes = from.burst_elements() * element_bytes;
        if (together > 1) {
            c.dst_stride = static_cast<int64_t>((to.Offset(0, 1) - to.Offset(0, 0)) * element_bytes);
            c.src_stride = static_cast<int64_t>((from.Offset(0, 1) - from.Offset(0, 0)) * element_bytes);
            CheckUbStride(core, static_cast<uint64_t>(direction == kIn ? c.dst_stride : c.src_stride), pc);
        }
        c.dst = static_cast<const uint8_t*>(c.dst) + to_at * element_bytes;
        c.src = static_cast<const uint8_t*>(c.src) + from_at * element_bytes;
        c.ub_bytes -= static_cast<uint32_t>((direction == kOut ? from_at : to_at) * element_bytes);
        RunCopy(c, pc);
    }
}
}
