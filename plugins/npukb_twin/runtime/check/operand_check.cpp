// From what ends a block (another memory, the end of UB, a wrong alignment) to what is only told (a neighbour's buffer,
// the end of the tensor).
#include "check/operand_check.h"

#include <stdio.h>

#include "cores/fiber.h"
#include "cores/ranks.h"
#include "check/journal.h"
#include "check/late_stores.h"
#include "check/tracker.h"

namespace twin {
namespace {

constexpr uint32_t kPolls = 64, kYields = 1024;

// A block that reads the same place again and again waits for another block to write it, which must get its turn.
void NotePoll(Core& core, const GlobalRegion& r, const void* pc) {
    bool again = core.polled == r.address;
    core.polls = again ? core.polls + 1 : 0;
    core.polled = r.address;
    if (!again) core.yields = 0;
    const GlobalBuffer* buffer = again ? core.launch->memory.Holding(r.address) : nullptr;
    bool shared = buffer != nullptr && buffer->writes.open();
    if (shared) __atomic_store_n(&core.launch->talks, true, __ATOMIC_RELAXED);
    if (core.polls < kPolls) {
        // Others get their turn at once, so that the block looks as seldom as on the device; but not for ever.
        if ((shared && ++core.yields < kYields) || Overdue()) Yield();
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
                  "%s: %s %s a tensor of a %s queue that %s; the next AllocTensor may already be filling it",
                  r.instruction, r.role, verb, PositionName(queue.position),
                  buffer.used ? "has been freed" : "was not allocated");
        return;
    }
    if (buffer.state != BufferState::Queued || (!r.write && queue.producer != Pipe::MTE2)) return;
    core.Warn("access_before_deque", pc, "Use the tensor that DeQue returns: it waits until the data are there.",
              "%s: %s %s a tensor that lies in a %s queue", r.instruction, r.role, verb, PositionName(queue.position));
}

// How many bytes of the operand lie in the buffer that it begins in; warns when that buffer may not be used now.
uint64_t CheckOwner(Core& core, const LocalRegion& r, uint32_t offset, bool past_tensor, const void* pc) {
    uint8_t first = core.owner[offset / 32];
    if (first == 0 || first == kSharedBlock || !core.buffers[first].live) return r.bytes;
    const Buffer& buffer = core.buffers[first];
    uint8_t last = core.owner[(offset + r.bytes - 1) / 32];
    uint64_t end = buffer.offset + buffer.bytes;
    Memory memory = core.Holding(r.address);
    uint32_t base = core.launch->RangeOf(memory).offset;
    if (last != first && offset + r.bytes > end && last != kSharedBlock && !past_tensor) {
        core.Warn("cross_buffer", pc, "Ask InitBuffer for more bytes or process fewer elements.",
                  "%s: %s spans %s bytes %u to %llu; the buffer it lies in ends at %llu, and another begins there",
                  r.instruction, r.role, MemoryName(memory), offset - base,
                  static_cast<unsigned long long>(offset - base + r.bytes),
                  static_cast<unsigned long long>(end - base));
        return end - offset;
    }
    if (buffer.queue != 0) CheckHeld(core, r, buffer, pc);
    return r.bytes;
}

}  // namespace

