// CrossEntropyLoss: logProb = x - lse, lse = log(sum(exp(x))) of every row, and the loss of every row or of all.
//
//     loss of a row with class t = -(1 - s) * weight[t] * logProb[t] - s / c * sum(weight * logProb)
//
// Every core takes a contiguous share of the rows and works on as many whole rows at a time as fit a tile. A longer row
// is kept in the unified buffer; where even that has no room for it, it is read three times. What belongs to the class
// of a row is read by the scalar unit. Sums of losses of the cores meet in the workspace.
#include "row_quantizer.h"
#include "target_rows.h"

struct CrossEntropyTensors {
    GM_ADDR input;
    GM_ADDR target;
    GM_ADDR weight;
    GM_ADDR loss;
    GM_ADDR logProb;
    GM_ADDR zloss;
    GM_ADDR lse;
};

template <typename T>
class KernelCrossEntropyLoss {
  public:
    __aicore__ inline void Init(TPipe* pipe, const CrossEntropyTensors& tensors, GM_ADDR workspace,
                                const CrossEntropyTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.plan.share;
        rowBegin = begin < tiling.plan.rows ? begin : tiling.plan.rows;
        rowEnd = tiling.plan.rows - rowBegin < tiling.plan.share ? tiling.plan.rows : rowBegin + tiling.plan.share;
        columns = tiling.plan.columns;
        width = tiling.plan.width;
        pitch = tiling.plan.pitch;
        tileRows = tiling.plan.tileRows;
        kept = tiling.plan.kept != 0;
        allRows = tiling.plan.rows;
        smoothing = tiling.smoothing;
        squareScale = tiling.squareScale;
        keepsRows = tiling.keepsRows != 0;
        divides = tiling.divides != 0;
        squares = tiling.squares != 0;
        const uint32_t elements = tileRows * pitch;
        const uint32_t numbers = (tileRows + 7) / 8 * 8;
        targets.Init(tensors.target, tensors.weight, allRows, columns, tiling.ignored);
        xIn.Init(pipe, tensors.input, elements);
        logOut.Init(pipe, tensors.logProb, elements);
        lossOut.Init(pipe, tensors.loss, numbers);
        if (squares) {
            zlossOut.Init(pipe, tensors.zloss, CoreSums::MOST);
            lseOut.Init(pipe, tensors.lse, numbers);
        }
        if (HoldsWeights() || UsesWeights()) {
            weightIn.Init(pipe, tensors.weight, pitch, 1);
        }
        if (!keepsRows || squares) {
            sums.Init(pipe, workspace);
        }
        pipe->InitBuffer(valueBuffer, (tiling.plan.kept < elements ? elements : tiling.plan.kept) * sizeof(float));
        pipe->InitBuffer(scratchBuffer, elements * sizeof(float));
        pipe->InitBuffer(eighthBuffer, (elements / 8 + REPEAT) * sizeof(float));
        pipe->InitBuffer(largestBuffer, numbers * sizeof(float));
        pipe->InitBuffer(sumBuffer, numbers * sizeof(float));
        pipe->InitBuffer(smoothBuffer, numbers * sizeof(float));
        pipe->InitBuffer(partBuffer, numbers * sizeof(float));
        pipe->InitBuffer(lossBuffer, numbers * sizeof(float));
        pipe->InitBuffer(blockBuffer, numbers * 32);
    }

    __aicore__ inline void Process() {
        if (columns == 0) {
            return;
        }
        if (HoldsWeights()) {
            weights = weightIn.Take({0, 0}, {1, width, pitch});
            targets.Hold(weights);
        }
        if (kept && rowBegin < rowEnd) {
            LoadAhead(rowBegin, 0);
        }
        for (uint64_t row = rowBegin; row < rowEnd; row += tileRows) {
            rows = rowEnd - row < tileRows ? rowEnd - row : tileRows;
            FindLargest(row);
            FindSum(row);
            Finish(row);
        }
        if (HoldsWeights()) {
            weightIn.Drop();
        }
        if (!keepsRows || squares) {
            sums.Share(totals);
            if (GetBlockIdx() == 0) {
                WriteTotals();
            }
        }
    }

  private:
    enum { LOSS, WEIGHT, SQUARE };

    __aicore__ inline bool HoldsWeights() const { return columns == width && targets.HasWeights(); }

