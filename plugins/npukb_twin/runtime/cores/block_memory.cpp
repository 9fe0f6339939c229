// Stacks and memories are mapped once per thread and go from block to block; guard pages lie around the stacks.
#include "cores/block_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check/raw_access.h"
#include "cores/sanitizer.h"

#if NPUKB_TWO_STACKS
extern "C" __attribute__((visibility("default"))) thread_local void* __safestack_unsafe_stack_ptr = nullptr;

// Kernels ask where that variable is before they take a frame of that stack; blocks never change their thread. They may
// have written anything into it.
extern "C" __attribute__((visibility("default"))) void** __safestack_pointer_address() {
    twin::CheckSeenStack(__safestack_unsafe_stack_ptr, __builtin_return_address(0));
    return &__safestack_unsafe_stack_ptr;
}
#endif

namespace twin {
namespace {

constexpr uint64_t kUnit = 1u << 16;        // larger than any page
constexpr uint64_t kUsualDepth = 1u << 14;  // of a stack: what nearly every kernel stays within
constexpr int kPopulate = 23;               // MADV_POPULATE_WRITE, not in older headers

void Open(uint8_t* memory, uint64_t bytes) {
    if (mprotect(memory, bytes, PROT_READ | PROT_WRITE) != 0) abort();
}

void Clear(uint8_t* stack) {
    Forget(stack, kStackBytes);
    madvise(stack, kStackBytes - kUsualDepth, MADV_DONTNEED);
    memset(stack + kStackBytes - kUsualDepth, 0, kUsualDepth);
}

}  // namespace

void SwapSeenStack([[maybe_unused]] void** other) {
#if NPUKB_TWO_STACKS
    void* before = __safestack_unsafe_stack_ptr;
    __safestack_unsafe_stack_ptr = *other;
    *other = before;
#endif
}

bool BlockMemory::HoldsSeen(uint64_t address, uint64_t bytes) const {
    auto low = reinterpret_cast<uint64_t>(Seen());
    return address >= low && bytes <= kStackBytes && address - low <= kGuardBytes + kStackBytes - bytes;
}

bool BlockMemory::HoldsReturns(uint64_t address, uint64_t bytes) const {
    auto low = reinterpret_cast<uint64_t>(stack) + kGuardBytes;
    return address >= low && bytes <= kStackBytes && address - low <= kStackBytes - bytes;
}

bool BlockMemory::InGuard(const void* address) const {
    auto* at = static_cast<const uint8_t*>(address);
    return (at >= stack && at < stack + kGuardBytes) || (at >= Seen() && at < Seen() + kGuardBytes);
}

BlockMemories::BlockMemories(uint64_t arena_bytes, uint64_t open, uint64_t open_bytes)
    : arena_bytes_((arena_bytes + kUnit - 1) / kUnit * kUnit), open_(open), open_bytes_(open_bytes) {}

BlockMemory BlockMemories::Take() {
    if (spare_ != nullptr) {
        BlockMemory memory{spare_->stack, reinterpret_cast<uint8_t*>(spare_) - open_};
        spare_ = spare_->next;
        return memory;
    }
    constexpr uint64_t kStacks = (NPUKB_TWO_STACKS + 1) * (kGuardBytes + kStackBytes);
    uint64_t bytes = kStacks + kUnit + arena_bytes_ + kUnit;
    void* reserved = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) abort();
    BlockMemory memory{static_cast<uint8_t*>(reserved), nullptr};
    memory.arena = memory.SeenTop() + kUnit;
    Open(memory.stack + kGuardBytes, kStackBytes);
    if (NPUKB_TWO_STACKS) Open(memory.Seen() + kGuardBytes, kStackBytes);
    Open(memory.arena + open_, open_bytes_);
    madvise(memory.arena + open_, open_bytes_,
            kPopulate);  // all at once is cheaper than page by page; where it fails, nothing is lost
    return memory;
}

void BlockMemories::GiveBack(const BlockMemory& memory) {
    Clear(memory.stack + kGuardBytes);
    if (NPUKB_TWO_STACKS) Clear(memory.Seen() + kGuardBytes);
    auto* spare = reinterpret_cast<Spare*>(memory.arena + open_);
    *spare = {spare_, memory.stack};
    spare_ = spare;
}

}  // namespace twin
