// The cube core's part of attention: scores of queries and keys, and products of powers and values.
#ifndef ATTENTION_PRODUCTS_H
#define ATTENTION_PRODUCTS_H
#include "attention_matrices.h"
#include "attention_tiles.h"

// Scores are added up over pieces of a head's columns; products are computed in pieces of them.
class AttentionProducts {
  public:
    __aicore__ inline AttentionProducts(AscendC::TPipe* pipe, GM_ADDR query, GM_ADDR key, GM_ADDR value,
                                        GM_ADDR workspace, const Sizes& sizes)
        : sizes(sizes),
          exchange(workspace, sizes.tileRows, sizes.headWidth),
          width(uint64_t(sizes.heads) * sizes.headWidth) {
        const uint64_t elements = sizes.batches * sizes.length * width;
        queryGlobal.SetGlobalBuffer((__gm__ half*)query, elements);
        keyGlobal.SetGlobalBuffer((__gm__ half*)key, elements);
        valueGlobal.SetGlobalBuffer((__gm__ half*)value, elements);
        pipe->InitBuffer(queryQueue, 1, sizes.tileRows * exchange.pitch * sizeof(half));
        pipe->InitBuffer(keyQueue, 2, KEYS * exchange.pitch * sizeof(half));
        pipe->InitBuffer(valueQueue, 1, KEYS * exchange.pitch * sizeof(half));
        pipe->InitBuffer(powersQueue, 1, sizes.tileRows * KEYS * sizeof(half));
        matrices.Init(pipe, sizes.tileRows);
    }

    // While the vector cores make powers of the next tile's scores, the cube core multiplies those of this one by
    // values, then computes the scores of the tile after the next. Nothing that it needs has to be loaded at once.
    __aicore__ inline void Process() {
        Walk loaded(sizes), scored(sizes), valued(sizes);
        LoadNextKeys(loaded);
        LoadNextQueries(scored);
        LoadNextKeys(loaded);
        ScoreNext(scored);
        LoadNextQueries(scored);
        LoadNextKeys(loaded);
        LoadNextValues(valued);
        ScoreNext(scored);
        for (Walk walk(sizes); !walk.Done(); walk.Next()) {
            const Tile tile = walk.Here();
            LoadPowers(tile);
            LoadNextQueries(scored);
            LoadNextKeys(loaded);
            Weigh(tile);
            LoadNextValues(valued);
            ScoreNext(scored);
        }
    }

  private:
    static constexpr uint32_t PIECE = AttentionMatrices<half>::PIECE;

    __aicore__ inline void LoadNextKeys(Walk& walk) {
        if (!walk.Done()) {
            const Tile tile = walk.Here();
            matrices.LoadRows(keyQueue, keyGlobal[Offset(tile, tile.firstKey)], tile.keys, sizes.headWidth, width);
            walk.Next();
        }
    }

    __aicore__ inline void LoadNextValues(Walk& walk) {
        if (!walk.Done()) {
            const Tile tile = walk.Here();
            matrices.LoadRows(valueQueue, valueGlobal[Offset(tile, tile.firstKey)], tile.keys, sizes.headWidth, width);
            walk.Next();
        }
    }

    __aicore__ inline void LoadNextQueries(const Walk& walk) {
        if (!walk.Done() && walk.Here().first) {
            const Tile tile = walk.Here();
            matrices.LoadRows(queryQueue, queryGlobal[Offset(tile, tile.firstRow)], tile.rows, sizes.headWidth, width);
        }
    }

    __aicore__ inline void ScoreNext(Walk& walk) {
        if (!walk.Done()) {
            Score(walk.Here());
            walk.Next();
        }
    }

    // scores = queries @ transpose(keys)
    __aicore__ inline void Score(const Tile& tile) {
        if (tile.first) {
            queries = queryQueue.DeQue<half>();
        }
        AscendC::LocalTensor<half> keys = keyQueue.DeQue<half>();
        const uint32_t rows = Up(tile.rows, SIDE), columns = Up(tile.keys, SIDE);
        const AscendC::LocalTensor<float> sums = matrices.Sums();
        for (uint32_t begin = 0; begin < sizes.headWidth; begin += PIECE) {
            const uint32_t depth = sizes.headWidth - begin < PIECE ? sizes.headWidth - begin : PIECE;
            matrices.AddScores(sums, queries[begin * rows], keys[begin * columns], rows, columns, depth, begin == 0);
        }
        keyQueue.FreeTensor(keys);
        if (tile.last) {
            queryQueue.FreeTensor(queries);
        }
        matrices.Store(exchange.scores[tile.number % 2], sums, tile.rows, columns, KEYS);
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(SCORES_READY);
    }

    __aicore__ inline void LoadPowers(const Tile& tile) {
        AscendC::CrossCoreWaitFlag(POWERS_READY);
        matrices.LoadRows(powersQueue, exchange.powers[tile.number % 2], tile.rows, tile.keys, KEYS);
    }

    // products = powers @ values
    __aicore__ inline void Weigh(const Tile& tile) {
        AscendC::LocalTensor<half> values = valueQueue.DeQue<half>(), powers = powersQueue.DeQue<half>();
        matrices.Weigh(exchange.products[tile.number % 2], powers, values, tile.rows, tile.keys, exchange.pitch);
        valueQueue.FreeTensor(values);
        powersQueue.FreeTensor(powers);
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(PRODUCTS_READY);
    }

    __aicore__ inline uint64_t Offset(const Tile& tile, uint32_t row) const {
        return (tile.batch * sizes.length + row) * width + tile.head * sizes.headWidth;
    }

    const Sizes& sizes;
    Exchange<half> exchange;
    AttentionMatrices<half> matrices;
    uint64_t width;  // of a row of all heads
    AscendC::GlobalTensor<half> queryGlobal, keyGlobal, valueGlobal;
    AscendC::TQue<AscendC::TPosition::A1, 1> queryQueue, powersQueue;
    AscendC::TQue<AscendC::TPosition::B1, 2> keyQueue;
    AscendC::TQue<AscendC::TPosition::B1, 1> valueQueue;
    AscendC::LocalTensor<half> queries;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
