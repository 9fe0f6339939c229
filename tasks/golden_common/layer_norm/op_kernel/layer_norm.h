// Device side of operators that normalise the rows of a sum of tensors:
//
//     s = x1 + x2 + bias     mean = mean(s)     rstd = 1 / sqrt(mean((s - mean)^2) + epsilon)
//     y = (s - mean) * rstd * gamma + beta
//
// Every core takes a contiguous share of the rows and works on as many whole rows at a time as fit a tile. A longer row
// is read piece by piece and its sum is kept in the unified buffer; where even that has no room for it, it is read
// three times: for its mean, for its deviation, and to be scaled. All arithmetic is in float.
#ifndef LAYER_NORM_H
#define LAYER_NORM_H
#include "row_tensors.h"

// Addresses; null where an operator or a case has no such tensor.
struct LayerNormTensors {
    GM_ADDR x1;
    GM_ADDR x2;
    GM_ADDR bias;
    GM_ADDR gamma;
    GM_ADDR beta;
    GM_ADDR y;
    GM_ADDR mean;
    GM_ADDR rstd;
    GM_ADDR sum;
};

template <typename T>
class KernelLayerNorm {
  public:
    __aicore__ inline void Init(TPipe* pipe, const LayerNormTensors& tensors, const LayerNormTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.plan.share;
        rowBegin = begin < tiling.plan.rows ? begin : tiling.plan.rows;
        rowEnd = tiling.plan.rows - rowBegin < tiling.plan.share ? tiling.plan.rows : rowBegin + tiling.plan.share;
        columns = tiling.plan.columns;
        width = tiling.plan.width;
        pitch = tiling.plan.pitch;
        tileRows = tiling.plan.tileRows;
        kept = tiling.plan.kept != 0;
        epsilon = tiling.epsilon;
        share = tiling.share;
        biasIsRow = tiling.biasIsRow != 0;
        InitTensors(pipe, tensors);
        const uint32_t elements = tileRows * pitch;
        const uint32_t floats = tiling.plan.kept < elements ? elements : tiling.plan.kept;
        const uint32_t numbers = (tileRows + 7) / 8 * 8;
        pipe->InitBuffer(totalBuffer, floats * sizeof(float));
        pipe->InitBuffer(squareBuffer, elements * sizeof(float));
        pipe->InitBuffer(eighthBuffer, (elements / 8 + REPEAT) * sizeof(float));
        pipe->InitBuffer(meanBuffer, numbers * sizeof(float));
        pipe->InitBuffer(rstdBuffer, numbers * sizeof(float));
        pipe->InitBuffer(partBuffer, numbers * sizeof(float));
        pipe->InitBuffer(meanBlockBuffer, numbers * 32);
        pipe->InitBuffer(rstdBlockBuffer, numbers * 32);
    }

    __aicore__ inline void Process() {
        if (rowBegin == rowEnd) {
            return;
        }
        if (columns == width) {
            HoldWeights(0, {1, width, pitch});
        }
        for (uint64_t row = rowBegin; row < rowEnd; row += tileRows) {
            rows = rowEnd - row < tileRows ? rowEnd - row : tileRows;
            FindMean(row);
            FindDeviation(row);
            Normalise(row);
        }
        if (columns == width) {
            DropWeights();
        }
    }

  private:
    __aicore__ inline void InitTensors(TPipe* pipe, const LayerNormTensors& tensors) {
        const uint32_t elements = tileRows * pitch;
        const uint32_t numbers = (tileRows + 7) / 8 * 8;
        hasX2 = tensors.x2 != nullptr;
        hasBias = tensors.bias != nullptr;
        hasGamma = tensors.gamma != nullptr;
        hasBeta = tensors.beta != nullptr;
        hasStatistics = tensors.mean != nullptr;
        hasSum = tensors.sum != nullptr;
        x1.Init(pipe, tensors.x1, elements);
        if (hasX2) {
            x2.Init(pipe, tensors.x2, elements);
        }
        if (hasBias) {
            bias.Init(pipe, tensors.bias, biasIsRow ? pitch : elements);
        }
        if (hasGamma) {
            gamma.Init(pipe, tensors.gamma, pitch, 1);
        }
        if (hasBeta) {
            beta.Init(pipe, tensors.beta, pitch, 1);
        }
        y.Init(pipe, tensors.y, elements);
        if (hasStatistics) {
            mean.Init(pipe, tensors.mean, numbers);
            rstd.Init(pipe, tensors.rstd, numbers);
        }
        if (hasSum) {
            sum.Init(pipe, tensors.sum, elements);
        }
    }

    __aicore__ inline Tile Piece(uint64_t column) const {
        return {rows, static_cast<uint32_t>(columns - column < width ? columns - column : width), pitch};
    }

    __aicore__ inline LocalTensor<float> Total(uint64_t column) { return totalBuffer.Get<float>()[kept ? column : 0]; }

