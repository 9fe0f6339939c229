// The two kinds of cores and the memories on them.
#pragma once
#include <stdint.h>

namespace twin {

enum class CoreKind : uint8_t { Vector, Cube };
inline constexpr int kCoreKinds = 2;

// Memories of one core. A vector core has UB, a cube core the others.
enum class Memory : uint8_t { Ub, L1, L0A, L0B, L0C, Bt, Fb, None };
inline constexpr int kMemories = 7;

// Sets of memories, for operands that may lie in more than one.
using MemorySet = uint8_t;
constexpr MemorySet SetOf(Memory memory) { return static_cast<MemorySet>(1u << static_cast<int>(memory)); }

constexpr CoreKind HolderOf(Memory memory) { return memory == Memory::Ub ? CoreKind::Vector : CoreKind::Cube; }

// Every core has addresses for all memories, in one arena, at the same offsets; only those of its own kind can be
// touched.
struct MemoryRange {
    uint32_t offset;
    uint32_t bytes;
};
inline constexpr uint32_t kMemoryGranule = 1u << 16;  // memories begin at multiples of this
inline constexpr uint32_t kArenaBlocks = 53248;       // of 32 bytes, at most

const char* MemoryName(Memory memory);
const char* CoreKindName(CoreKind kind);
// Where tensors of a queue or buffer with this TPosition lie; None for global memory.
Memory MemoryOf(int position);

}  // namespace twin
