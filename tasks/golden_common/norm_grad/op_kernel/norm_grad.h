// Device side of the gradients of operators that normalise rows:
//
//     xhat = (alpha * x1 + x2 - mean) * rstd     g = dy * gamma
//     dx = rstd * (g - mean(g) - xhat * mean(g * xhat)) + dsum     scaled = alpha * dx
//     dgamma = sum(dy * xhat)     dbeta = sum(dy)
//
// Without a mean, that is for root-mean-square normalization, no mean of g is subtracted either. Every core takes a
// contiguous share of the rows and works on as many whole rows at a time as fit a tile; longer rows are read twice,
// piece by piece. All arithmetic is in float.
#ifndef NORM_GRAD_H
#define NORM_GRAD_H
#include "column_sums.h"

// Addresses; null where an operator or a case has no such tensor.
struct NormGradTensors {
    GM_ADDR dy;
    GM_ADDR x1;
    GM_ADDR x2;
    GM_ADDR mean;
    GM_ADDR rstd;
    GM_ADDR gamma;
    GM_ADDR dsum;
    GM_ADDR dx;
    GM_ADDR scaled;
    GM_ADDR dgamma;
    GM_ADDR dbeta;
};

template <typename T, typename G>
class KernelNormGrad {
  public:
    __aicore__ inline void Init(TPipe* pipe, const NormGradTensors& tensors, GM_ADDR workspace,
                                const NormGradTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.plan.share;
        rowBegin = begin < tiling.plan.rows ? begin : tiling.plan.rows;
        rowEnd = tiling.plan.rows - rowBegin < tiling.plan.share ? tiling.plan.rows : rowBegin + tiling.plan.share;
        columns = tiling.plan.columns;
        width = tiling.plan.width;
        pitch = tiling.plan.pitch;
        tileRows = tiling.plan.tileRows;
        alpha = tiling.alpha;
        share = tiling.share;
        InitTensors(pipe, tensors, workspace, tiling.parts);
        const uint32_t elements = tileRows * pitch;
        const uint32_t numbers = (tileRows + 7) / 8 * 8;
        pipe->InitBuffer(hatBuffer, elements * sizeof(float));
        pipe->InitBuffer(gBuffer, elements * sizeof(float));
        pipe->InitBuffer(productBuffer, elements * sizeof(float));
        pipe->InitBuffer(eighthBuffer, (elements / 8 + REPEAT) * sizeof(float));
        pipe->InitBuffer(gMeanBuffer, numbers * sizeof(float));
        pipe->InitBuffer(productMeanBuffer, numbers * sizeof(float));
        pipe->InitBuffer(partBuffer, numbers * sizeof(float));
        pipe->InitBuffer(meanBlockBuffer, numbers * 32);
        pipe->InitBuffer(rstdBlockBuffer, numbers * 32);
        pipe->InitBuffer(gBlockBuffer, numbers * 32);
        pipe->InitBuffer(productBlockBuffer, numbers * 32);
    }

    __aicore__ inline void Process() {
        if (columns == 0) {
            return;
        }
        const bool whole = columns == width;
        if (whole) {
            gammas = gamma.Take({0, 0}, {1, width, pitch});
        }
        for (uint64_t row = rowBegin; row < rowEnd; row += tileRows) {
            rows = rowEnd - row < tileRows ? rowEnd - row : tileRows;
            LoadStatistics(row);
            FindMeans(row);
            Differentiate(row);
        }
        if (whole) {
            gamma.Drop();
        }
        if (rowBegin < rowEnd) {
            dgamma.Publish();
            if (hasDbeta) {
                dbeta.Publish();
            }
        }
        PipeBarrier<PIPE_ALL>();
        SyncAll();
        dgamma.Combine();
        if (hasDbeta) {
            dbeta.Combine();
        }
    }

  private:
    __aicore__ inline void InitTensors(TPipe* pipe, const NormGradTensors& tensors, GM_ADDR workspace, uint32_t parts) {
        const uint32_t elements = tileRows * pitch;
        const uint32_t numbers = (tileRows + 7) / 8 * 8;
        const bool whole = columns == width;
        hasX2 = tensors.x2 != nullptr;
        hasMean = tensors.mean != nullptr;
        hasDsum = tensors.dsum != nullptr;
        hasScaled = tensors.scaled != nullptr;
        hasDbeta = tensors.dbeta != nullptr;
        dy.Init(pipe, tensors.dy, elements);
        x1.Init(pipe, tensors.x1, elements);
        rstd.Init(pipe, tensors.rstd, numbers);
        gamma.Init(pipe, tensors.gamma, pitch, 1);
        dx.Init(pipe, tensors.dx, elements);
        dgamma.Init(pipe, workspace, tensors.dgamma, parts, columns, tileRows, pitch, whole);
        if (hasX2) {
            x2.Init(pipe, tensors.x2, elements);
        }
        if (hasMean) {
            mean.Init(pipe, tensors.mean, numbers);
        }
        if (hasDsum) {
            dsum.Init(pipe, tensors.dsum, elements);
        }
        if (hasScaled) {
            scaled.Init(pipe, tensors.scaled, elements);
        }
        if (hasDbeta) {
            GM_ADDR second = workspace + parts * columns * sizeof(float);
            dbeta.Init(pipe, second, tensors.dbeta, parts, columns, tileRows, pitch, whole);
        }
    }

    __aicore__ inline Tile Piece(uint64_t column) const {
        return {rows, static_cast<uint32_t>(columns - column < width ? columns - column : width), pitch};
    }

