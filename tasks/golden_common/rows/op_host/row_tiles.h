// How the tiling functions of golden operators lay rows into tiles.
#ifndef ROW_TILES_H
#define ROW_TILES_H
#include "work_split.h"

namespace optiling {
struct RowTiles {
    uint32_t pitch;  // elements from row to row in a tile: whole blocks of 32 bytes
    uint32_t rows;   // of a tile; 0 where a row is longer than a tile
};

inline RowTiles LayRows(uint64_t columns, uint64_t elementsPerBlock, uint64_t tile) {
    constexpr uint64_t MOST = 248;  // repeats of an instruction: at most 255, here a multiple of 8
    const uint64_t pitch = CeilDiv(columns, elementsPerBlock) * elementsPerBlock;
    if (pitch == 0 || tile < pitch) {
        return {static_cast<uint32_t>(tile), 0};
    }
    const uint64_t rows = tile / pitch;
    return {static_cast<uint32_t>(pitch), static_cast<uint32_t>(rows < MOST ? rows : MOST)};
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
