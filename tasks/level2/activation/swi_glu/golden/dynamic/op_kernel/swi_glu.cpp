// SwiGlu: y = a * sigmoid(a) * b, where a and b are the halves of x along one axis.
//
// Seen as rows, x is `outer` pairs of an a-row and a b-row of `inner` elements, y is `outer` rows. A tile is a piece of
// one long row, or several whole short rows, which DataCopyPad gathers at the pitch of their length rounded up to 32
// bytes. Tiles go to the cores in turn. Two buffers per queue let the copies of one tile run beside the computation of
// another.
#include "wide.h"

using namespace AscendC;

template <typename T>
class KernelSwiGlu {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const SwiGluTilingData& tiling) {
        outer = tiling.outer;
        inner = tiling.inner;
        tileColumns = tiling.columns;
        pitch = tiling.pitch;
        tileRows = tiling.tileRows;
        xGlobal.SetGlobalBuffer((__gm__ T*)x, 2 * outer * inner);
        yGlobal.SetGlobalBuffer((__gm__ T*)y, outer * inner);
        const uint32_t tile = tileRows * pitch;
        pipe->InitBuffer(aQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(bQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(yQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(resultBuffer, tile * sizeof(float));
        if constexpr (!IS_FLOAT<T>) {
            pipe->InitBuffer(wideBuffer, tile * sizeof(float));
        }
    }

    __aicore__ inline void Process() {
        if (outer == 0) {
            return;
        }
        const uint64_t pieces = (inner + tileColumns - 1) / tileColumns;
        const uint64_t tiles = (outer + tileRows - 1) / tileRows * pieces;
        for (uint64_t tile = GetBlockIdx(); tile < tiles; tile += GetBlockNum()) {
            const uint64_t row = tile / pieces * tileRows;
            const uint64_t column = tile % pieces * tileColumns;
            const uint32_t rows = outer - row < tileRows ? outer - row : tileRows;
            const uint32_t columns = inner - column < tileColumns ? inner - column : tileColumns;
            CopyIn(row, column, rows, columns);
            Compute(rows == 1 ? columns : rows * pitch);
            CopyOut(row, column, rows, columns);
        }
    }

  private:
    __aicore__ inline void CopyIn(uint64_t row, uint64_t column, uint32_t rows, uint32_t columns) {
        const DataCopyExtParams copy(rows, columns * sizeof(T), (2 * inner - columns) * sizeof(T), 0, 0);
        const uint64_t begin = row * 2 * inner + column;
        LocalTensor<T> a = aQueue.AllocTensor<T>();
        LocalTensor<T> b = bQueue.AllocTensor<T>();
        DataCopyPad(a, xGlobal[begin], copy, DataCopyPadExtParams<T>());
        DataCopyPad(b, xGlobal[begin + inner], copy, DataCopyPadExtParams<T>());
        aQueue.EnQue(a);
        bQueue.EnQue(b);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<T> a = aQueue.DeQue<T>();
        LocalTensor<T> b = bQueue.DeQue<T>();
        LocalTensor<T> y = yQueue.AllocTensor<T>();
        LocalTensor<float> result = resultBuffer.Get<float>();
        Silu(result, Widen(a, wideBuffer, length), length);
        LocalTensor<float> wide = WideResult(y, resultBuffer);
        Mul(wide, result, Widen(b, wideBuffer, length), length);
        Narrow(y, wide, length);
        yQueue.EnQue(y);
        aQueue.FreeTensor(a);
        bQueue.FreeTensor(b);
    }

    // result = a / (1 + exp(-a)); where exp overflows, the quotient is the zero that the activation tends to.
    __aicore__ inline void Silu(const LocalTensor<float>& result, const LocalTensor<float>& a, uint32_t length) {
        Muls(result, a, -1.0f, length);
        Exp(result, result, length);
        Adds(result, result, 1.0f, length);
        Div(result, a, result, length);
    }

    __aicore__ inline void CopyOut(uint64_t row, uint64_t column, uint32_t rows, uint32_t columns) {
        const DataCopyExtParams copy(rows, columns * sizeof(T), 0, (inner - columns) * sizeof(T), 0);
        LocalTensor<T> y = yQueue.DeQue<T>();
        DataCopyPad(yGlobal[row * inner + column], y, copy);
        yQueue.FreeTensor(y);
    }

    TQue<TPosition::VECIN, 1> aQueue, bQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> resultBuffer, wideBuffer;
    GlobalTensor<T> xGlobal, yGlobal;
    uint64_t outer = 0, inner = 0;
    uint32_t tileColumns = 0, pitch = 0, tileRows = 0;
};

extern "C" __global__ __aicore__ void swi_glu(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelSwiGlu<DTYPE_X> op;
    op.Init(&pipe, x, y, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
