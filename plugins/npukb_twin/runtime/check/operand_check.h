// The memory an instruction touches, checked in one place for every instruction.
#pragma once
#include "cores/core.h"

namespace twin {

// No tensor is this large. Sizes come from kernels: products that would not fit are too many rather than
// few.
inline constexpr int64_t kTooMany = int64_t{1} << 56;
inline int64_t Area(uint64_t a, uint64_t b) {
    uint64_t product;
    bool wraps = __builtin_mul_overflow(a, b, &product);
    return wraps || product > static_cast<uint64_t>(kTooMany) ? kTooMany : static_cast<int64_t>(product);
}

// A view as it was when the call began: `view` leads to a copy from then on. The kernel's own may lie where other
// blocks reach it, and change between the check and what follows.
struct Pinned {
    npukb::BufferView copy;
    Pinned(const npukb::BufferView*& view) : copy(view == nullptr ? npukb::BufferView{} : *view) {
        if (view != nullptr) view = &copy;
    }
    ~Pinned() {}
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
};

// Part of an on-chip memory that one operand spans.
struct LocalRegion {
    const char* instruction;  // as the candidate calls it
    const char* role;         // dst, src0, sharedTmpBuffer, …
    const void* address;
    uint64_t bytes;         // from the first to one past the last byte touched
    uint32_t tensor_bytes;  // from `address` to the end of the tensor it was taken from
    uint32_t alignment;
    bool write;
    MemorySet memories = SetOf(Memory::Ub);  // where it may lie
    bool loads = false;                      // a transfer from global memory writes it
};

// Ends the block with a violation when the region is in none of its memories or misaligned; warns when it leaves its
// tensor.
void CheckLocal(Core& core, const LocalRegion& region, const void* pc);

// Part of global memory that one operand spans.
struct GlobalRegion {
    const char* instruction;
    const void* address;
    uint64_t bytes;
    uint32_t element_bytes;
    bool write;
    const void* origin = nullptr;  // where the tensor begins that the address was computed from, when that is known
};

void CheckGlobal(Core& core, const GlobalRegion& region, const void* pc);

// Warns of what lies behind the end of `buffer`, in the memory that an allocation is rounded up to.
void WarnOfOverrun(Core& core, const GlobalRegion& region, const GlobalBuffer& buffer, const void* pc);

// Whether the region leaves what the kernel owns, inside of the segment that `buffer` was cut out of: warns of it, and
// makes it readable.
bool Strays(Core& core, const GlobalRegion& region, const GlobalBuffer& buffer, const void* pc);

}  // namespace twin