    __aicore__ inline bool UsesWeights() const { return smoothing != 0.0f && targets.HasWeights(); }

    __aicore__ inline Tile Piece(uint64_t column) const {
        return {rows, static_cast<uint32_t>(columns - column < width ? columns - column : width), pitch};
    }

    __aicore__ inline LocalTensor<float> Values(uint64_t column) { return valueBuffer.Get<float>()[kept ? column : 0]; }

    // Rows that are kept are read once, in order: the next tile is on its way before the scalar unit waits for this
    // one.
    __aicore__ inline void Gather(uint64_t row, uint64_t column, const Tile& tile) {
        LocalTensor<float> x = kept ? xIn.Use(tile) : xIn.Take({row * columns + column, columns}, tile);
        if (kept && column + width < columns) {
            LoadAhead(row, column + width);
        } else if (kept && row + tileRows < rowEnd) {
            LoadAhead(row + tileRows, 0);
        }
        Adds(Values(column), x, 0.0f, tile.Length());
        xIn.Drop();
    }

    __aicore__ inline void LoadAhead(uint64_t row, uint64_t column) {
        const uint32_t count = rowEnd - row < tileRows ? rowEnd - row : tileRows;
        const uint32_t length = columns - column < width ? columns - column : width;
        xIn.Load({row * columns + column, columns}, {count, length, pitch});
    }

