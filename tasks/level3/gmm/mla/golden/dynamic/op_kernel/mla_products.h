// The cube core's part of Mla: scores of queries and cached tokens, and products of powers and cached values.
#ifndef MLA_PRODUCTS_H
#define MLA_PRODUCTS_H
#include "attention_matrices.h"
#include "mla_tiles.h"

// Queries and keys lie in L1 as the part without rotary embedding and behind it the one with, each in whole fractals.
// The first part of keys stays there as values until their scores have become powers.
template <typename T>
class MlaProducts {
  public:
    __aicore__ inline MlaProducts(AscendC::TPipe* pipe, GM_ADDR queryNope, GM_ADDR queryRope, GM_ADDR cacheNope,
                                  GM_ADDR cacheRope, GM_ADDR blockTables, GM_ADDR workspace, const Sizes& sizes)
        : sizes(sizes),
          exchange(workspace, sizes.tileRows, sizes.headWidth),
          queryNope((__gm__ T*)queryNope),
          queryRope((__gm__ T*)queryRope),
          cacheNope((__gm__ T*)cacheNope),
          cacheRope((__gm__ T*)cacheRope) {
        const uint32_t pitch = exchange.pitch + Up(sizes.ropeWidth, SIDE);
        tables.SetGlobalBuffer((__gm__ int32_t*)blockTables, uint64_t(sizes.sequences) * sizes.tableWidth);
        pipe->InitBuffer(queryQueue, 2, sizes.tileRows * pitch * sizeof(T));
        pipe->InitBuffer(keyQueue, 2, KEYS * pitch * sizeof(T));
        pipe->InitBuffer(powersQueue, 1, sizes.tileRows * KEYS * sizeof(T));
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
    static constexpr uint32_t PIECE = AttentionMatrices<T>::PIECE;

    // scores = queries @ transpose(keys)
    __aicore__ inline void Score(const Tile& tile) {
        if (tile.first) {
            LoadQueries(tile);
        }
        LoadTokens(tile);
        const uint32_t rows = Up(tile.rows, SIDE), columns = Up(tile.keys, SIDE);
        const AscendC::LocalTensor<float> sums = matrices.Sums();
        for (uint32_t begin = 0; begin < sizes.headWidth; begin += PIECE) {
            const uint32_t depth = sizes.headWidth - begin < PIECE ? sizes.headWidth - begin : PIECE;
            AddScores(sums, tile, begin, depth);
        }
        AddScores(sums, tile, exchange.pitch, sizes.ropeWidth);
        if (tile.last) {
            queryQueue.FreeTensor(queries);
        }
        matrices.Store(exchange.scores[tile.number % 2], sums, tile.rows, columns, KEYS);
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(SCORES_READY);
    }

    // What `depth` columns from `begin` on, which are a multiple of fractals, contribute to scores.
    __aicore__ inline void AddScores(const AscendC::LocalTensor<float>& sums, const Tile& tile, uint32_t begin,
                                     uint32_t depth) {
        const uint32_t rows = Up(tile.rows, SIDE), columns = Up(tile.keys, SIDE);
        matrices.LoadLeft(queries[begin * rows], rows, Up(depth, SIDE));
        matrices.LoadKeys(keys[tile.number % 2][begin * columns], columns, Up(depth, SIDE));
        matrices.Multiply(sums, rows, columns, depth, begin == 0);
    }

    __aicore__ inline void LoadQueries(const Tile& tile) {
        const uint32_t height = Up(tile.rows, SIDE);
        queries = queryQueue.template AllocTensor<T>();
        Load(queries, queryNope, tile.firstRow, tile.rows, sizes.headWidth, 1, height);
        Load(queries[exchange.pitch * height], queryRope, tile.firstRow, tile.rows, sizes.ropeWidth, 1, height);
        queryQueue.EnQue(queries);
        queries = queryQueue.template DeQue<T>();
    }

    // Cached tokens, one run of rows for each block of the cache that they lie in.
    __aicore__ inline void LoadTokens(const Tile& tile) {
        const uint32_t height = Up(tile.keys, SIDE);
        AscendC::LocalTensor<T> tokens = keyQueue.template AllocTensor<T>();
        for (uint32_t done = 0; done < tile.keys;) {
            const uint32_t token = tile.firstKey + done, slot = token % sizes.blockSize;
            const uint32_t room = sizes.blockSize - slot, left = tile.keys - done, count = room < left ? room : left;
            const uint64_t block = tables.GetValue(tile.sequence * sizes.tableWidth + token / sizes.blockSize);
            const uint64_t row = (block * sizes.blockSize + slot) * sizes.cachedHeads + tile.cachedHead;
            Load(tokens[done * SIDE], cacheNope, row, count, sizes.headWidth, sizes.cachedHeads, height);
            Load(tokens[exchange.pitch * height + done * SIDE], cacheRope, row, count, sizes.ropeWidth,
                 sizes.cachedHeads, height);
            done += count;
        }
        keyQueue.EnQue(tokens);
        keys[tile.number % 2] = keyQueue.template DeQue<T>();
    }

    // `rows` rows of `width` columns, every `step`-th one from `row` on.
    __aicore__ inline void Load(const AscendC::LocalTensor<T>& to, __gm__ T* from, uint64_t row, uint32_t rows,
                                uint32_t width, uint32_t step, uint32_t height) {
        AscendC::GlobalTensor<T> matrix;
        matrix.SetGlobalBuffer(from + row * width, (uint64_t(rows - 1) * step + 1) * width);
        matrices.CopyRows(to, matrix, rows, width, step * width, height);
    }

    // products = powers @ values
    __aicore__ inline void Weigh(const Tile& tile) {
        AscendC::CrossCoreWaitFlag(POWERS_READY);
        matrices.LoadRows(powersQueue, exchange.powers, tile.rows, tile.keys, KEYS);
        AscendC::LocalTensor<T> powers = powersQueue.template DeQue<T>();
        AscendC::LocalTensor<T>& values = keys[tile.number % 2];
        const uint32_t rows = Up(tile.rows, SIDE), depth = Up(tile.keys, SIDE);
        for (uint32_t begin = 0; begin < exchange.pitch; begin += PIECE) {
            const uint32_t columns = exchange.pitch - begin < PIECE ? exchange.pitch - begin : PIECE;
            matrices.LoadLeft(powers, rows, depth);
            matrices.LoadValues(values[begin * depth], depth, columns);
            const AscendC::LocalTensor<float> sums = matrices.Sums();
            matrices.Multiply(sums, rows, columns, tile.keys, true);
            matrices.Store(exchange.products[begin], sums, tile.rows, columns, exchange.pitch);
        }
        keyQueue.FreeTensor(values);
        powersQueue.FreeTensor(powers);
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(PRODUCTS_READY);
    }

    const Sizes& sizes;
    Exchange<T> exchange;
    AttentionMatrices<T> matrices;
    __gm__ T* queryNope;
    __gm__ T* queryRope;
    __gm__ T* cacheNope;
    __gm__ T* cacheRope;
    AscendC::GlobalTensor<int32_t> tables;
    AscendC::TQue<AscendC::TPosition::A1, 1> queryQueue, powersQueue;
    AscendC::TQue<AscendC::TPosition::B1, 1> keyQueue;
    AscendC::LocalTensor<T> queries, keys[2];
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