    __aicore__ inline void LoadStatistics(uint64_t row) {
        const Tile numbers{1, rows, (rows + 7) / 8 * 8};
        Spread(rstdBlockBuffer.Get<float>(), rstd.Take({row, 0}, numbers), rows);
        rstd.Drop();
        if (hasMean) {
            Spread(meanBlockBuffer.Get<float>(), mean.Take({row, 0}, numbers), rows);
            mean.Drop();
        }
    }

    // xhat and g of a piece, which is added to the sums of columns if `counts`.
    __aicore__ inline void Prepare(uint64_t row, uint64_t column, const Tile& tile, bool counts) {
        const Place place{row * columns + column, columns};
        LocalTensor<float> hat = hatBuffer.Get<float>();
        Muls(hat, x1.Take(place, tile), alpha, tile.Length());
        x1.Drop();
        if (hasX2) {
            Add(hat, hat, x2.Take(place, tile), tile.Length());
            x2.Drop();
        }
        if (hasMean) {
            WithRows<Minus>(hat, hat, meanBlockBuffer.Get<float>(), tile.rows, tile.columns, pitch);
        }
        WithRows<Times>(hat, hat, rstdBlockBuffer.Get<float>(), tile.rows, tile.columns, pitch);
        LocalTensor<float> given = dy.Take(place, tile);
        if (counts) {
            dgamma.PlusProduct(given, hat, column, tile, row == rowBegin);
            if (hasDbeta) {
                dbeta.Plus(given, column, tile, row == rowBegin);
            }
        }
        if (columns != width) {
            gammas = gamma.Take({column, 0}, {1, tile.columns, pitch});
        }
        WithColumns<Times>(gBuffer.Get<float>(), given, gammas, tile.rows, tile.columns, pitch);
        if (columns != width) {
            gamma.Drop();
        }
        dy.Drop();
    }

    __aicore__ inline void FindMeans(uint64_t row) {
        LocalTensor<float> gMean = gMeanBuffer.Get<float>();
        LocalTensor<float> productMean = productMeanBuffer.Get<float>();
        LocalTensor<float> g = gBuffer.Get<float>();
        LocalTensor<float> product = productBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            Prepare(row, column, tile, true);
            if (hasMean) {
                AddSums(gMean, g, column, tile);
            }
            Mul(product, g, hatBuffer.Get<float>(), tile.Length());
            AddSums(productMean, product, column, tile);
        }
        if (hasMean) {
            Muls(gMean, gMean, share, rows);
            Spread(gBlockBuffer.Get<float>(), gMean, rows);
        }
        Muls(productMean, productMean, share, rows);
        Spread(productBlockBuffer.Get<float>(), productMean, rows);
    }

    __aicore__ inline void AddSums(const LocalTensor<float>& sums, const LocalTensor<float>& x, uint64_t column,
                                   const Tile& tile) {
        LocalTensor<float> part = partBuffer.Get<float>();
        SumTile(column == 0 ? sums : part, x, productBuffer.Get<float>(), eighthBuffer.Get<float>(), tile);
        if (column != 0) {
            Add(sums, sums, part, rows);
        }
    }

    __aicore__ inline void Differentiate(uint64_t row) {
        LocalTensor<float> product = productBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            const Place place{row * columns + column, columns};
            if (columns != width) {
                Prepare(row, column, tile, false);
            }
            WithRows<Times>(product, hatBuffer.Get<float>(), productBlockBuffer.Get<float>(), rows, tile.columns,
                            pitch);
            Sub(product, gBuffer.Get<float>(), product, tile.Length());
            if (hasMean) {
                WithRows<Minus>(product, product, gBlockBuffer.Get<float>(), rows, tile.columns, pitch);
            }
            LocalTensor<float> result = dx.Begin();
            WithRows<Times>(result, product, rstdBlockBuffer.Get<float>(), rows, tile.columns, pitch);
            if (hasDsum) {
                Add(result, result, dsum.Take(place, tile), tile.Length());
                dsum.Drop();
            }
            if (hasScaled) {
                Muls(scaled.Begin(), result, alpha, tile.Length());
                scaled.Store(place, tile);
            }
            dx.Store(place, tile);
        }
    }

    RowsIn<T> dy, x1, x2, dsum;
    RowsIn<G> gamma;
    RowsIn<float> mean, rstd;
    RowsOut<T> dx, scaled;
    ColumnSums<float> dgamma, dbeta;
    LocalTensor<float> gammas;
    TBuf<TPosition::VECCALC> hatBuffer, gBuffer, productBuffer, eighthBuffer;
    TBuf<TPosition::VECCALC> gMeanBuffer, productMeanBuffer, partBuffer;  // numbers per row
    TBuf<TPosition::VECCALC> meanBlockBuffer, rstdBlockBuffer, gBlockBuffer, productBlockBuffer;
    uint64_t rowBegin = 0, rowEnd = 0, columns = 0;
    uint32_t width = 0, pitch = 0, tileRows = 0;
    uint32_t rows = 0;  // of the tile that is worked on
    bool hasX2 = false, hasMean = false, hasDsum = false, hasScaled = false, hasDbeta = false;
    float alpha = 1.0f, share = 0.0f;
};

template <typename T, typename G>
__aicore__ inline void RunNormGrad(const NormGradTensors& tensors, GM_ADDR workspace, const NormGradTilingData& sizes) {
    TPipe pipe;
    KernelNormGrad<T, G> op;
    op.Init(&pipe, tensors, workspace, sizes);
    op.Process();
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