namespace {

// The names of a set of memories: "L0A or L0B".
struct MemoryNames {
    char text[64];
    explicit MemoryNames(MemorySet set) {
        int at = 0;
        text[0] = 0;
        for (int m = 0; m < kMemories; ++m) {
            if (!(set >> m & 1)) continue;
            at += snprintf(text + at, sizeof text - static_cast<size_t>(at), "%s%s", at > 0 ? " or " : "",
                           MemoryName(static_cast<Memory>(m)));
        }
    }
};

// A core has the memories of its kind only.
void CheckKind(Core& core, const LocalRegion& r, const void* pc) {
    for (int m = 0; m < kMemories; ++m) {
        if ((r.memories >> m & 1) && HolderOf(static_cast<Memory>(m)) == core.kind) return;
    }
    CoreKind other = core.kind == CoreKind::Vector ? CoreKind::Cube : CoreKind::Vector;
    core.Violate("wrong_core", pc,
                 other == CoreKind::Cube ? "Put it under ASCEND_IS_AIC." : "Put it under ASCEND_IS_AIV.",
                 "%s is an instruction of %s cores; this is a %s core", r.instruction, CoreKindName(other),
                 CoreKindName(core.kind));
}

// Buffers may have been given away past the end of a memory: this is where it does harm.
void CheckOverflow(Core& core, const LocalRegion& r, const void* pc) {
    auto place = reinterpret_cast<uint64_t>(r.address) - reinterpret_cast<uint64_t>(core.ub);
    for (int m = 0; m < kMemories; ++m) {
        if (!(r.memories >> m & 1)) continue;
        const MemoryRange& range = core.launch->memories[m];
        uint32_t used = core.pools[WholePool(static_cast<Memory>(m))].used;
        if (used <= range.bytes || place < range.offset || place >= range.offset + used) continue;
        if (place + r.bytes <= range.offset + range.bytes) continue;
        uint64_t begin = place - range.offset;
        const char* overflow = m == 0 ? "ub_overflow" : "memory_overflow";
        core.Violate(overflow, pc, "Use smaller tiles or fewer buffers.",
                     "%s: %s spans bytes %llu to %llu of %s, which has %u; the kernel's buffers take %u", r.instruction,
                     r.role, static_cast<unsigned long long>(begin), static_cast<unsigned long long>(begin + r.bytes),
                     MemoryName(static_cast<Memory>(m)), range.bytes, used);
    }
}

// The memory that the operand begins in; ends the block when it is none that it may be in.
Memory Locate(Core& core, const LocalRegion& r, const void* pc) {
    Memory memory = core.Holding(r.address);
    if (memory != Memory::None && (r.memories & SetOf(memory)) != 0) return memory;
    if (memory == Memory::None && r.memories == SetOf(Memory::Ub)) {
        core.Violate("illegal_address", pc, "Take the tensor from a queue or a TBuf before using it.",
                     "%s: %s is not in the unified buffer (address %p)", r.instruction, r.role, r.address);
    }
    if (memory == Memory::None) {
        core.Violate("illegal_address", pc, "Take the tensor from a queue or a TBuf before using it.",
                     "%s: %s is not in %s (address %p)", r.instruction, r.role, MemoryNames(r.memories).text,
                     r.address);
    }
    core.Violate("illegal_address", pc, "Take the tensor from a queue or a TBuf with the right TPosition.",
                 "%s: %s is in %s and must be in %s", r.instruction, r.role, MemoryName(memory),
                 MemoryNames(r.memories).text);
}

}  // namespace

void CheckLocal(Core& core, const LocalRegion& r, const void* pc) {
    core.Place(pc);
    if (core.late != nullptr) core.late->SettleKnown(core);
    if (!r.write) core.polls = 0;  // something is done with what was read
    if (r.bytes == 0) return;
    CheckKind(core, r, pc);
    CheckOverflow(core, r, pc);
    Memory memory = Locate(core, r, pc);
    uint32_t capacity = core.launch->RangeOf(memory).bytes, offset = core.OffsetIn(memory, r.address);
    if (offset > capacity || r.bytes > capacity - offset) {
        core.Violate("out_of_bounds", pc, "Shrink the count, mask, repeat or transfer, or move the tensor.",
                     "%s: %s spans bytes %u to %llu of %s, which has %u bytes", r.instruction, r.role, offset,
                     static_cast<unsigned long long>(offset + r.bytes), MemoryName(memory), capacity);
    }
    if (core.launch->journal != nullptr) {
        Range span = Whole(core.UbOffset(r.address), r.bytes);
        core.launch->journal->Note(core, {r.instruction, r.role, pc, span, r.write, false, false, false});
    }
    if (core.launch->checker == Checker::Off) return;
    if (offset % r.alignment != 0) {
        char remedy[80];
        snprintf(remedy, sizeof remedy, "Start the operand at a multiple of %u bytes.", r.alignment);
        core.Violate("misaligned", pc, remedy, "%s: %s starts at %s offset %u, which is not a multiple of %u bytes",
                     r.instruction, r.role, MemoryName(memory), offset, r.alignment);
    }
    // A slice taken past the end of its tensor has a size that wrapped around.
    uint32_t tensor_bytes = r.tensor_bytes > core.launch->arena_bytes ? 0 : r.tensor_bytes;
    bool past_tensor = r.bytes > tensor_bytes;
    if (past_tensor) {
        core.Warn("past_tensor", pc, "Ask InitBuffer for more bytes or process fewer elements.",
                  "%s: %s reaches %llu bytes past the end of its tensor of %u bytes", r.instruction, r.role,
                  static_cast<unsigned long long>(r.bytes - tensor_bytes), tensor_bytes);
    }
    offset = core.UbOffset(r.address);
    uint64_t own = CheckOwner(core, r, offset, past_tensor, pc);
    if (past_tensor) own = tensor_bytes;
    if (core.order != nullptr)
        core.order->Note({r.instruction, r.role, pc, Whole(offset, r.bytes), r.write, false, false, r.loads, own});
}

