// The pages of Copy, ReduceMax and ReduceMin, and the general one on strides.
#include "semantics/ranges.h"

#include "semantics/instruction.h"

namespace twin {

using npukb::DType;

void CheckRanges(Core& core, const VectorInstruction& v, const void* pc) {
    constexpr uint32_t kLongestStride = 4095;  // of Copy
    const Instruction& row = Row(v.op);
    if (row.Has(bits::CountsRepeats) && v.form == npukb::Form::Mask && v.repeat > 1 &&
        (v.dst.repeat_stride > kLongestStride || v.src0.repeat_stride > kLongestStride)) {
        core.Violate("limit_exceeded", pc, "Split the instruction.",
                     "%s: dstRepeatSize %u and srcRepeatSize %u; the limit is %u", row.name, v.dst.repeat_stride,
                     v.src0.repeat_stride, kLongestStride);
    }
    if (row.span != Span::TensorExtreme || (v.mode & 1) == 0 || v.dst.dtype != DType::F16) return;
    const int64_t elements = v.form == npukb::Form::Count ? v.count : static_cast<int64_t>(v.repeat) * 128;
    if (elements <= 65536) return;
    core.Warn("limit_exceeded", pc, "Search parts of the tensor, or convert it to float.",
              "%s: indices of %lld elements do not all fit into half, which holds those up to 65535", row.name,
              static_cast<long long>(elements));
}

bool WritesOneBlock(Core& core, const VectorInstruction& v, const Lanes& lanes, const void* pc) {
    const Instruction& row = Row(v.op);
    if (v.dst.block_stride != 0 || v.dst.address == nullptr) return false;
    const bool blocks = row.span == Span::Blocks && v.repeat > 0;
    const bool lines = row.span == Span::Lanes && !lanes.contiguous && lanes.repeats > 0 &&
                       uint64_t{lanes.Top()} * Bytes(v.dst.dtype) > 32;
    if (!blocks && !lines) return false;
    core.Warn("limit_exceeded", pc, "Use 1 for blocks that follow each other.",
              "%s: the block stride of dst is 0, where it begins at 1; the result is undefined on the device",
              row.name);
    return true;
}

}  // namespace twin
