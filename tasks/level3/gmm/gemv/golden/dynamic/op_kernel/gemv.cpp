// Gemv: out = alpha * (a @ x) + beta * y for a matrix of rows.
//
// Every core takes a contiguous share of the rows and works on as many whole rows at a time as fit a tile. DataCopyPad
// lays rows of any length at a pitch of whole 32-byte blocks; x is loaded once. A row that is longer than a tile is
// multiplied piece by piece, and added up lane by lane. Two buffers per queue let copies run beside computation.
#include "row_math.h"

using namespace AscendC;

class KernelGemv {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR a, GM_ADDR x, GM_ADDR y, GM_ADDR out,
                                const GemvTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.share;
        if (begin < tiling.rows) {
            count = tiling.rows - begin < tiling.share ? tiling.rows - begin : tiling.share;
        }
        columns = tiling.columns;
        tile = tiling.tile;
        tileRows = tiling.tileRows;
        pitch = tiling.pitch;
        alpha = tiling.alpha;
        beta = tiling.beta;
        aGlobal.SetGlobalBuffer((__gm__ float*)a + begin * columns, count * columns);
        xGlobal.SetGlobalBuffer((__gm__ float*)x, columns);
        yGlobal.SetGlobalBuffer((__gm__ float*)y + begin, count);
        outGlobal.SetGlobalBuffer((__gm__ float*)out + begin, count);
        pipe->InitBuffer(aQueue, 2, tile * sizeof(float));
        pipe->InitBuffer(xQueue, 2, tile * sizeof(float));
        pipe->InitBuffer(yQueue, 2, MAX_ROWS * sizeof(float));
        pipe->InitBuffer(outQueue, 2, MAX_ROWS * sizeof(float));
        pipe->InitBuffer(productBuffer, tile * sizeof(float));
        pipe->InitBuffer(sumsBuffer, tile / 8 * sizeof(float));
    }

    __aicore__ inline void Process() {
        if (count == 0) {
            return;
        }
        if (tileRows == 0) {
            for (uint64_t row = 0; row < count; ++row) {
                MultiplyLong(row);
            }
            return;
        }
        CopyIn(xQueue, xGlobal, 1, columns);
        LocalTensor<float> x = xQueue.DeQue<float>();
        for (uint64_t row = 0; row < count; row += tileRows) {
            const uint32_t rows = count - row < tileRows ? count - row : tileRows;
            CopyIn(aQueue, aGlobal[row * columns], rows, columns);
            CopyIn(yQueue, yGlobal[row], 1, rows);
            Multiply(x, rows);
            CopyOut(row, rows);
        }
        xQueue.FreeTensor(x);
    }

  private:
    using InQueue = TQue<TPosition::VECIN, 1>;

    __aicore__ inline void CopyIn(InQueue& queue, const GlobalTensor<float>& from, uint32_t rows, uint32_t length) {
        const DataCopyExtParams copy(rows, length * sizeof(float), 0, 0, 0);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        DataCopyPad(tensor, from, copy, DataCopyPadExtParams<float>());
        queue.EnQue(tensor);
    }

    __aicore__ inline void Multiply(const LocalTensor<float>& x, uint32_t rows) {
        LocalTensor<float> a = aQueue.DeQue<float>();
        LocalTensor<float> out = outQueue.AllocTensor<float>();
        LocalTensor<float> product = productBuffer.Get<float>();
        MulColumns(product, a, x, rows, columns, pitch);
        aQueue.FreeTensor(a);
        SumRows(out, product, sumsBuffer.Get<float>(), rows, columns, pitch);
        AddY(out, rows);
    }

    __aicore__ inline void MultiplyLong(uint64_t row) {
        LocalTensor<float> lanes = productBuffer.Get<float>();
        Duplicate(lanes, 0.0f, tile);
        for (uint64_t column = 0; column < columns; column += tile) {
            const uint32_t length = columns - column < tile ? columns - column : tile;
            CopyIn(aQueue, aGlobal[row * columns + column], 1, length);
            CopyIn(xQueue, xGlobal[column], 1, length);
            LocalTensor<float> a = aQueue.DeQue<float>();
            LocalTensor<float> x = xQueue.DeQue<float>();
            MulAddDst(lanes, a, x, length);
            aQueue.FreeTensor(a);
            xQueue.FreeTensor(x);
        }
        CopyIn(yQueue, yGlobal[row], 1, 1);
        LocalTensor<float> out = outQueue.AllocTensor<float>();
        SumLanes(out, lanes, sumsBuffer.Get<float>(), tile);
        AddY(out, 1);
        CopyOut(row, 1);
    }

    __aicore__ inline void AddY(const LocalTensor<float>& out, uint32_t rows) {
        LocalTensor<float> y = yQueue.DeQue<float>();
        Muls(out, out, alpha, rows);
        Axpy(out, y, beta, rows);
        yQueue.FreeTensor(y);
        outQueue.EnQue(out);
    }

    __aicore__ inline void CopyOut(uint64_t row, uint32_t rows) {
        const DataCopyExtParams copy(1, rows * sizeof(float), 0, 0, 0);
        LocalTensor<float> out = outQueue.DeQue<float>();
        DataCopyPad(outGlobal[row], out, copy);
        outQueue.FreeTensor(out);
    }

    InQueue aQueue, xQueue, yQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> productBuffer, sumsBuffer;
    GlobalTensor<float> aGlobal, xGlobal, yGlobal, outGlobal;
    uint64_t count = 0, columns = 0;  // rows of this core, elements of a row
    uint32_t tile = 0, tileRows = 0, pitch = 0;
    float alpha = 0.0f, beta = 0.0f;
};

extern "C" __global__ __aicore__ void gemv(GM_ADDR a, GM_ADDR x, GM_ADDR y, GM_ADDR out, GM_ADDR workspace,
                                           GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelGemv op;
    op.Init(&pipe, a, x, y, out, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
