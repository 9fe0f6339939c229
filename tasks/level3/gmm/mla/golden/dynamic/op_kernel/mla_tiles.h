// The order in which a block works through its tiles.
#ifndef MLA_TILES_H
#define MLA_TILES_H
#include "attention_exchange.h"

using Sizes = MlaTilingData;

// Some queries of a sequence, which see the same cached head, with some of the cached tokens. A row of queries is a
// token's head.
struct Tile {
    uint32_t sequence, cachedHead;
    uint64_t firstRow;
    uint32_t rows;
    uint32_t firstKey, keys;
    uint32_t number;   // among all tiles of the block
    bool first, last;  // of these queries
};

// The tiles of one block: all cached tokens with some queries, then the next queries. Cube and vector cores take the
// same way. If there is one cached head, all queries of a sequence follow one another; otherwise those of a token that
// see the same one do.
class Walk {
  public:
    __aicore__ inline explicit Walk(const Sizes& sizes)
        : sizes(sizes), next(AscendC::GetBlockIdx() / AscendC::GetSubBlockNum()) {
        Settle();
    }

    __aicore__ inline bool Done() const { return sequence >= sizes.sequences; }

    __aicore__ inline void Next() {
        ++number;
        key += KEYS;
        if (key >= sizes.cached[sequence]) {
            key = 0;
            next += AscendC::GetBlockNum();
            Settle();
        }
    }

    __aicore__ inline Tile Here() const {
        const uint64_t run = next / RunTiles(), row = next % RunTiles() * sizes.tileRows;
        const uint32_t rows = RunRows() - row < sizes.tileRows ? RunRows() - row : sizes.tileRows;
        const uint32_t left = sizes.cached[sequence] - key, keys = left < KEYS ? left : KEYS;
        const uint64_t begin = firstToken * sizes.heads + run * RunRows() + row;
        const uint32_t cachedHead = run % sizes.cachedHeads;
        return {sequence, cachedHead, begin, rows, key, keys, number, key == 0, keys == left};
    }

  private:
    __aicore__ inline uint64_t Runs() const {
        return sizes.cachedHeads == 1 ? 1 : uint64_t(sizes.tokens[sequence]) * sizes.cachedHeads;
    }
    __aicore__ inline uint64_t RunRows() const {
        const uint64_t all = uint64_t(sizes.tokens[sequence]) * sizes.heads;
        return sizes.cachedHeads == 1 ? all : sizes.heads / sizes.cachedHeads;
    }
    __aicore__ inline uint64_t RunTiles() const { return (RunRows() + sizes.tileRows - 1) / sizes.tileRows; }

    // To the sequence that the next queries belong to.
    __aicore__ inline void Settle() {
        while (!Done() && next >= Runs() * RunTiles()) {
            next -= Runs() * RunTiles();
            firstToken += sizes.tokens[sequence];
            ++sequence;
        }
    }

    const Sizes& sizes;
    uint64_t next;            // queries of this block, in tiles from the sequence's beginning
    uint64_t firstToken = 0;  // of the sequence
    uint32_t sequence = 0, key = 0, number = 0;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
