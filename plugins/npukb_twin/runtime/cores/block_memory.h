// What a core needs while it runs: a stack and its memories.
#pragma once
#include <stdint.h>

namespace twin {

inline constexpr uint64_t kStackBytes = 1u << 20;
inline constexpr uint64_t kGuardBytes = 1u << 20;  // below the stack; no one may touch it

// Kernels that clang compiles have two stacks: one for return addresses and what no pointer leads to, and one for the
// rest.
#if defined(__clang__)
#define NPUKB_TWO_STACKS 1
#else
#define NPUKB_TWO_STACKS 0
#endif

struct BlockMemory {
    uint8_t* stack;  // begins with the guard
    uint8_t* arena;  // addresses for all memories, with guards on both sides

    uint8_t* Top() const { return stack + kGuardBytes + kStackBytes; }
    // The stack that the kernel's pointers lead to, with a guard below it.
    uint8_t* Seen() const { return NPUKB_TWO_STACKS ? Top() : stack; }
    uint8_t* SeenTop() const { return Seen() + kGuardBytes + kStackBytes; }
    // Whether memory lies on that stack or where it would grow to, on the other one, in the guard below either.
    bool HoldsSeen(uint64_t address, uint64_t bytes) const;
    bool HoldsReturns(uint64_t address, uint64_t bytes) const;
    bool InGuard(const void* address) const;
};

// Exchanges where this thread's second stack has grown to for `other`: before a fiber is entered, and when it has been
// left.
void SwapSeenStack(void** other);

// Memory for the blocks of one thread. A block that has ended leaves its memory to the next one: touching fresh pages
// would cost more than what many blocks do with them. Stacks are full of zeros when they are taken, whoever had them
// before.
class BlockMemories {
  public:
    // Of arenas of this size, in which `open_bytes` from `open` on can be touched.
    BlockMemories(uint64_t arena_bytes, uint64_t open, uint64_t open_bytes);

    BlockMemory Take();
    void GiveBack(const BlockMemory& memory);

  private:
    struct Spare {
        Spare* next;
        uint8_t* stack;
    };
    uint64_t arena_bytes_;
    uint64_t open_;
    uint64_t open_bytes_;
    Spare* spare_ = nullptr;  // lies at the start of what is open of its arena
};

}  // namespace twin

#if NPUKB_TWO_STACKS
// Where the second stack has grown to, on this thread; the compiler knows it by this name.
extern "C" __attribute__((visibility("default"))) thread_local void* __safestack_unsafe_stack_ptr;
#endif
