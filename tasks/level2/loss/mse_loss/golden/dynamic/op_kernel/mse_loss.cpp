// MseLoss: d = (predict - label)^2, as it is (tiling key 0), or its mean or sum as one element (tiling key 1).
//
// Every core takes one contiguous share of the tensors and walks through it in tiles; only the last share and the last
// tile of a share are shorter. Two buffers per queue let the copies of one tile run beside the computation of another.
//
// For mean and sum a core adds its tiles up lane by lane and reduces the lanes at the end. The cores' sums reach core 0
// through the workspace, one block of 32 bytes each.
#include "wide.h"

using namespace AscendC;

template <typename T, bool REDUCED>
class KernelMseLoss {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR predict, GM_ADDR label, GM_ADDR y, GM_ADDR workspace,
                                const MseLossTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.share;
        if (begin < tiling.total) {
            count = tiling.total - begin < tiling.share ? tiling.total - begin : tiling.share;
        }
        alone = tiling.total <= tiling.share;
        tile = tiling.tile;
        factor = tiling.factor;
        predictGlobal.SetGlobalBuffer((__gm__ T*)predict + begin, count);
        labelGlobal.SetGlobalBuffer((__gm__ T*)label + begin, count);
        pipe->InitBuffer(predictQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(labelQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(differenceBuffer, tile * sizeof(float));
        if constexpr (!IS_FLOAT<T>) {
            pipe->InitBuffer(wideBuffer, tile * sizeof(float));
        }
        if constexpr (!REDUCED) {
            yGlobal.SetGlobalBuffer((__gm__ T*)y + begin, count);
            pipe->InitBuffer(yQueue, 2, tile * sizeof(T));
        } else {
            yGlobal.SetGlobalBuffer((__gm__ T*)y, 1);
            sumsGlobal.SetGlobalBuffer((__gm__ float*)workspace, GetBlockNum() * BLOCK);
            pipe->InitBuffer(yQueue, 1, BLOCK * sizeof(float));
            pipe->InitBuffer(sumQueue, 1, BLOCK * sizeof(float));
            pipe->InitBuffer(sumsQueue, 1, GetBlockNum() * BLOCK * sizeof(float));
            pipe->InitBuffer(totalBuffer, BLOCK * sizeof(float));
            pipe->InitBuffer(eighthBuffer, tile / 8 * sizeof(float));
            pipe->InitBuffer(lanesBuffer, tile * sizeof(float));
            Duplicate(lanesBuffer.Get<float>(), 0.0f, tile);
        }
    }

    __aicore__ inline void Process() {
        for (uint64_t offset = 0; offset < count; offset += tile) {
            const uint32_t length = count - offset < tile ? count - offset : tile;
            CopyIn(offset, length);
            if constexpr (REDUCED) {
                Accumulate(length);
            } else {
                Square(length);
                CopyOut(offset, length);
            }
        }
        if constexpr (REDUCED) {
            if (!alone || GetBlockIdx() == 0) {
                Reduce();
            }
        }
    }

  private:
    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length * sizeof(T), 0, 0, 0);
        LocalTensor<T> predict = predictQueue.AllocTensor<T>();
        LocalTensor<T> label = labelQueue.AllocTensor<T>();
        DataCopyPad(predict, predictGlobal[offset], copy, DataCopyPadExtParams<T>());
        DataCopyPad(label, labelGlobal[offset], copy, DataCopyPadExtParams<T>());
        predictQueue.EnQue(predict);
        labelQueue.EnQue(label);
    }

    __aicore__ inline LocalTensor<float> Subtract(uint32_t length) {
        LocalTensor<T> predict = predictQueue.DeQue<T>();
        LocalTensor<T> label = labelQueue.DeQue<T>();
        LocalTensor<float> difference = differenceBuffer.Get<float>();
        LocalTensor<float> widePredict = Widen(predict, differenceBuffer, length);
        Sub(difference, widePredict, Widen(label, wideBuffer, length), length);
        predictQueue.FreeTensor(predict);
        labelQueue.FreeTensor(label);
        return difference;
    }

    __aicore__ inline void Square(uint32_t length) {
        LocalTensor<float> difference = Subtract(length);
        LocalTensor<T> y = yQueue.AllocTensor<T>();
        LocalTensor<float> square = WideResult(y, differenceBuffer);
        Mul(square, difference, difference, length);
        Narrow(y, square, length);
        yQueue.EnQue(y);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length * sizeof(T), 0, 0, 0);
        LocalTensor<T> y = yQueue.DeQue<T>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    __aicore__ inline void Accumulate(uint32_t length) {
        LocalTensor<float> difference = Subtract(length);
        MulAddDst(lanesBuffer.Get<float>(), difference, difference, length);
    }

    __aicore__ inline void Reduce() {
        LocalTensor<float> total = totalBuffer.Get<float>();
        LocalTensor<float> lanes = lanesBuffer.Get<float>();
        LocalTensor<float> eighth = eighthBuffer.Get<float>();
        Duplicate(total, 0.0f, BLOCK);
        BlockReduceSum(eighth, lanes, tile / 64, 64, 1, 1, 8);
        ReduceSum(total, eighth, lanes, tile / 8);
        if (!alone) {
            Publish(total);
            SyncAll();
        }
        if (GetBlockIdx() == 0) {
            if (!alone) {
                Collect(total);
            }
            Store(total);
        }
    }

    // One block of the workspace: the core's sum and seven zeros.
    __aicore__ inline void Publish(const LocalTensor<float>& total) {
        LocalTensor<float> sum = sumQueue.AllocTensor<float>();
        Adds(sum, total, 0.0f, BLOCK);
        sumQueue.EnQue(sum);
        sum = sumQueue.DeQue<float>();
        DataCopy(sumsGlobal[GetBlockIdx() * BLOCK], sum, BLOCK);
        sumQueue.FreeTensor(sum);
    }

    __aicore__ inline void Collect(const LocalTensor<float>& total) {
        const uint32_t length = GetBlockNum() * BLOCK;
        LocalTensor<float> sums = sumsQueue.AllocTensor<float>();
        DataCopy(sums, sumsGlobal, length);
        sumsQueue.EnQue(sums);
        sums = sumsQueue.DeQue<float>();
        ReduceSum(total, sums, lanesBuffer.Get<float>(), length);
        sumsQueue.FreeTensor(sums);
    }

    __aicore__ inline void Store(const LocalTensor<float>& total) {
        const DataCopyExtParams copy(1, sizeof(T), 0, 0, 0);
        LocalTensor<T> y = yQueue.AllocTensor<T>();
        LocalTensor<float> loss = WideResult(y, totalBuffer);
        Muls(loss, total, factor, 1);
        Narrow(y, loss, 1);
        yQueue.EnQue(y);
        y = yQueue.DeQue<T>();
        DataCopyPad(yGlobal, y, copy);
        yQueue.FreeTensor(y);
    }

    static constexpr uint32_t BLOCK = 32 / sizeof(float);
    TQue<TPosition::VECIN, 1> predictQueue, labelQueue, sumsQueue;
    TQue<TPosition::VECOUT, 1> yQueue, sumQueue;
    TBuf<TPosition::VECCALC> differenceBuffer, wideBuffer, lanesBuffer, eighthBuffer, totalBuffer;
    GlobalTensor<T> predictGlobal, labelGlobal, yGlobal;
    GlobalTensor<float> sumsGlobal;
    uint64_t count = 0;
    uint32_t tile = 0;
    bool alone = false;  // the first core has it all, and need not wait for others
    float factor = 1.0f;
};

template <bool REDUCED>
__aicore__ inline void Run(GM_ADDR predict, GM_ADDR label, GM_ADDR y, GM_ADDR workspace,
                           const MseLossTilingData& sizes) {
    TPipe pipe;
    KernelMseLoss<DTYPE_PREDICT, REDUCED> op;
    op.Init(&pipe, predict, label, y, GetUserWorkspace(workspace), sizes);
    op.Process();
}

extern "C" __global__ __aicore__ void mse_loss(GM_ADDR predict, GM_ADDR label, GM_ADDR y, GM_ADDR workspace,
                                               GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    if (TILING_KEY_IS(0)) {
        Run<false>(predict, label, y, workspace, sizes);
    } else if (TILING_KEY_IS(1)) {
        Run<true>(predict, label, y, workspace, sizes);
    }
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
