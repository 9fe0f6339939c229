// The vector cores' part of attention: powers of scores, and the weighted sums of values, tile by tile.
#ifndef ATTENTION_SOFTMAX_H
#define ATTENTION_SOFTMAX_H
#include "attention_exchange.h"
#include "row_math.h"

// Each of the two vector cores of a block has half of the rows of a tile. Powers are relative to the largest score so
// far; when a larger one is found, sums and results shrink by the power of the difference.
//
// `Walk` gives tiles, which have rows, keys and a number, and are first or last of their queries. `Results` knows where
// rows of a result go (Place, Distance), and takes largest scores and sums of powers (WriteStatistics).
template <typename T, typename Walk, typename Results>
class AttentionSoftmax {
  public:
    __aicore__ inline AttentionSoftmax(AscendC::TPipe* pipe, const Results& results, GM_ADDR out, GM_ADDR workspace,
                                       uint32_t tileRows, uint32_t headWidth, float scale)
        : results(results),
          exchange(workspace, tileRows, headWidth),
          out((__gm__ T*)out),
          headWidth(headWidth),
          most(tileRows / 2),
          scale(scale) {
        pipe->InitBuffer(scoresQueue, 2, most * KEYS * sizeof(float));
        pipe->InitBuffer(powersQueue, 1, most * KEYS * sizeof(T));
        pipe->InitBuffer(productsQueue, 1, most * exchange.pitch * sizeof(float));
        pipe->InitBuffer(outQueue, 1, most * exchange.pitch * sizeof(T));
        pipe->InitBuffer(statisticsQueue, 2, most * REPEATS * sizeof(float));
        pipe->InitBuffer(resultBuffer, most * exchange.pitch * sizeof(float));
        pipe->InitBuffer(lanesBuffer, most * LANES * sizeof(float));
        pipe->InitBuffer(blocksBuffer, most * REPEATS * sizeof(float));
        pipe->InitBuffer(rowsBuffer, 4 * most * sizeof(float));
        largestOfRows = rowsBuffer.GetWithOffset<float>(most, 0);
        sumsOfRows = rowsBuffer.GetWithOffset<float>(most, most * sizeof(float));
        factors = rowsBuffer.GetWithOffset<float>(most, 2 * most * sizeof(float));
        found = rowsBuffer.GetWithOffset<float>(most, 3 * most * sizeof(float));
        result = resultBuffer.Get<float>();
        lanes = lanesBuffer.Get<float>();
        blocks = blocksBuffer.Get<float>();
    }

    // A core without rows in a tile still raises the flags that the cube core waits for.
    __aicore__ inline void Process(Walk walk) {
        for (; !walk.Done(); walk.Next()) {
            const auto tile = walk.Here();
            first = AscendC::GetSubBlockIdx() * most;
            rows = tile.rows <= first ? 0 : tile.rows - first;
            rows = rows < most ? rows : most;
            AscendC::CrossCoreWaitFlag(SCORES_READY);
            if (rows > 0) {
                Weigh(tile);
            }
            AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(POWERS_READY);
            AscendC::CrossCoreWaitFlag(PRODUCTS_READY);
            if (rows > 0) {
                Accumulate();
                if (tile.last) {
                    Finish(tile);
                }
            }
        }
    }

    // Each statistic of the rows at hand is written REPEATS times.
    static constexpr uint32_t REPEATS = 8;
    __aicore__ inline void WriteLargest(__gm__ float* to) { WriteStatistic(to, largestOfRows); }
    __aicore__ inline void WriteSums(__gm__ float* to) { WriteStatistic(to, sumsOfRows); }

  private:
    static constexpr uint32_t LANES = 64;  // floats of a repeat
    static constexpr float LEAST = -3.402823466e+38f;

    template <typename Tile>
    __aicore__ inline void Weigh(const Tile& tile) {
        AscendC::LocalTensor<float> x = scoresQueue.template AllocTensor<float>();
        AscendC::DataCopy(x, exchange.scores[tile.number % 2][first * KEYS], rows * KEYS);
        scoresQueue.EnQue(x);
        if (tile.first) {
            AscendC::Duplicate(largestOfRows, LEAST, rows);
            AscendC::Duplicate(sumsOfRows, 0.0f, rows);
            AscendC::Duplicate(result, 0.0f, rows * exchange.pitch);
        }
        x = scoresQueue.template DeQue<float>();
        AscendC::Muls(x, x, scale, rows * KEYS);
        for (uint32_t column = 0; column < KEYS; column += LANES) {
            LeaveOut(x[column], tile.keys <= column ? 0 : tile.keys - column);
        }
        FindLargest(x);
        const AscendC::BinaryRepeatParams perRow(1, 1, 0, KEYS / 8, KEYS / 8, 1);
        AscendC::Sub(x, x, blocks, LANES, rows, perRow);
        AscendC::Sub(x[LANES], x[LANES], blocks, LANES, rows, perRow);
        AscendC::Exp(x, x, rows * KEYS);
        AddToSums(x);
        AscendC::LocalTensor<T> powers = powersQueue.template AllocTensor<T>();
        AscendC::Cast(powers, x, AscendC::RoundMode::CAST_RINT, rows * KEYS);
        scoresQueue.FreeTensor(x);
        powersQueue.EnQue(powers);
        powers = powersQueue.template DeQue<T>();
        AscendC::DataCopy(exchange.powers[first * KEYS], powers, rows * KEYS);
        powersQueue.FreeTensor(powers);
    }

