// The cube core's part of Mla: scores of queries and cached tokens, and products of powers and cached values.
#ifndef MLA_PRODUCTS_H
#define MLA_PRODUCTS_H
#include "attention_matrices.h"
#include "mla_tiles.h"

// Queries lie in L1 as the part without rotary embedding and behind it the one with, each in whole fractals. The first
// part of keys stays there as values until their scores have become powers: those of three tiles, one of which is
// being loaded.
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
        const uint32_t rope = Up(sizes.ropeWidth, SIDE);
        tables.SetGlobalBuffer((__gm__ int32_t*)blockTables, uint64_t(sizes.sequences) * sizes.tableWidth);
        pipe->InitBuffer(queryQueue, 1, sizes.tileRows * (exchange.pitch + rope) * sizeof(T));
        pipe->InitBuffer(keyQueue, TILES, KEYS * exchange.pitch * sizeof(T));
        pipe->InitBuffer(ropeQueue, 2, KEYS * rope * sizeof(T));
        pipe->InitBuffer(powersQueue, 1, sizes.tileRows * KEYS * sizeof(T));
        matrices.Init(pipe, sizes.tileRows);
    }

    // While the vector cores make powers of the next tile's scores, the cube core multiplies those of this one by
    // values, then computes the scores of the tile after the next. Nothing that it needs has to be loaded at once.
    __aicore__ inline void Process() {
        Walk loaded(sizes), scored(sizes);
        LoadNext(loaded);
        LoadNext(loaded);
        LoadNextQueries(scored);
        ScoreNext(scored);
        LoadNext(loaded);
        LoadNextQueries(scored);
        ScoreNext(scored);
        for (Walk walk(sizes); !walk.Done(); walk.Next()) {
            const Tile tile = walk.Here();
            LoadPowers(tile);
            LoadNextQueries(scored);
            Weigh(tile);
            LoadNext(loaded);
            ScoreNext(scored);
        }
    }

  private:
    static constexpr uint32_t PIECE = AttentionMatrices<T>::PIECE;
    static constexpr uint32_t TILES = 3;  // whose keys are in L1
    static constexpr uint32_t PART = 32;  // keys that come with one transfer

    __aicore__ inline void LoadNext(Walk& walk) {
        if (!walk.Done()) {
            const Tile tile = walk.Here();
            LoadTokens(keyQueue, tile, cacheNope, sizes.headWidth);
            LoadTokens(ropeQueue, tile, cacheRope, sizes.ropeWidth);
            walk.Next();
        }
    }

    __aicore__ inline void LoadNextQueries(const Walk& walk) {
        if (!walk.Done() && walk.Here().first) {
            LoadQueries(walk.Here());
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
            queries = queryQueue.template DeQue<T>();
        }
        AscendC::LocalTensor<T>& nope = keys[tile.number % TILES];
        nope = keyQueue.template DeQue<T>();
        AscendC::LocalTensor<T> rope = ropeQueue.template DeQue<T>();
        const uint32_t rows = Up(tile.rows, SIDE), columns = Up(tile.keys, SIDE);
        const AscendC::LocalTensor<float> sums = matrices.Sums();
        for (uint32_t begin = 0; begin < sizes.headWidth; begin += PIECE) {
            const uint32_t depth = sizes.headWidth - begin < PIECE ? sizes.headWidth - begin : PIECE;
            matrices.AddScores(sums, queries[begin * rows], nope[begin * columns], rows, columns, depth, begin == 0);
        }
        matrices.AddScores(sums, queries[exchange.pitch * rows], rope, rows, columns, sizes.ropeWidth, false);
        ropeQueue.FreeTensor(rope);
        if (tile.last) {
            queryQueue.FreeTensor(queries);
        }
        matrices.Store(exchange.scores[tile.number % 2], sums, tile.rows, columns, KEYS);
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(SCORES_READY);
    }

    __aicore__ inline void LoadQueries(const Tile& tile) {
        const uint32_t height = Up(tile.rows, SIDE);
        AscendC::LocalTensor<T> tokens = queryQueue.template AllocTensor<T>();
        Load(tokens, queryNope, tile.firstRow, tile.rows, sizes.headWidth, 1, height);
        Load(tokens[exchange.pitch * height], queryRope, tile.firstRow, tile.rows, sizes.ropeWidth, 1, height);
        queryQueue.EnQue(tokens);
    }

    // Cached tokens in several parts, of which blocks begin with different ones: cores that load the same tokens at the
    // same time do not wait for each other in L2.
    template <typename Queue>
    __aicore__ inline void LoadTokens(Queue& queue, const Tile& tile, __gm__ T* cache, uint32_t width) {
        const uint32_t parts = (tile.keys + PART - 1) / PART;
        AscendC::LocalTensor<T> tokens = queue.template AllocTensor<T>();
        for (uint32_t i = 0; i < parts; ++i) {
            const uint32_t begin = (AscendC::GetBlockIdx() + i) % parts * PART, left = tile.keys - begin;
            LoadPart(tokens, tile, cache, width, begin, left < PART ? tile.keys : begin + PART);
        }
        queue.EnQue(tokens);
    }

    // Tokens of a tile, one run of rows for each block of the cache that they lie in.
    __aicore__ inline void LoadPart(const AscendC::LocalTensor<T>& tokens, const Tile& tile, __gm__ T* cache,
                                    uint32_t width, uint32_t begin, uint32_t end) {
        while (begin < end) {
            const uint32_t token = tile.firstKey + begin, slot = token % sizes.blockSize;
            const uint32_t room = sizes.blockSize - slot, left = end - begin, count = room < left ? room : left;
            const uint64_t block = tables.GetValue(tile.sequence * sizes.tableWidth + token / sizes.blockSize);
            const uint64_t row = (block * sizes.blockSize + slot) * sizes.cachedHeads + tile.cachedHead;
            Load(tokens[begin * SIDE], cache, row, count, width, sizes.cachedHeads, Up(tile.keys, SIDE));
            begin += count;
        }
    }

    // `rows` rows of `width` columns, every `step`-th one from `row` on.
    __aicore__ inline void Load(const AscendC::LocalTensor<T>& to, __gm__ T* from, uint64_t row, uint32_t rows,
                                uint32_t width, uint32_t step, uint32_t height) {
        AscendC::GlobalTensor<T> matrix;
        matrix.SetGlobalBuffer(from + row * width, (uint64_t(rows - 1) * step + 1) * width);
        matrices.CopyRows(to, matrix, rows, width, step * width, height);
    }

    __aicore__ inline void LoadPowers(const Tile& tile) {
        AscendC::CrossCoreWaitFlag(POWERS_READY);
        matrices.LoadRows(powersQueue, exchange.powers[tile.number % 2], tile.rows, tile.keys, KEYS);
    }

    // products = powers @ values
    __aicore__ inline void Weigh(const Tile& tile) {
        AscendC::LocalTensor<T> powers = powersQueue.template DeQue<T>();
        AscendC::LocalTensor<T>& values = keys[tile.number % TILES];
        matrices.Weigh(exchange.products[tile.number % 2], powers, values, tile.rows, tile.keys, exchange.pitch);
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
    AscendC::TQue<AscendC::TPosition::B1, 2> keyQueue, ropeQueue;
    AscendC::LocalTensor<T> queries, keys[TILES];  // by the number of their tile
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
