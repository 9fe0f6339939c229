// How the tiling functions of golden operators lay rows into tiles.
#ifndef ROW_TILES_H
#define ROW_TILES_H
#include "work_split.h"

namespace optiling {
struct RowTiles {
    uint32_t pitch;  // elements from row to row in a tile: whole blocks of 32 bytes, or whole repeats of floats
    uint32_t rows;   // of a tile; 0 where a row is longer than a tile
};

// Rows that are long enough begin at whole repeats if `summed`: so they are summed all at once.
inline RowTiles LayRows(uint64_t columns, uint64_t elementsPerBlock, uint64_t tile, bool summed = false) {
    constexpr uint64_t MOST = 248;  // repeats of an instruction: at most 255, here a multiple of 8
    constexpr uint64_t REPEAT = 64, LONG = 4 * REPEAT;
    const uint64_t blocks = CeilDiv(columns, elementsPerBlock) * elementsPerBlock;
    const uint64_t repeats = CeilDiv(columns, REPEAT) * REPEAT;
    const uint64_t pitch = summed && columns > LONG && repeats <= tile ? repeats : blocks;
    if (pitch == 0 || tile < pitch) {
        return {static_cast<uint32_t>(tile), 0};
    }
    const uint64_t rows = tile / pitch;
    return {static_cast<uint32_t>(pitch), static_cast<uint32_t>(rows < MOST ? rows : MOST)};
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
