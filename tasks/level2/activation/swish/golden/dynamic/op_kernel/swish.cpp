// Swish: y = x / (1 + exp(-scale * x)).
//
// Every core takes one contiguous share of the tensor and walks through it in tiles; only the last share and the last
// tile of a share are shorter. Two buffers per queue let the copies of one tile run beside the computation of another.
// All arithmetic is in float: other types are widened, and rounded once at the end.
#include "kernel_operator.h"

using namespace AscendC;

template <typename T>
class KernelSwish {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const SwishTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.share;
        if (begin < tiling.total) {
            count = tiling.total - begin < tiling.share ? tiling.total - begin : tiling.share;
        }
        tile = tiling.tile;
        scale = tiling.scale;
        xGlobal.SetGlobalBuffer((__gm__ T*)x + begin, count);
        yGlobal.SetGlobalBuffer((__gm__ T*)y + begin, count);
        pipe->InitBuffer(xQueue, 2, tile * BYTES);
        pipe->InitBuffer(yQueue, 2, tile * BYTES);
        if constexpr (!IS_FLOAT) {
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
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<T> x = xQueue.AllocTensor<T>();
        DataCopyPad(x, xGlobal[offset], copy, DataCopyPadExtParams<T>());
        xQueue.EnQue(x);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<T> x = xQueue.DeQue<T>();
        LocalTensor<T> y = yQueue.AllocTensor<T>();
        if constexpr (IS_FLOAT) {
            Activate(y, x, length);
        } else {
            LocalTensor<float> wide = wideBuffer.Get<float>();
            LocalTensor<float> result = resultBuffer.Get<float>();
            Cast(wide, x, RoundMode::CAST_NONE, length);
            Activate(result, wide, length);
            Cast(y, result, RoundMode::CAST_RINT, length);
        }
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
    }

    __aicore__ inline void Activate(const LocalTensor<float>& y, const LocalTensor<float>& x, uint32_t length) {
        Muls(y, x, -scale, length);
        Exp(y, y, length);
        Adds(y, y, 1.0f, length);
        Div(y, x, y, length);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<T> y = yQueue.DeQue<T>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    static constexpr bool IS_FLOAT = std::is_same<T, float>::value;
    static constexpr uint32_t BYTES = sizeof(T);
    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> wideBuffer, resultBuffer;
    GlobalTensor<T> xGlobal, yGlobal;
    uint64_t count = 0;
    uint32_t tile = 0;
    float scale = 1.0f;
};

extern "C" __global__ __aicore__ void swish(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelSwish<DTYPE_X> op;
    op.Init(&pipe, x, y, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
