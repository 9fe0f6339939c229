#include "region.h"

#include "fiber.h"

namespace twin {
namespace {

constexpr uint32_t kPolls = 64;

// A block that reads the same place again and again waits for another block to write it, which must get its turn.
void NotePoll(Core& core, const GlobalRegion& r, const void* pc) {
    core.polls = core.polled == r.address ? core.polls + 1 : 0;
    core.polled = r.address;
    if (core.polls < kPolls) {
        if (Overdue()) Yield();
        return;
    }
    core.polls = 0;
    Poll({r.instruction, pc});
}

}  // namespace

void CheckLocal(Core& core, const LocalRegion& r, const void* pc) {
    if (!r.write) core.polls = 0;  // something is done with what was read
    if (r.bytes == 0) return;
    if (!core.InUb(r.address)) {
        core.Violate("illegal_address", pc, "Take the tensor from a queue or a TBuf before using it.",
                     "%s: %s is not in the unified buffer (address %p)", r.instruction, r.role, r.address);
    }
    uint32_t offset = core.UbOffset(r.address);
    if (offset % r.alignment != 0) {
        core.Violate("misaligned", pc, "Start the operand at a multiple of 32 bytes.",
                     "%s: %s starts at UB offset %u, which is not a multiple of %u bytes", r.instruction, r.role, offset,
                     r.alignment);
    }
    if (offset + r.bytes > core.launch->machine.ub_bytes) {
        core.Violate("out_of_bounds", pc, "Shrink the count, mask, repeat or transfer, or move the tensor.",
                     "%s: %s spans bytes %u to %llu of UB, which has %u bytes", r.instruction, r.role, offset,
                     static_cast<unsigned long long>(offset + r.bytes), core.launch->machine.ub_bytes);
    }
    // A slice taken past the end of its tensor has a size that wrapped around.
    uint32_t tensor_bytes = r.tensor_bytes > core.launch->machine.ub_bytes ? 0 : r.tensor_bytes;
    if (r.bytes > tensor_bytes) {
        core.Warn("past_tensor", pc, "Ask InitBuffer for more bytes or process fewer elements.",
                  "%s: %s reaches %llu bytes past the end of its tensor of %u bytes", r.instruction, r.role,
                  static_cast<unsigned long long>(r.bytes - tensor_bytes), tensor_bytes);
    }
}

void CheckGlobal(Core& core, const GlobalRegion& r, const void* pc) {
    if (r.write) core.polls = 0;
    if (!r.write && core.launch->blocks > 1) NotePoll(core, r, pc);
    const char* rule = r.write ? "illegal_write" : "illegal_read";
    const char* verb = r.write ? "writes" : "reads";
    const GlobalBuffer* buffer = core.launch->memory.Nearest(r.address);
    if (buffer == nullptr) {
        core.Violate(rule, pc, "Give SetGlobalBuffer an address that comes from a kernel argument.",
                     "%s %s %llu bytes at %p, which is not global memory of this kernel", r.instruction, verb,
                     static_cast<unsigned long long>(r.bytes), r.address);
    }
    auto begin = reinterpret_cast<int64_t>(r.address) - reinterpret_cast<int64_t>(buffer->address);
    int64_t end = begin + static_cast<int64_t>(r.bytes);
    if (begin < 0 || end > static_cast<int64_t>(buffer->reachable)) {
        core.Violate(rule, pc, "Cut the last piece at the end of the tensor.",
                     "%s %s bytes %lld to %lld of '%s', which has %llu bytes", r.instruction, verb, static_cast<long long>(begin),
                     static_cast<long long>(end), buffer->name, static_cast<unsigned long long>(buffer->bytes));
    }
    if (r.write && !buffer->writable) {
        core.Violate("write_to_input", pc, "Write to an output or to the workspace.",
                     "%s writes to '%s', which is an input", r.instruction, buffer->name);
    }
    if (begin % r.element_bytes != 0) {
        core.Violate("misaligned", pc, "Address global memory in whole elements.",
                     "%s: offset %lld in '%s' is not a multiple of the element size %u", r.instruction,
                     static_cast<long long>(begin), buffer->name, r.element_bytes);
    }
    if (end > static_cast<int64_t>(buffer->bytes)) {
        core.Warn("gm_overrun", pc, "Use DataCopyPad for the tail: it moves exactly the bytes asked for.",
                  "%s %s up to byte %lld of '%s', which has %llu bytes; only the allocator's rounding hides it", r.instruction,
                  verb, static_cast<long long>(end), buffer->name, static_cast<unsigned long long>(buffer->bytes));
    }
}

}  // namespace twin