    // A piece of the terms, added up. `last`: no later one of this piece follows.
    __aicore__ inline void Gather(uint64_t row, uint64_t column, const Tile& tile, bool last) {
        const Place place{row * columns + column, columns};
        LocalTensor<float> total = Total(column);
        LocalTensor<float> first = x1.Take(place, tile);
        if (hasX2) {
            Add(total, first, x2.Take(place, tile), tile.Length());
            x2.Drop();
        } else {
            Adds(total, first, 0.0f, tile.Length());
        }
        x1.Drop();
        if (hasBias) {
            if (biasIsRow) {
                LocalTensor<float> vector = bias.Take({column, 0}, {1, tile.columns, pitch});
                WithColumns<Plus>(total, total, vector, tile.rows, tile.columns, pitch);
            } else {
                Add(total, total, bias.Take(place, tile), tile.Length());
            }
            bias.Drop();
        }
        if (hasSum && last) {
            Adds(sum.Begin(), total, 0.0f, tile.Length());
            sum.Store(place, tile);
        }
    }

    __aicore__ inline void FindMean(uint64_t row) {
        LocalTensor<float> means = meanBuffer.Get<float>();
        LocalTensor<float> part = partBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            Gather(row, column, tile, kept);
            SumTile(column == 0 ? means : part, Total(column), squareBuffer.Get<float>(), eighthBuffer.Get<float>(),
                    tile);
            if (column != 0) {
                Add(means, means, part, rows);
            }
        }
        Muls(means, means, share, rows);
        Spread(meanBlockBuffer.Get<float>(), means, rows);
    }

    // Leaves the deviations where the sums were, as far as they are kept.
    __aicore__ inline void FindDeviation(uint64_t row) {
        LocalTensor<float> rstds = rstdBuffer.Get<float>();
        LocalTensor<float> part = partBuffer.Get<float>();
        LocalTensor<float> square = squareBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            if (!kept) {
                Gather(row, column, tile, false);
            }
            Centre(column, tile);
            Mul(square, Total(column), Total(column), tile.Length());
            SumTile(column == 0 ? rstds : part, square, square, eighthBuffer.Get<float>(), tile);
            if (column != 0) {
                Add(rstds, rstds, part, rows);
            }
        }
        Muls(rstds, rstds, share, rows);
        Adds(rstds, rstds, epsilon, rows);
        Sqrt(rstds, rstds, rows);
        Duplicate(part, 1.0f, rows);
        Div(rstds, part, rstds, rows);
        Spread(rstdBlockBuffer.Get<float>(), rstds, rows);
        if (hasStatistics) {
            Adds(mean.Begin(), meanBuffer.Get<float>(), 0.0f, rows);
            mean.Store({row, 0}, {1, rows, (rows + 7) / 8 * 8});
            Adds(rstd.Begin(), rstds, 0.0f, rows);
            rstd.Store({row, 0}, {1, rows, (rows + 7) / 8 * 8});
        }
    }

    __aicore__ inline void Centre(uint64_t column, const Tile& tile) {
        WithRows<Minus>(Total(column), Total(column), meanBlockBuffer.Get<float>(), tile.rows, tile.columns, pitch);
    }

    __aicore__ inline void Normalise(uint64_t row) {
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            if (!kept) {
                Gather(row, column, tile, true);
                Centre(column, tile);
            }
            if (columns != width) {
                HoldWeights(column, {1, tile.columns, pitch});
            }
            LocalTensor<float> result = y.Begin();
            WithRows<Times>(result, Total(column), rstdBlockBuffer.Get<float>(), rows, tile.columns, pitch);
            if (hasGamma) {
                WithColumns<Times>(result, result, gammas, rows, tile.columns, pitch);
            }
            if (hasBeta) {
                WithColumns<Plus>(result, result, betas, rows, tile.columns, pitch);
            }
            y.Store({row * columns + column, columns}, tile);
            if (columns != width) {
                DropWeights();
            }
        }
    }

    __aicore__ inline void HoldWeights(uint64_t column, const Tile& tile) {
        if (hasGamma) {
            gammas = gamma.Take({column, 0}, tile);
        }
        if (hasBeta) {
            betas = beta.Take({column, 0}, tile);
        }
    }

    __aicore__ inline void DropWeights() {
        if (hasGamma) {
            gamma.Drop();
        }
        if (hasBeta) {
            beta.Drop();
        }
    }

    RowsIn<T> x1, x2, bias, gamma, beta;
    RowsOut<T> y, sum;
    RowsOut<float> mean, rstd;
    LocalTensor<float> gammas, betas;
    TBuf<TPosition::VECCALC> totalBuffer, squareBuffer, eighthBuffer;
    TBuf<TPosition::VECCALC> meanBuffer, rstdBuffer, partBuffer, meanBlockBuffer, rstdBlockBuffer;  // numbers per row
    uint64_t rowBegin = 0, rowEnd = 0, columns = 0;
    uint32_t width = 0, pitch = 0, tileRows = 0;
    uint32_t rows = 0;  // of the tile that is worked on
    bool kept = false, biasIsRow = false;
    bool hasX2 = false, hasBias = false, hasGamma = false, hasBeta = false, hasStatistics = false, hasSum = false;
    float epsilon = 0.0f, share = 0.0f;
};

template <typename T>
__aicore__ inline void RunLayerNorm(const LayerNormTensors& tensors, const LayerNormTilingData& sizes) {
    TPipe pipe;
    KernelLayerNorm<T> op;
    op.Init(&pipe, tensors, sizes);
    op.Process();
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
