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
        pipe->InitBuffer(productsQueue, 2, PIECE * sizeof(float));
        pipe->InitBuffer(outQueue, 2, PIECE * sizeof(T));
        pipe->InitBuffer(statisticsQueue, 2, most * REPEATS * sizeof(float));
        pipe->InitBuffer(resultBuffer, most * exchange.pitch * sizeof(float));
        pipe->InitBuffer(lanesBuffer, most * LANES * sizeof(float));
        pipe->InitBuffer(blocksBuffer, most * REPEATS * sizeof(float));
        pipe->InitBuffer(rowsBuffer, 7 * most * sizeof(float));
        for (uint32_t i = 0; i < 2; ++i) {
            steps[i].largest = rowsBuffer.GetWithOffset<float>(most, 3 * i * most * sizeof(float));
            steps[i].sums = rowsBuffer.GetWithOffset<float>(most, (3 * i + 1) * most * sizeof(float));
            steps[i].factors = rowsBuffer.GetWithOffset<float>(most, (3 * i + 2) * most * sizeof(float));
        }
        found = rowsBuffer.GetWithOffset<float>(most, 6 * most * sizeof(float));
        result = resultBuffer.Get<float>();
        lanes = lanesBuffer.Get<float>();
        blocks = blocksBuffer.Get<float>();
    }

    // Powers of the next tile are made while the cube core multiplies those of this one by values.
    __aicore__ inline void Process(Walk walk) {
        Walk ahead = walk;
        WeighNext(ahead);
        for (; !walk.Done(); walk.Next()) {
            WeighNext(ahead);
            AscendC::CrossCoreWaitFlag(PRODUCTS_READY);
            const auto tile = walk.Here();
            const uint32_t rows = OwnRows(tile);
            if (rows > 0) {
                Accumulate(tile, rows);
                if (tile.last) {
                    Finish(tile, rows);
                }
            }
        }
    }

    // Each statistic of the rows at hand is written REPEATS times.
    static constexpr uint32_t REPEATS = 8;
    template <typename Tile>
    __aicore__ inline void WriteLargest(__gm__ float* to, const Tile& tile) {
        WriteStatistic(to, steps[tile.number % 2].largest, OwnRows(tile));
    }
    template <typename Tile>
    __aicore__ inline void WriteSums(__gm__ float* to, const Tile& tile) {
        WriteStatistic(to, steps[tile.number % 2].sums, OwnRows(tile));
    }

  private:
    static constexpr uint32_t LANES = 64;    // floats of a repeat
    static constexpr uint32_t PIECE = 4096;  // results that are loaded, or written, at a time
    static constexpr float LEAST = -3.402823466e+38f;

    // What is known of rows after a tile, and what older powers shrink by.
    struct Step {
        AscendC::LocalTensor<float> largest, sums, factors;
    };

    template <typename Tile>
    __aicore__ inline uint32_t OwnRows(const Tile& tile) const {
        const uint32_t first = First(), rows = tile.rows <= first ? 0 : tile.rows - first;
        return rows < most ? rows : most;
    }

    // Row of a tile that is this core's first.
    __aicore__ inline uint32_t First() const { return AscendC::GetSubBlockIdx() * most; }

    // A core without rows in a tile still raises the flags that the cube core waits for.
    __aicore__ inline void WeighNext(Walk& walk) {
        if (walk.Done()) {
            return;
        }
        const auto tile = walk.Here();
        const uint32_t rows = OwnRows(tile);
        AscendC::CrossCoreWaitFlag(SCORES_READY);
        if (rows > 0) {
            Weigh(tile, rows);
        }
        AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(POWERS_READY);
        walk.Next();
    }

    template <typename Tile>
    __aicore__ inline void Weigh(const Tile& tile, uint32_t rows) {
        AscendC::LocalTensor<float> x = scoresQueue.template AllocTensor<float>();
        AscendC::DataCopy(x, exchange.scores[tile.number % 2][First() * KEYS], rows * KEYS);
        scoresQueue.EnQue(x);
        x = scoresQueue.template DeQue<float>();
        AscendC::Muls(x, x, scale, rows * KEYS);
        for (uint32_t column = 0; column < KEYS; column += LANES) {
            LeaveOut(x[column], rows, tile.keys <= column ? 0 : tile.keys - column);
        }
        FindLargest(x, tile, rows);
        const AscendC::BinaryRepeatParams perRow(1, 1, 0, KEYS / 8, KEYS / 8, 1);
        AscendC::Sub(x, x, blocks, LANES, rows, perRow);
        AscendC::Sub(x[LANES], x[LANES], blocks, LANES, rows, perRow);
        AscendC::Exp(x, x, rows * KEYS);
        AscendC::LocalTensor<T> powers = powersQueue.template AllocTensor<T>();
        AscendC::Cast(powers, x, AscendC::RoundMode::CAST_RINT, rows * KEYS);
        powersQueue.EnQue(powers);
        powers = powersQueue.template DeQue<T>();
        AscendC::DataCopy(exchange.powers[tile.number % 2][First() * KEYS], powers, rows * KEYS);
        powersQueue.FreeTensor(powers);
        AddToSums(x, tile, rows);
        scoresQueue.FreeTensor(x);
    }

    // Columns from `keys` on, which no key belongs to, get the least of all scores.
    __aicore__ inline void LeaveOut(const AscendC::LocalTensor<float>& x, uint32_t rows, uint32_t keys) {
        if (keys < LANES) {
            uint64_t mask[2] = {~uint64_t(0) << keys, 0};
            AscendC::Duplicate(x, LEAST, mask, rows, 1, KEYS / 8);
        }
    }

    // The largest scores so far, a block of 8 for each row in `blocks`, and what older powers shrink by.
    template <typename Tile>
    __aicore__ inline void FindLargest(const AscendC::LocalTensor<float>& x, const Tile& tile, uint32_t rows) {
        const Step& now = steps[tile.number % 2];
        const Step& before = steps[1 - tile.number % 2];
        AscendC::Max(lanes, x, x[LANES], LANES, rows, {1, 1, 1, 8, KEYS / 8, KEYS / 8});
        const AscendC::LocalTensor<float>& largest = tile.first ? now.largest : found;
        AscendC::WholeReduceMax(largest, lanes, LANES, rows, 1, 1, 8, AscendC::ReduceOrder::ORDER_ONLY_VALUE);
        if (!tile.first) {
            AscendC::Max(now.largest, found, before.largest, rows);
            AscendC::Sub(now.factors, before.largest, now.largest, rows);
            AscendC::Exp(now.factors, now.factors, rows);
        }
        Spread(blocks, now.largest, rows);
    }

    template <typename Tile>
    __aicore__ inline void AddToSums(const AscendC::LocalTensor<float>& x, const Tile& tile, uint32_t rows) {
        const Step& now = steps[tile.number % 2];
        AscendC::Add(lanes, x, x[LANES], LANES, rows, {1, 1, 1, 8, KEYS / 8, KEYS / 8});
        const AscendC::LocalTensor<float>& sums = tile.first ? now.sums : found;
        AscendC::WholeReduceSum(sums, lanes, LANES, rows, 1, 1, 8);
        if (!tile.first) {
            AscendC::Mul(now.sums, steps[1 - tile.number % 2].sums, now.factors, rows);
            AscendC::Add(now.sums, now.sums, found, rows);
        }
    }

    // A number per row becomes a block of 8 per row.
    __aicore__ inline void Spread(const AscendC::LocalTensor<float>& to, const AscendC::LocalTensor<float>& from,
                                  uint32_t rows) {
        AscendC::Brcb(to, from, (rows + 7) / 8, {1, 8});
    }

    // The rows of a piece of results.
    __aicore__ inline uint32_t PieceRows() const { return PIECE / exchange.pitch; }

    template <typename Tile>
    __aicore__ inline void Accumulate(const Tile& tile, uint32_t rows) {
        if (!tile.first) {
            Spread(blocks, steps[tile.number % 2].factors, rows);
        }
        for (uint32_t row = 0; row < rows; row += PieceRows()) {
            const uint32_t some = rows - row < PieceRows() ? rows - row : PieceRows(), count = some * exchange.pitch;
            const AscendC::LocalTensor<float> sums = result[row * exchange.pitch];
            AscendC::LocalTensor<float> products = productsQueue.template AllocTensor<float>();
            AscendC::DataCopy(products, exchange.products[tile.number % 2][(First() + row) * exchange.pitch], count);
            productsQueue.EnQue(products);
            products = productsQueue.template DeQue<float>();
            if (tile.first) {
                AscendC::Adds(sums, products, 0.0f, count);
            } else {
                MulRows(sums, sums, blocks[row * REPEATS], some, exchange.pitch, exchange.pitch);
                AscendC::Add(sums, sums, products, count);
            }
            productsQueue.FreeTensor(products);
        }
    }

    __aicore__ inline void WriteStatistic(__gm__ float* to, const AscendC::LocalTensor<float>& from, uint32_t rows) {
        AscendC::GlobalTensor<float> target;
        target.SetGlobalBuffer(to, rows * REPEATS);
        AscendC::LocalTensor<float> statistic = statisticsQueue.template AllocTensor<float>();
        Spread(statistic, from, rows);
        statisticsQueue.EnQue(statistic);
        statistic = statisticsQueue.template DeQue<float>();
        AscendC::DataCopy(target, statistic, rows * REPEATS);
        statisticsQueue.FreeTensor(statistic);
    }

    template <typename Tile>
    __aicore__ inline void Finish(const Tile& tile, uint32_t rows) {
        results.WriteStatistics(*this, tile, First());
        Spread(blocks, steps[tile.number % 2].sums, rows);
        for (uint32_t row = 0; row < rows; row += PieceRows()) {
            WriteRows(tile, row, rows - row < PieceRows() ? rows - row : PieceRows());
        }
    }

    template <typename Tile>
    __aicore__ inline void WriteRows(const Tile& tile, uint32_t row, uint32_t rows) {
        const AscendC::LocalTensor<float> sums = result[row * exchange.pitch];
        const uint8_t distance = exchange.pitch / 8;
        for (uint32_t column = 0; column < exchange.pitch; column += LANES) {
            const uint32_t count = exchange.pitch - column < LANES ? exchange.pitch - column : LANES;
            AscendC::Div(sums[column], sums[column], blocks[row * REPEATS], count, rows,
                         {1, 1, 0, distance, distance, 1});
        }
        AscendC::LocalTensor<T> narrow = outQueue.template AllocTensor<T>();
        AscendC::Cast(narrow, sums, AscendC::RoundMode::CAST_RINT, rows * exchange.pitch);
        outQueue.EnQue(narrow);
        narrow = outQueue.template DeQue<T>();
        AscendC::GlobalTensor<T> to;
        to.SetGlobalBuffer(out + results.Place(tile, First() + row), (rows - 1) * results.Distance() + headWidth);
        const uint32_t bytes = headWidth * sizeof(T), skipped = (results.Distance() - headWidth) * sizeof(T);
        AscendC::DataCopyPad(to, narrow, AscendC::DataCopyExtParams(rows, bytes, 0, skipped, 0));
        outQueue.FreeTensor(narrow);
    }

    Results results;
    Exchange<T> exchange;
    __gm__ T* out;
    uint32_t headWidth;
    uint32_t most;  // rows of a tile that a core has
    float scale;
    AscendC::TQue<AscendC::TPosition::VECIN, 1> scoresQueue, productsQueue;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> powersQueue, outQueue, statisticsQueue;
    AscendC::TBuf<AscendC::TPosition::VECCALC> resultBuffer, lanesBuffer, blocksBuffer, rowsBuffer;
    Step steps[2];  // tiles take them in turn
    AscendC::LocalTensor<float> found, result, lanes, blocks;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
