#include "region.h"

#include "fiber.h"
#include "tracker.h"

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

namespace {

// A buffer of a queue belongs to the kernel from AllocTensor or DeQue on, up to EnQue or FreeTensor.
void CheckHeld(Core& core, const LocalRegion& r, const Buffer& buffer, const void* pc) {
    const Queue& queue = core.queues[buffer.queue];
    const char* verb = r.write ? "writes to" : "reads";
    if (buffer.state == BufferState::Idle) {
        core.Warn("use_after_free", pc, "Call FreeTensor after the last instruction that uses the tensor.",
                  "%s: %s %s a tensor of a %s queue that %s; the next AllocTensor may already be filling it", r.instruction, r.role,
                  verb, PositionName(queue.position), buffer.used ? "has been freed" : "was not allocated");
        return;
    }
    if (buffer.state != BufferState::Queued || (!r.write && queue.producer != Pipe::MTE2)) return;
    core.Warn("access_before_deque", pc, "Use the tensor that DeQue returns: it waits until the data are there.",
              "%s: %s %s a tensor that lies in a %s queue", r.instruction, r.role, verb, PositionName(queue.position));
}

// Whether the operand stays in the buffer that it begins in, and that buffer may be used now.
bool CheckOwner(Core& core, const LocalRegion& r, uint32_t offset, bool past_tensor, const void* pc) {
    uint8_t first = core.owner[offset / 32];
    if (first == 0 || first == kSharedBlock || !core.buffers[first].live) return true;
    const Buffer& buffer = core.buffers[first];
    uint8_t last = core.owner[(offset + r.bytes - 1) / 32];
    uint64_t end = buffer.offset + buffer.bytes;
    if (last != first && offset + r.bytes > end && last != kSharedBlock && !past_tensor) {
        core.Warn("cross_buffer", pc, "Ask InitBuffer for more bytes or process fewer elements.",
                  "%s: %s spans UB bytes %u to %llu; the buffer it lies in ends at %llu, and another begins there", r.instruction,
                  r.role, offset, static_cast<unsigned long long>(offset + r.bytes), static_cast<unsigned long long>(end));
        return false;
    }
    if (buffer.queue != 0) CheckHeld(core, r, buffer, pc);
    return buffer.queue == 0 || buffer.state == BufferState::Allocated || buffer.state == BufferState::Dequeued;
}

}  // namespace

void CheckLocal(Core& core, const LocalRegion& r, const void* pc) {
    if (!r.write) core.polls = 0;  // something is done with what was read
    if (r.bytes == 0) return;
    auto place = reinterpret_cast<uint64_t>(r.address) - reinterpret_cast<uint64_t>(core.ub);
    const uint32_t capacity = core.launch->machine.ub_bytes;
    if (core.pools[0].used > capacity && place < core.pools[0].used && place + r.bytes > capacity) {
        core.Violate("ub_overflow", pc, "Use smaller tiles or fewer buffers.",
                     "%s: %s spans bytes %llu to %llu of UB, which has %u; the kernel's buffers take %u", r.instruction, r.role,
                     static_cast<unsigned long long>(place), static_cast<unsigned long long>(place + r.bytes),
                     capacity, core.pools[0].used);
    }
    if (!core.InUb(r.address)) {
        core.Violate("illegal_address", pc, "Take the tensor from a queue or a TBuf before using it.",
                     "%s: %s is not in the unified buffer (address %p)", r.instruction, r.role, r.address);
    }
    uint32_t offset = core.UbOffset(r.address);
    if (offset + r.bytes > core.launch->machine.ub_bytes) {
        core.Violate("out_of_bounds", pc, "Shrink the count, mask, repeat or transfer, or move the tensor.",
                     "%s: %s spans bytes %u to %llu of UB, which has %u bytes", r.instruction, r.role, offset,
                     static_cast<unsigned long long>(offset + r.bytes), core.launch->machine.ub_bytes);
    }
    if (core.launch->checker == Checker::Off) return;
    if (offset % r.alignment != 0) {
        core.Violate("misaligned", pc, "Start the operand at a multiple of 32 bytes.",
                     "%s: %s starts at UB offset %u, which is not a multiple of %u bytes", r.instruction, r.role, offset,
                     r.alignment);
    }
    // A slice taken past the end of its tensor has a size that wrapped around.
    uint32_t tensor_bytes = r.tensor_bytes > core.launch->machine.ub_bytes ? 0 : r.tensor_bytes;
    bool past_tensor = r.bytes > tensor_bytes;
    if (past_tensor) {
        core.Warn("past_tensor", pc, "Ask InitBuffer for more bytes or process fewer elements.",
                  "%s: %s reaches %llu bytes past the end of its tensor of %u bytes", r.instruction, r.role,
                  static_cast<unsigned long long>(r.bytes - tensor_bytes), tensor_bytes);
    }
    bool sound = CheckOwner(core, r, offset, past_tensor, pc) && !past_tensor;
    if (core.tracker != nullptr) core.tracker->Note({r.instruction, r.role, pc, Whole(offset, r.bytes), r.write, false, false, !sound});
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
    const GlobalBuffer* own = r.origin == nullptr ? buffer : core.launch->memory.Holding(r.origin);
    if (own != nullptr && own != buffer) {
        core.Violate("gm_out_of_bounds", pc, "Keep offsets inside the tensor that SetGlobalBuffer was given.",
                     "%s %s %llu bytes at offset %lld of '%s', which has %llu: that is in '%s'", r.instruction, verb,
                     static_cast<unsigned long long>(r.bytes),
                     static_cast<long long>(static_cast<const uint8_t*>(r.address) - own->address), own->name,
                     static_cast<unsigned long long>(own->bytes), buffer->name);
    }
    auto begin = reinterpret_cast<int64_t>(r.address) - reinterpret_cast<int64_t>(buffer->address);
    int64_t end = begin + static_cast<int64_t>(r.bytes);
    if (begin < 0 || end > static_cast<int64_t>(buffer->reachable)) {
        core.Violate(rule, pc, "Cut the last piece at the end of the tensor.",
                     "%s %s bytes %lld to %lld of '%s', which has %llu bytes", r.instruction, verb, static_cast<long long>(begin),
                     static_cast<long long>(end), buffer->name, static_cast<unsigned long long>(buffer->bytes));
    }
    if (core.launch->checker == Checker::Off && (!r.write || buffer->writable)) return;
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
    if (core.tracker != nullptr && buffer->writable) {
        bool atomic = r.write && core.atomic_mode != npukb::AtomicMode::None;
        core.tracker->Note({r.instruction, "gm", pc, Whole(reinterpret_cast<uint64_t>(r.address), r.bytes), r.write, true, atomic, false});
    }
}

}  // namespace twin
