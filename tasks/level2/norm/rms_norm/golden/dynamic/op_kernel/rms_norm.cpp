// RmsNorm: rstd = 1 / sqrt(mean(x^2) + epsilon) over the last axis, y = x * rstd * gamma.
//
// Every core takes a contiguous share of the rows and works on as many whole rows at a time as fit a tile. DataCopyPad
// lays rows of any length at a pitch of whole 32-byte blocks, long ones at one of whole repeats. A row that is longer
// than a tile is read twice, piece by piece: for the sum of its squares, and to be scaled. Two buffers per queue let
// copies run beside computation. Sums and products are in float for every element type.
#include "row_math.h"
#include "wide.h"

using namespace AscendC;

template <typename T, typename G>
class KernelRmsNorm {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR gamma, GM_ADDR y, GM_ADDR rstd,
                                const RmsNormTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.share;
        if (begin < tiling.rows) {
            count = tiling.rows - begin < tiling.share ? tiling.rows - begin : tiling.share;
        }
        columns = tiling.columns;
        tile = tiling.tile;
        tileRows = tiling.tileRows;
        pitch = tiling.pitch;
        epsilon = tiling.epsilon;
        mean = tiling.mean;
        xGlobal.SetGlobalBuffer((__gm__ T*)x + begin * columns, count * columns);
        yGlobal.SetGlobalBuffer((__gm__ T*)y + begin * columns, count * columns);
        rstdGlobal.SetGlobalBuffer((__gm__ float*)rstd + begin, count);
        gammaGlobal.SetGlobalBuffer((__gm__ G*)gamma, columns);
        pipe->InitBuffer(xQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(yQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(rstdQueue, 2, MAX_ROWS * sizeof(float));
        pipe->InitBuffer(gammaQueue, 1, tile * sizeof(G));
        pipe->InitBuffer(squareBuffer, tile * sizeof(float));
        pipe->InitBuffer(sumsBuffer, tile / 8 * sizeof(float));
        pipe->InitBuffer(blocksBuffer, MAX_ROWS * 32);
        if constexpr (!IS_FLOAT<T>) {
            pipe->InitBuffer(wideBuffer, tile * sizeof(float));
        }
        if constexpr (!IS_FLOAT<G>) {
            pipe->InitBuffer(gammaBuffer, tile * sizeof(float));
        }
    }

    __aicore__ inline void Process() {
        if (count == 0 || columns == 0) {
            return;
        }
        if (tileRows == 0) {
            for (uint64_t row = 0; row < count; ++row) {
                NormalizeLong(row);
            }
            return;
        }
        LocalTensor<G> gamma = LoadGamma(0, columns);
        LocalTensor<float> wideGamma = Widen(gamma, gammaBuffer, columns);
        for (uint64_t row = 0; row < count; row += tileRows) {
            const uint32_t rows = count - row < tileRows ? count - row : tileRows;
            CopyIn(row * columns, rows, columns);
            Normalize(wideGamma, rows);
            CopyOut(row * columns, rows, columns);
            CopyOutRstd(row, rows);
        }
        gammaQueue.FreeTensor(gamma);
    }

  private:
    __aicore__ inline LocalTensor<G> LoadGamma(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length * sizeof(G), 0, 0, 0);
        LocalTensor<G> gamma = gammaQueue.AllocTensor<G>();
        DataCopyPad(gamma, gammaGlobal[offset], copy, DataCopyPadExtParams<G>());
        gammaQueue.EnQue(gamma);
        return gammaQueue.DeQue<G>();
    }

    // Blocks of a tile between a row's last one and the next row; the pieces of long rows are alone in theirs.
    __aicore__ inline uint32_t Gap(uint32_t length) const {
        return tileRows == 0 ? 0 : pitch * sizeof(T) / 32 - (length * sizeof(T) + 31) / 32;
    }

    __aicore__ inline void CopyIn(uint64_t offset, uint32_t rows, uint32_t length) {
        const DataCopyExtParams copy(rows, length * sizeof(T), 0, Gap(length), 0);
        LocalTensor<T> x = xQueue.AllocTensor<T>();
        DataCopyPad(x, xGlobal[offset], copy, DataCopyPadExtParams<T>());
        xQueue.EnQue(x);
    }

