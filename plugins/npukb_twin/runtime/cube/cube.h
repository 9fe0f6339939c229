// What instructions of the cube unit share.
#pragma once
#include "../../include/twin/cube/abi.h"
#include "semantics/moves.h"

namespace twin {

inline constexpr uint32_t kCubeSide = 16;  // rows and columns of a fractal of L0C

// An element type as the cube unit sees it: fractals are 16 rows of 32 bytes.
inline constexpr uint32_t BitsOfType(npukb::DType type) {
    return type == npukb::DType::I4 ? 4 : npukb::kDTypeBytes[static_cast<int>(type)] * 8;
}
inline constexpr uint32_t ColumnsOfFractal(npukb::DType type) { return 256 / BitsOfType(type); }

inline constexpr MemorySet kL0 = SetOf(Memory::L0A) | SetOf(Memory::L0B);

inline uint32_t Blocks(uint32_t count, uint32_t size) { return (count + size - 1) / size; }

// Checks `bytes` of an operand of a row, from a tensor's beginning on. `memories` as in CheckMove.
inline void CheckCubeMove(Core& core, const MoveRow& move, Slot slot, const npukb::BufferView& view, uint64_t bytes,
                          const void* pc, MemorySet memories = 0xff) {
    CheckMove(core, move, slot, view.address, bytes, view.bytes, pc, memories);
}

// The same of what is no row's.
void CheckCubeOperand(Core& core, const char* name, const char* role, const npukb::BufferView& view, uint64_t bytes,
                      uint32_t alignment, MemorySet memories, bool write, const void* pc);

// Cycles of a move out of L1, by where it goes.
double LoadCycles(const Core& core, Memory to, double bytes);

// What the tracker cannot see: `bytes` of on-chip memory hold values now.
void DefineOnChip(Core& core, const void* address, uint64_t bytes);

// Moves on a cube core that stay on it: from L1 to the bias table or the fixpipe buffer, or, with blocks of one unit,
// inside L1. Lengths and gaps are those of DataCopyParams; without `params`, `count_bytes` in one piece.
void RunInsideCopy(const char* name, const npukb::BufferView& dst, const npukb::BufferView& src, const void* params,
                   uint64_t count_bytes, bool half_to_float, const void* pc);

}  // namespace twin
