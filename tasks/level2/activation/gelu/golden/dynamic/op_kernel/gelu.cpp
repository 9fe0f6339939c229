// Gelu, tanh form: y = x / (1 + exp(-sqrt(8 / pi) * (x + 0.044715 * x^3))).
//
// Every core takes one contiguous share of the tensor and walks through it in tiles; only the last share and the last
// tile of a share are shorter. Two buffers per queue let the copies of one tile run beside the computation of another.
#include "wide.h"

using namespace AscendC;

template <typename T>
class KernelGelu {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const GeluTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.share;
        if (begin < tiling.total) {
            count = tiling.total - begin < tiling.share ? tiling.total - begin : tiling.share;
        }
        tile = tiling.tile;
        xGlobal.SetGlobalBuffer((__gm__ T*)x + begin, count);
        yGlobal.SetGlobalBuffer((__gm__ T*)y + begin, count);
        pipe->InitBuffer(xQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(yQueue, 2, tile * sizeof(T));
        if constexpr (!IS_FLOAT<T>) {
            pipe->InitBuffer(wideBuffer, tile * sizeof(float));
            pipe->InitBuffer(resultBuffer, tile * sizeof(float));
        }
    }

    __aicore__ inline void Process() {
        for (uint64_t offset = 0; offset < count; offset += tile) {
            const uint32_t length = count - offset < tile ? count - offset : tile;
            CopyIn(offset, length);
            Compute(length);
            CopyOut(offset, length);
        }
    }

  private:
    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length * sizeof(T), 0, 0, 0);
        LocalTensor<T> x = xQueue.AllocTensor<T>();
        DataCopyPad(x, xGlobal[offset], copy, DataCopyPadExtParams<T>());
        xQueue.EnQue(x);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<T> x = xQueue.DeQue<T>();
        LocalTensor<T> y = yQueue.AllocTensor<T>();
        LocalTensor<float> result = WideResult(y, resultBuffer);
        Activate(result, Widen(x, wideBuffer, length), length);
        Narrow(y, result, length);
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
    }

    // The exponent is x * (LINEAR + CUBIC * x^2). Where exp overflows, the quotient is the zero that the activation
    // tends to.
    __aicore__ inline void Activate(const LocalTensor<float>& y, const LocalTensor<float>& x, uint32_t length) {
        constexpr float LINEAR = -1.5957691216057308f;  // -sqrt(8 / pi)
        constexpr float CUBIC = LINEAR * 0.044715f;
        Mul(y, x, x, length);
        Muls(y, y, CUBIC, length);
        Adds(y, y, LINEAR, length);
        Mul(y, y, x, length);
        Exp(y, y, length);
        Adds(y, y, 1.0f, length);
        Div(y, x, y, length);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length * sizeof(T), 0, 0, 0);
        LocalTensor<T> y = yQueue.DeQue<T>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> wideBuffer, resultBuffer;
    GlobalTensor<T> xGlobal, yGlobal;
    uint64_t count = 0;
    uint32_t tile = 0;
};

extern "C" __global__ __aicore__ void gelu(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelGelu<DTYPE_X> op;
    op.Init(&pipe, x, y, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