    __aicore__ inline void FindLargest(uint64_t row) {
        LocalTensor<float> largest = largestBuffer.Get<float>();
        LocalTensor<float> part = partBuffer.Get<float>();
        LocalTensor<float> scratch = scratchBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            Gather(row, column, tile);
            Adds(scratch, Values(column), 0.0f, tile.Length());
            MaxTile(column == 0 ? largest : part, scratch, eighthBuffer.Get<float>(), tile);
            if (column != 0) {
                Max(largest, largest, part, rows);
            }
        }
        Spread(blockBuffer.Get<float>(), largest, rows);
    }

    // Subtracts the largest element of a row.
    __aicore__ inline void Lower(uint64_t column, const Tile& tile) {
        WithRows<Minus>(Values(column), Values(column), blockBuffer.Get<float>(), rows, tile.columns, pitch);
    }

    __aicore__ inline void FindSum(uint64_t row) {
        LocalTensor<float> sum = sumBuffer.Get<float>();
        LocalTensor<float> part = partBuffer.Get<float>();
        LocalTensor<float> scratch = scratchBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            if (!kept) {
                Gather(row, column, tile);
            }
            Lower(column, tile);
            Exp(scratch, Values(column), tile.Length());
            SumTile(column == 0 ? sum : part, scratch, scratch, eighthBuffer.Get<float>(), tile);
            if (column != 0) {
                Add(sum, sum, part, rows);
            }
        }
        Ln(sum, sum, rows);
    }

    __aicore__ inline void Finish(uint64_t row) {
        LocalTensor<float> logSum = sumBuffer.Get<float>();
        LocalTensor<float> largest = largestBuffer.Get<float>();
        LocalTensor<float> losses = lossBuffer.Get<float>();
        Duplicate(losses, 0.0f, rows);
        if (!kept) {  // the largest element and the logarithm are subtracted at once
            Add(largest, largest, logSum, rows);
            Spread(blockBuffer.Get<float>(), largest, rows);
        } else {
            Spread(blockBuffer.Get<float>(), logSum, rows);
            Add(largest, largest, logSum, rows);
        }
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            if (!kept) {
                Gather(row, column, tile);
            }
            Lower(column, tile);
            if (smoothing != 0.0f) {
                AddSmooth(column, tile);
            }
            Await<HardEvent::V_S>();
            PickClasses(row, column, tile);
            Adds(logOut.Begin(), Values(column), 0.0f, tile.Length());
            logOut.Store({row * columns + column, columns}, tile);
        }
        AddUp(row);
    }

    // The losses of rows whose class is in this piece, but for their smoothing.
    __aicore__ inline void PickClasses(uint64_t row, uint64_t column, const Tile& tile) {
        LocalTensor<float> losses = lossBuffer.Get<float>();
        LocalTensor<float> values = Values(column);
        for (uint32_t r = 0; r < rows; ++r) {
            const int64_t target = targets.Class(row + r);
            const int64_t place = target - static_cast<int64_t>(column);
            if (target >= 0 && place >= 0 && place < tile.columns) {
                const float weight = targets.Weight(target);
                totals[WEIGHT] += weight;
                losses.SetValue(r, (smoothing - 1.0f) * weight * values.GetValue(r * pitch + place));
            }
        }
        Await<HardEvent::S_V>();
    }

    __aicore__ inline void AddSmooth(uint64_t column, const Tile& tile) {
        LocalTensor<float> smooth = smoothBuffer.Get<float>();
        LocalTensor<float> part = partBuffer.Get<float>();
        LocalTensor<float> scratch = scratchBuffer.Get<float>();
        LocalTensor<float> terms = Values(column);
        if (targets.HasWeights()) {
            if (columns != width) {
                weights = weightIn.Take({column, 0}, {1, tile.columns, pitch});
            }
            WithColumns<Times>(scratch, terms, weights, rows, tile.columns, pitch);
            if (columns != width) {
                weightIn.Drop();
            }
            terms = scratch;
        }
        SumTile(column == 0 ? smooth : part, terms, scratch, eighthBuffer.Get<float>(), tile);
        if (column != 0) {
            Add(smooth, smooth, part, rows);
        }
    }

    // The losses of rows become final and are stored or added up; largest holds log-sum-exps by now.
    __aicore__ inline void AddUp(uint64_t row) {
        LocalTensor<float> losses = lossBuffer.Get<float>();
        LocalTensor<float> largest = largestBuffer.Get<float>();
        LocalTensor<float> smooth = smoothBuffer.Get<float>();
        if (smoothing != 0.0f) {
            Muls(smooth, smooth, -smoothing / columns, rows);
            Add(smooth, smooth, losses, rows);
        }
        Await<HardEvent::V_S>();
        for (uint32_t r = 0; r < rows; ++r) {
            if (smoothing != 0.0f) {
                losses.SetValue(r, targets.Class(row + r) < 0 ? 0.0f : smooth.GetValue(r));
            }
            totals[LOSS] += losses.GetValue(r);
            if (squares) {
                totals[SQUARE] += largest.GetValue(r) * largest.GetValue(r);
            }
        }
        Await<HardEvent::S_V>();
        const Tile numbers{1, rows, (rows + 7) / 8 * 8};
        if (keepsRows) {
            Adds(lossOut.Begin(), losses, 0.0f, rows);
            lossOut.Store({row, 0}, numbers);
        }
        if (squares) {
            Adds(lseOut.Begin(), largest, 0.0f, rows);
            lseOut.Store({row, 0}, numbers);
        }
    }

    __aicore__ inline void WriteTotals() {
        if (!keepsRows) {
            Duplicate(lossOut.Begin(), divides ? totals[LOSS] / totals[WEIGHT] : totals[LOSS], 1);
            lossOut.Store({0, 0}, {1, 1, 8});
        }
        if (squares) {
            Duplicate(zlossOut.Begin(), squareScale * totals[SQUARE] / allRows, 1);
            zlossOut.Store({0, 0}, {1, 1, 8});
        }
    }

    TargetRows targets;
    CoreSums sums;
    RowsIn<T> xIn;
    RowsIn<float> weightIn;
    RowsOut<T> logOut, lossOut, zlossOut, lseOut;
    LocalTensor<float> weights;
    TBuf<TPosition::VECCALC> valueBuffer, scratchBuffer, eighthBuffer;
    TBuf<TPosition::VECCALC> largestBuffer, sumBuffer, smoothBuffer, partBuffer, lossBuffer, blockBuffer;
    uint64_t allRows = 0;
    uint64_t rowBegin = 0, rowEnd = 0, columns = 0;
    uint32_t width = 0, pitch = 0, tileRows = 0;
    uint32_t rows = 0;  // of the tile that is worked on
    bool kept = false;
    bool keepsRows = false, divides = false, squares = false;
    float smoothing = 0.0f, squareScale = 0.0f;
    float totals[CoreSums::MOST] = {};
};

extern "C" __global__ __aicore__ void cross_entropy_loss(GM_ADDR input, GM_ADDR target, GM_ADDR weight, GM_ADDR loss,
                                                         GM_ADDR logProb, GM_ADDR zloss, GM_ADDR lseForZloss,
                                                         GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelCrossEntropyLoss<DTYPE_INPUT> op;
    op.Init(&pipe, {input, target, weight, loss, logProb, zloss, lseForZloss}, GetUserWorkspace(workspace), sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
