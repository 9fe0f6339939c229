// How many rows of queries a block that computes attention treats at a time, and what its cores exchange.
#ifndef ATTENTION_ROWS_H
#define ATTENTION_ROWS_H
#include <algorithm>
#include "products.h"

namespace optiling {
constexpr uint64_t ATTENTION_KEYS = 128;  // of a tile

inline uint64_t AttentionPitch(uint64_t headWidth) { return CeilDiv(headWidth, 16) * 16; }

// Whether L1 has room for the rows' queries of `width` columns and their powers, beside `others` bytes of keys and
// values, and the unified buffer of a vector core for half of the rows: their results, two tiles of scores, one of
// powers and of half of the scores' lanes, and pieces of products and results on their way.
inline bool FitsBuffers(uint64_t rows, uint64_t pitch, uint64_t width, uint64_t others) {
    constexpr uint64_t L1 = 512 * 1024;
    if (rows * (width + ATTENTION_KEYS) * sizeof(uint16_t) + others > L1) {
        return false;
    }
    constexpr uint64_t ROOM = 192 * 1024, PIECES = 52 * 1024, SMALL = 128;
    const uint64_t row = ATTENTION_KEYS * (2 * sizeof(float) + sizeof(uint16_t) + sizeof(float) / 2) + SMALL;
    return rows / 2 * (row + pitch * sizeof(float)) + PIECES <= ROOM;
}

// Nanoseconds that so many rows take with a tile of keys, by round numbers of the chip: the cube core loads keys and
// values into L0B while it stores scores and products.
inline double AttentionTileTime(uint64_t rows, uint64_t pitch) {
    constexpr double LOADED = 230.0, STORED = 75.0, FLAGS = 500.0;  // bytes per ns
    const double load = 2.0 * ATTENTION_KEYS * pitch * sizeof(uint16_t) / LOADED;
    return FLAGS + std::max(load, double(rows) * (ATTENTION_KEYS + pitch) * sizeof(float) / STORED);
}

// The rows with which all blocks have finished soonest. `countTiles` tells how many tiles of so many rows there are;
// queries have `width` columns, of which those of values may be fewer, and L1 holds `others` bytes besides.
template <typename CountTiles>
uint64_t AttentionRows(uint64_t headWidth, uint64_t width, uint64_t others, uint64_t cores, CountTiles countTiles) {
    constexpr uint64_t MOST = 128, SIDE = 16;
    const uint64_t pitch = AttentionPitch(headWidth);
    uint64_t best = SIDE;
    double least = 0;
    for (uint64_t rows = SIDE; rows <= MOST && FitsBuffers(rows, pitch, width, others); rows += SIDE) {
        const double time = CeilDiv(countTiles(rows), cores) * AttentionTileTime(rows, pitch);
        if (least == 0 || time < least) {
            best = rows;
            least = time;
        }
    }
    return best;
}

// Of one block: two tiles of scores, of powers, which are 16-bit elements, and of products.
inline uint64_t ExchangeBytes(uint64_t rows, uint64_t headWidth) {
    const uint64_t scores = ATTENTION_KEYS * (sizeof(float) + sizeof(uint16_t));
    return 2 * rows * (scores + AttentionPitch(headWidth) * sizeof(float));
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
