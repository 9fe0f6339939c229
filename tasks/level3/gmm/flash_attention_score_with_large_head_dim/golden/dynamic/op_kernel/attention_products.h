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
        pipe->InitBuffer(queryQueue, 2, sizes.tileRows * exchange.pitch * sizeof(half));
        pipe->InitBuffer(keyQueue, 2, KEYS * exchange.pitch * sizeof(half));
        pipe->InitBuffer(valueQueue, 1, KEYS * exchange.pitch * sizeof(half));
        pipe->InitBuffer(powersQueue, 1, sizes.tileRows * KEYS * sizeof(half));
        matrices.Init(pipe);
    }

    // The scores of the next tile are computed while the vector cores make powers of this one's.
    __aicore__ inline void Process() {
        Walk ahead(sizes);
        if (!ahead.Done()) {
            Score(ahead.Here());
            ahead.Next();
        }
        for (Walk walk(sizes); !walk.Done(); walk.Next()) {
            if (!ahead.Done()) {
                Score(ahead.Here());
                ahead.Next();
            }
            Weigh(walk.Here());
        }
    }

  private:
    static constexpr uint32_t PIECE = AttentionMatrices<half>::PIECE;

    // scores = queries @ transpose(keys)
    __aicore__ inline void Score(const Tile& tile) {
        if (tile.first) {
            matrices.LoadRows(queryQueue, queryGlobal[Offset(tile, tile.firstRow)], tile.rows, sizes.headWidth, width);
            queries = queryQueue.DeQue<half>();
        }
        matrices.LoadRows(keyQueue, keyGlobal[Offset(tile, tile.firstKey)], tile.keys, sizes.headWidth, width);
        AscendC::LocalTensor<half> keys = keyQueue.DeQue<half>();
        const uint32_t rows = Up(tile.rows, SIDE), columns = Up(tile.keys, SIDE);
        const AscendC::LocalTensor<float> sums = matrices.Sums();
        for (uint32_t begin = 0; begin < sizes.headWidth; begin += PIECE) {
            const uint32_t depth = sizes.headWidth - begin < PIECE ? sizes.headWidth - begin : PIECE;
            matrices.LoadLeft(queries[begin * rows], rows, Up(depth, SIDE));
            matrices.LoadKeys(keys[begin * columns], columns, Up(depth, SIDE));
            matrices.Multiply(sums, rows, columns, depth, begin == 0);
        }
        keyQueue.FreeTensor(keys);
        if (tile.last) {
            queryQueue.FreeTensor(queries);
        }
        matrices.Store(exchange.scores[tile.number % 2], sums, tile.rows, columns, KEYS);
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(SCORES_READY);
    }

    // products = powers @ values
    __aicore__ inline void Weigh(const Tile& tile) {
        matrices.LoadRows(valueQueue, valueGlobal[Offset(tile, tile.firstKey)], tile.keys, sizes.headWidth, width);
        AscendC::CrossCoreWaitFlag(POWERS_READY);
        matrices.LoadRows(powersQueue, exchange.powers, tile.rows, tile.keys, KEYS);
        AscendC::LocalTensor<half> values = valueQueue.DeQue<half>(), powers = powersQueue.DeQue<half>();
        const uint32_t rows = Up(tile.rows, SIDE), depth = Up(tile.keys, SIDE);
        for (uint32_t begin = 0; begin < exchange.pitch; begin += PIECE) {
            const uint32_t columns = exchange.pitch - begin < PIECE ? exchange.pitch - begin : PIECE;
            matrices.LoadLeft(powers, rows, depth);
            matrices.LoadValues(values[begin * depth], depth, columns);
            const AscendC::LocalTensor<float> sums = matrices.Sums();
            matrices.Multiply(sums, rows, columns, tile.keys, true);
            matrices.Store(exchange.products[begin], sums, tile.rows, columns, exchange.pitch);
        }
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
    AscendC::TQue<AscendC::TPosition::B1, 1> keyQueue, valueQueue;
    AscendC::LocalTensor<half> queries;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
