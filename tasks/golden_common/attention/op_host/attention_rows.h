// How many rows of queries a block that computes attention treats at a time, and what its cores exchange.
#ifndef ATTENTION_ROWS_H
#define ATTENTION_ROWS_H
#include "products.h"

namespace optiling {
// As many rows as the unified buffer of two vector cores has room for in results; fewer if that gives more blocks
// something to do. `countTiles` tells how many tiles of so many rows there are.
template <typename CountTiles>
uint64_t AttentionRows(uint64_t headWidth, uint64_t least, uint64_t cores, CountTiles countTiles) {
    constexpr uint64_t MOST = 128, RESULTS = 16384;
    const uint64_t pitch = CeilDiv(headWidth, 16) * 16;
    uint64_t rows = MOST;
    while (rows > least && (rows * pitch > RESULTS || countTiles(rows) < cores)) {
        rows /= 2;
    }
    return rows;
}

// Of one block: two tiles of scores, one of powers, which are 16-bit elements, and one of products.
inline uint64_t ExchangeBytes(uint64_t rows, uint64_t headWidth) {
    constexpr uint64_t KEYS = 128;
    const uint64_t pitch = CeilDiv(headWidth, 16) * 16;
    return rows * (KEYS * (2 * sizeof(float) + sizeof(uint16_t)) + pitch * sizeof(float));
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
