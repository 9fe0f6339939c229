// The order in which a block works through its tiles.
#ifndef ATTENTION_TILES_H
#define ATTENTION_TILES_H
#include "attention_exchange.h"

using Sizes = FlashAttentionScoreWithLargeHeadDimTilingData;

// Some queries of one head with some of its keys.
struct Tile {
    uint64_t batch, head;
    uint32_t firstRow, rows;
    uint32_t firstKey, keys;
    uint32_t number;   // among all tiles of the block
    bool first, last;  // of these queries
};

// The tiles of one block: all keys of some queries, then the next queries. Cube and vector cores take the same way.
class Walk {
  public:
    __aicore__ inline explicit Walk(const Sizes& sizes)
        : sizes(sizes),
          rowTiles((sizes.length + sizes.tileRows - 1) / sizes.tileRows),
          queries(AscendC::GetBlockIdx() / AscendC::GetSubBlockNum()) {}

    __aicore__ inline bool Done() const { return queries >= sizes.batches * sizes.heads * rowTiles; }

    __aicore__ inline void Next() {
        ++number;
        key += KEYS;
        if (key >= sizes.length) {
            key = 0;
            queries += AscendC::GetBlockNum();
        }
    }

    __aicore__ inline Tile Here() const {
        const uint64_t part = queries / rowTiles;
        const uint32_t row = queries % rowTiles * sizes.tileRows;
        const uint32_t rows = sizes.length - row < sizes.tileRows ? sizes.length - row : sizes.tileRows;
        const uint32_t keys = sizes.length - key < KEYS ? sizes.length - key : KEYS;
        const bool last = key + keys == sizes.length;
        return {part / sizes.heads, part % sizes.heads, row, rows, key, keys, number, key == 0, last};
    }

  private:
    const Sizes& sizes;
    uint64_t rowTiles, queries;
    uint32_t key = 0, number = 0;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