    // Columns from `keys` on, which no key belongs to, get the least of all scores.
    __aicore__ inline void LeaveOut(const AscendC::LocalTensor<float>& x, uint32_t keys) {
        if (keys < LANES) {
            uint64_t mask[2] = {~uint64_t(0) << keys, 0};
            AscendC::Duplicate(x, LEAST, mask, rows, 1, KEYS / 8);
        }
    }

    // The largest scores so far, a block of 8 for each row in `blocks`, and in `factors` what older powers shrink by.
    __aicore__ inline void FindLargest(const AscendC::LocalTensor<float>& x) {
        AscendC::Max(lanes, x, x[LANES], LANES, rows, {1, 1, 1, 8, KEYS / 8, KEYS / 8});
        AscendC::WholeReduceMax(found, lanes, LANES, rows, 1, 1, 8, AscendC::ReduceOrder::ORDER_ONLY_VALUE);
        AscendC::Max(found, found, largestOfRows, rows);
        AscendC::Sub(factors, largestOfRows, found, rows);
        AscendC::Exp(factors, factors, rows);
        AscendC::Adds(largestOfRows, found, 0.0f, rows);
        Spread(blocks, largestOfRows);
    }

    __aicore__ inline void AddToSums(const AscendC::LocalTensor<float>& x) {
        AscendC::Add(lanes, x, x[LANES], LANES, rows, {1, 1, 1, 8, KEYS / 8, KEYS / 8});
        AscendC::WholeReduceSum(found, lanes, LANES, rows, 1, 1, 8);
        AscendC::Mul(sumsOfRows, sumsOfRows, factors, rows);
        AscendC::Add(sumsOfRows, sumsOfRows, found, rows);
    }

    // A number per row becomes a block of 8 per row.
    __aicore__ inline void Spread(const AscendC::LocalTensor<float>& to, const AscendC::LocalTensor<float>& from) {
        AscendC::Brcb(to, from, (rows + 7) / 8, {1, 8});
    }

    __aicore__ inline void Accumulate() {
        const uint32_t count = rows * exchange.pitch;
        AscendC::LocalTensor<float> products = productsQueue.template AllocTensor<float>();
        AscendC::DataCopy(products, exchange.products[first * exchange.pitch], count);
        productsQueue.EnQue(products);
        Spread(blocks, factors);
        MulRows(result, result, blocks, rows, exchange.pitch, exchange.pitch);
        products = productsQueue.template DeQue<float>();
        AscendC::Add(result, result, products, count);
        productsQueue.FreeTensor(products);
    }

    __aicore__ inline void WriteStatistic(__gm__ float* to, const AscendC::LocalTensor<float>& from) {
        AscendC::GlobalTensor<float> target;
        target.SetGlobalBuffer(to, rows * REPEATS);
        AscendC::LocalTensor<float> statistic = statisticsQueue.template AllocTensor<float>();
        Spread(statistic, from);
        statisticsQueue.EnQue(statistic);
        statistic = statisticsQueue.template DeQue<float>();
        AscendC::DataCopy(target, statistic, rows * REPEATS);
        statisticsQueue.FreeTensor(statistic);
    }

    template <typename Tile>
    __aicore__ inline void Finish(const Tile& tile) {
        results.WriteStatistics(*this, tile, first);
        Spread(blocks, sumsOfRows);
        const uint8_t distance = exchange.pitch / 8;
        for (uint32_t column = 0; column < exchange.pitch; column += LANES) {
            const uint32_t count = exchange.pitch - column < LANES ? exchange.pitch - column : LANES;
            AscendC::Div(result[column], result[column], blocks, count, rows, {1, 1, 0, distance, distance, 1});
        }
        AscendC::LocalTensor<T> narrow = outQueue.template AllocTensor<T>();
        AscendC::Cast(narrow, result, AscendC::RoundMode::CAST_RINT, rows * exchange.pitch);
        outQueue.EnQue(narrow);
        narrow = outQueue.template DeQue<T>();
        AscendC::GlobalTensor<T> to;
        to.SetGlobalBuffer(out + results.Place(tile, first), (rows - 1) * results.Distance() + headWidth);
        const uint32_t bytes = headWidth * sizeof(T), skipped = (results.Distance() - headWidth) * sizeof(T);
        AscendC::DataCopyPad(to, narrow, AscendC::DataCopyExtParams(rows, bytes, 0, skipped, 0));
        outQueue.FreeTensor(narrow);
    }

    Results results;
    Exchange<T> exchange;
    __gm__ T* out;
    uint32_t headWidth;
    uint32_t most;                 // rows of a tile that a core has
    float scale;
    uint32_t first = 0, rows = 0;  // of a tile, that are this core's
    AscendC::TQue<AscendC::TPosition::VECIN, 1> scoresQueue, productsQueue;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> powersQueue, outQueue, statisticsQueue;
    AscendC::TBuf<AscendC::TPosition::VECCALC> resultBuffer, lanesBuffer, blocksBuffer, rowsBuffer;
    AscendC::LocalTensor<float> largestOfRows, sumsOfRows, factors, found, result, lanes, blocks;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