    __aicore__ inline void Normalize(const LocalTensor<float>& gamma, uint32_t rows) {
        LocalTensor<T> x = xQueue.DeQue<T>();
        LocalTensor<T> y = yQueue.AllocTensor<T>();
        LocalTensor<float> rstd = rstdQueue.AllocTensor<float>();
        LocalTensor<float> square = squareBuffer.Get<float>();
        LocalTensor<float> wide = Widen(x, wideBuffer, rows * pitch);
        Mul(square, wide, wide, rows * pitch);
        SumRows(rstd, square, sumsBuffer.Get<float>(), rows, columns, pitch);
        Invert(rstd, rows);
        LocalTensor<float> result = WideResult(y, wideBuffer);
        MulRows(result, wide, blocksBuffer.Get<float>(), rows, columns, pitch);
        MulColumns(result, result, gamma, rows, columns, pitch);
        Narrow(y, result, rows * pitch);
        yQueue.EnQue(y);
        rstdQueue.EnQue(rstd);
        xQueue.FreeTensor(x);
    }

    // rstd of sums of squares, and a block of eight of it per row. By division: Rsqrt and Reciprocal are approximations
    // on the device.
    __aicore__ inline void Invert(const LocalTensor<float>& rstd, uint32_t rows) {
        LocalTensor<float> ones = squareBuffer.Get<float>();
        Muls(rstd, rstd, mean, rows);
        Adds(rstd, rstd, epsilon, rows);
        Sqrt(rstd, rstd, rows);
        Duplicate(ones, 1.0f, rows);
        Div(rstd, ones, rstd, rows);
        Brcb(blocksBuffer.Get<float>(), rstd, (rows + 7) / 8, BrcbRepeatParams(1, 8));
    }

    __aicore__ inline void NormalizeLong(uint64_t row) {
        LocalTensor<float> lanes = squareBuffer.Get<float>();
        Duplicate(lanes, 0.0f, tile);
        for (uint64_t column = 0; column < columns; column += tile) {
            const uint32_t length = columns - column < tile ? columns - column : tile;
            CopyIn(row * columns + column, 1, length);
            LocalTensor<T> x = xQueue.DeQue<T>();
            LocalTensor<float> wide = Widen(x, wideBuffer, length);
            MulAddDst(lanes, wide, wide, length);
            xQueue.FreeTensor(x);
        }
        LocalTensor<float> rstd = rstdQueue.AllocTensor<float>();
        SumLanes(rstd, lanes, sumsBuffer.Get<float>(), tile);
        Invert(rstd, 1);
        rstdQueue.EnQue(rstd);
        for (uint64_t column = 0; column < columns; column += tile) {
            const uint32_t length = columns - column < tile ? columns - column : tile;
            CopyIn(row * columns + column, 1, length);
            Scale(column, length);
            CopyOut(row * columns + column, 1, length);
        }
        CopyOutRstd(row, 1);
    }

    __aicore__ inline void Scale(uint64_t column, uint32_t length) {
        LocalTensor<G> gamma = LoadGamma(column, length);
        LocalTensor<T> x = xQueue.DeQue<T>();
        LocalTensor<T> y = yQueue.AllocTensor<T>();
        LocalTensor<float> wide = Widen(x, wideBuffer, length);
        LocalTensor<float> result = WideResult(y, wideBuffer);
        MulRows(result, wide, blocksBuffer.Get<float>(), 1, length, tile);
        Mul(result, result, Widen(gamma, gammaBuffer, length), length);
        Narrow(y, result, length);
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
        gammaQueue.FreeTensor(gamma);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t rows, uint32_t length) {
        const DataCopyExtParams copy(rows, length * sizeof(T), Gap(length), 0, 0);
        LocalTensor<T> y = yQueue.DeQue<T>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    __aicore__ inline void CopyOutRstd(uint64_t row, uint32_t rows) {
        const DataCopyExtParams copy(1, rows * sizeof(float), 0, 0, 0);
        LocalTensor<float> rstd = rstdQueue.DeQue<float>();
        DataCopyPad(rstdGlobal[row], rstd, copy);
        rstdQueue.FreeTensor(rstd);
    }

    TQue<TPosition::VECIN, 1> xQueue, gammaQueue;
    TQue<TPosition::VECOUT, 1> yQueue, rstdQueue;
    TBuf<TPosition::VECCALC> wideBuffer, gammaBuffer, squareBuffer, sumsBuffer, blocksBuffer;
    GlobalTensor<T> xGlobal, yGlobal;
    GlobalTensor<G> gammaGlobal;
    GlobalTensor<float> rstdGlobal;
    uint64_t count = 0, columns = 0;  // rows of this core, elements of a row
    uint32_t tile = 0, tileRows = 0, pitch = 0;
    float epsilon = 0.0f, mean = 0.0f;
};

extern "C" __global__ __aicore__ void rms_norm(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, GM_ADDR rstd, GM_ADDR workspace,
                                               GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelRmsNorm<DTYPE_X, DTYPE_GAMMA> op;
    op.Init(&pipe, x, gamma, y, rstd, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