bool Strays(Core& core, const GlobalRegion& r, const GlobalBuffer& buffer, const void* pc) {
    auto begin = reinterpret_cast<int64_t>(r.address) - reinterpret_cast<int64_t>(buffer.address);
    int64_t end = begin + static_cast<int64_t>(r.bytes);
    if (begin < 0 || r.bytes > buffer.mapped || end <= static_cast<int64_t>(buffer.reachable) ||
        end > static_cast<int64_t>(buffer.mapped))
        return false;
    const char* beyond = r.write ? "stray_write" : "stray_read";
    core.launch->memory.Reveal(&buffer, static_cast<uint64_t>(end), core.launch->seed);
    core.Warn(beyond, pc, "Cut the last piece at the end of the tensor.",
              "%s %s bytes %lld to %lld of '%s', which has %llu bytes: another tensor's, or unused", r.instruction,
              r.write ? "writes" : "reads", static_cast<long long>(begin), static_cast<long long>(end), buffer.name,
              static_cast<unsigned long long>(buffer.bytes));
    return true;
}

void WarnOfOverrun(Core& core, const GlobalRegion& r, const GlobalBuffer& buffer, const void* pc) {
    auto end = static_cast<uint64_t>(static_cast<const uint8_t*>(r.address) - buffer.address) + r.bytes;
    if (core.launch->checker == Checker::Off || end <= buffer.bytes) return;
    core.Warn("gm_overrun", pc, "Use DataCopyPad for the tail: it moves exactly the bytes asked for.",
              "%s %s up to byte %llu of '%s', which has %llu bytes; only the allocator's rounding hides it",
              r.instruction, r.write ? "writes" : "reads", static_cast<unsigned long long>(end), buffer.name,
              static_cast<unsigned long long>(buffer.bytes));
}

void CheckGlobal(Core& core, const GlobalRegion& r, const void* pc) {
    core.Place(pc);
    if (core.late != nullptr) core.late->SettleKnown(core);
    if (core.ranks != nullptr) CheckUnderWay(core, r, pc);
    if (r.write) core.polls = core.yields = 0;
    if (!r.write && core.launch->CoreCount() > 1) NotePoll(core, r, pc);
    const char* rule = r.write ? "illegal_write" : "illegal_read";
    const char* verb = r.write ? "writes" : "reads";
    const GlobalBuffer* buffer = core.launch->memory.Nearest(r.address);
    // Tables that the kernel holds itself ("static const __gm__ int32_t table[]") lie in global memory like its code.
    const Image& image = core.launch->images[static_cast<int>(core.kind)];
    bool of_table = r.origin == nullptr || image.HoldsConstants(reinterpret_cast<uint64_t>(r.origin), 1);
    if (!r.write && of_table && image.HoldsConstants(reinterpret_cast<uint64_t>(r.address), r.bytes)) return;
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
    bool stray = Strays(core, r, *buffer, pc);
    if (!stray && (begin < 0 || r.bytes > buffer->mapped || end > static_cast<int64_t>(buffer->reachable))) {
        core.Violate(rule, pc, "Cut the last piece at the end of the tensor.",
                     "%s %s bytes %lld to %lld of '%s', which has %llu bytes", r.instruction, verb,
                     static_cast<long long>(begin), static_cast<long long>(end), buffer->name,
                     static_cast<unsigned long long>(buffer->bytes));
    }
    if (core.launch->journal != nullptr) {
        Range span = Whole(reinterpret_cast<uint64_t>(r.address), r.bytes);
        core.launch->journal->Note(core, {r.instruction, "gm", pc, span, r.write, true, false, false});
    }
    GlobalMemory::Cover(*buffer, r.address, r.bytes, r.write);
    if (r.write && core.atomic_mode != npukb::AtomicMode::None) GlobalMemory::Cover(*buffer, r.address, r.bytes, false);
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
    if (!stray) WarnOfOverrun(core, r, *buffer, pc);
    if (core.order != nullptr && buffer->writable) {
        bool atomic = r.write && core.atomic_mode != npukb::AtomicMode::None;
        core.order->Note(
            {r.instruction, "gm", pc, Whole(reinterpret_cast<uint64_t>(r.address), r.bytes), r.write, true, atomic});
        if (core.late != nullptr && r.write)
            atomic ? core.late->SettleAll() : core.late->Before(reinterpret_cast<uint64_t>(r.address), r.bytes);
    }
}

}  // namespace twin
