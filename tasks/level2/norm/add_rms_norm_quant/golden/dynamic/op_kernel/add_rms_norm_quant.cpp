// AddRmsNormQuant: x = x1 + x2, y = x / sqrt(mean(x^2) + epsilon) * gamma, quantised to bytes once or twice.
//
// Every core takes a contiguous share of the rows and works on as many whole rows at a time as fit a tile. Of a longer
// row the sum is kept in the unified buffer; where even that has no room for it, it is read twice.
#include "row_tensors.h"

template <typename T, typename S>
class KernelAddRmsNormQuant {
  public:
    using Z = typename std::conditional<std::is_same<S, float>::value, int32_t, S>::type;  // zero points

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x1, GM_ADDR x2, GM_ADDR gamma, GM_ADDR x,
                                const AddRmsNormQuantTilingData& tiling) {
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
        divides = tiling.divides != 0;
        const uint32_t elements = tileRows * pitch;
        const uint32_t numbers = (tileRows + 7) / 8 * 8;
        firstIn.Init(pipe, x1, elements);
        secondIn.Init(pipe, x2, elements);
        gammaIn.Init(pipe, gamma, pitch, 1);
        xOut.Init(pipe, x, elements);
        pipe->InitBuffer(totalBuffer, (tiling.plan.kept < elements ? elements : tiling.plan.kept) * sizeof(float));
        pipe->InitBuffer(squareBuffer, elements * sizeof(float));
        pipe->InitBuffer(eighthBuffer, (elements / 8 + REPEAT) * sizeof(float));
        pipe->InitBuffer(rstdBuffer, numbers * sizeof(float));
        pipe->InitBuffer(partBuffer, numbers * sizeof(float));
        pipe->InitBuffer(blockBuffer, numbers * 32);
    }

    __aicore__ inline void InitQuantised(TPipe* pipe, uint32_t i, GM_ADDR scales, GM_ADDR points, GM_ADDR y) {
        wanted[i] = scales != nullptr;
        shifted[i] = scales != nullptr && points != nullptr;
        if (wanted[i]) {
            scaleIn[i].Init(pipe, scales, pitch, 1);
            yOut[i].Init(pipe, y, tileRows * pitch);
        }
        if (shifted[i]) {
            pointIn[i].Init(pipe, points, pitch, 1);
        }
    }

    __aicore__ inline void Process() {
        if (rowBegin == rowEnd) {
            return;
        }
        if (columns == width) {
            HoldWeights(0, width);
        }
        for (uint64_t row = rowBegin; row < rowEnd; row += tileRows) {
            rows = rowEnd - row < tileRows ? rowEnd - row : tileRows;
            FindRoot(row);
            Quantise(row);
        }
        if (columns == width) {
            DropWeights();
        }
    }

  private:
    __aicore__ inline Tile Piece(uint64_t column) const {
        return {rows, static_cast<uint32_t>(columns - column < width ? columns - column : width), pitch};
    }

    __aicore__ inline LocalTensor<float> Total(uint64_t column) { return totalBuffer.Get<float>()[kept ? column : 0]; }

    __aicore__ inline void Gather(uint64_t row, uint64_t column, const Tile& tile) {
        const Place place{row * columns + column, columns};
        LocalTensor<float> first = firstIn.Take(place, tile);
        Add(Total(column), first, secondIn.Take(place, tile), tile.Length());
        firstIn.Drop();
        secondIn.Drop();
    }

    __aicore__ inline void FindRoot(uint64_t row) {
        LocalTensor<float> rstd = rstdBuffer.Get<float>();
        LocalTensor<float> part = partBuffer.Get<float>();
        LocalTensor<float> square = squareBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            Gather(row, column, tile);
            Adds(xOut.Begin(), Total(column), 0.0f, tile.Length());
            xOut.Store({row * columns + column, columns}, tile);
            Mul(square, Total(column), Total(column), tile.Length());
            SumTile(column == 0 ? rstd : part, square, square, eighthBuffer.Get<float>(), tile);
            if (column != 0) {
                Add(rstd, rstd, part, rows);
            }
        }
        Muls(rstd, rstd, share, rows);
        Adds(rstd, rstd, epsilon, rows);
        Sqrt(rstd, rstd, rows);
        Invert(rstd, part, rows);
        Spread(blockBuffer.Get<float>(), rstd, rows);
    }

    __aicore__ inline void Quantise(uint64_t row) {
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            if (!kept) {
                Gather(row, column, tile);
            }
            if (columns != width) {
                HoldWeights(column, tile.columns);
            }
            LocalTensor<float> total = Total(column);
            WithRows<Times>(total, total, blockBuffer.Get<float>(), rows, tile.columns, pitch);
            WithColumns<Times>(total, total, gammas, rows, tile.columns, pitch);
            for (uint32_t i = 0; i < 2; ++i) {
                if (wanted[i]) {
                    LocalTensor<float> y = yOut[i].Begin();
                    WithColumns<Times>(y, total, scales[i], rows, tile.columns, pitch);
                    if (shifted[i]) {
                        WithColumns<Plus>(y, y, points[i], rows, tile.columns, pitch);
                    }
                    yOut[i].Store({row * columns + column, columns}, tile);
                }
            }
            if (columns != width) {
                DropWeights();
            }
        }
    }

    // Scales that divide are inverted.
    __aicore__ inline void HoldWeights(uint64_t column, uint32_t length) {
        const Place place{column, 0};
        const Tile vector{1, length, pitch};
        gammas = gammaIn.Take(place, vector);
        for (uint32_t i = 0; i < 2; ++i) {
            if (wanted[i]) {
                scales[i] = scaleIn[i].Take(place, vector);
                if (divides) {
                    Invert(scales[i], squareBuffer.Get<float>(), length);
                }
            }
            if (shifted[i]) {
                points[i] = pointIn[i].Take(place, vector);
            }
        }
    }

    __aicore__ inline void DropWeights() {
        gammaIn.Drop();
        for (uint32_t i = 0; i < 2; ++i) {
            if (wanted[i]) {
                scaleIn[i].Drop();
            }
            if (shifted[i]) {
                pointIn[i].Drop();
            }
        }
    }

    RowsIn<T> firstIn, secondIn, gammaIn;
    RowsIn<S> scaleIn[2];
    RowsIn<Z> pointIn[2];
    RowsOut<T> xOut;
    RowsOut<int8_t> yOut[2];
    LocalTensor<float> gammas, scales[2], points[2];
    TBuf<TPosition::VECCALC> totalBuffer, squareBuffer, eighthBuffer, rstdBuffer, partBuffer, blockBuffer;
    uint64_t rowBegin = 0, rowEnd = 0, columns = 0;
    uint32_t width = 0, pitch = 0, tileRows = 0;
    uint32_t rows = 0;  // of the tile that is worked on
    bool kept = false;
    bool wanted[2] = {false, false}, shifted[2] = {false, false}, divides = false;
    float epsilon = 0.0f, share = 0.0f;
};

extern "C" __global__ __aicore__ void add_rms_norm_quant(GM_ADDR x1, GM_ADDR x2, GM_ADDR gamma, GM_ADDR scales1,
                                                         GM_ADDR scales2, GM_ADDR zeroPoints1, GM_ADDR zeroPoints2,
                                                         GM_ADDR y1, GM_ADDR y2, GM_ADDR x, GM_ADDR workspace,
                                                         GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelAddRmsNormQuant<DTYPE_X1, DTYPE_SCALES1> op;
    op.Init(&pipe, x1, x2, gamma, x, sizes);
    op.InitQuantised(&pipe, 0, scales1, zeroPoints1, y1);
    op.InitQuantised(&pipe, 1, scales2, zeroPoints2, y2);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
