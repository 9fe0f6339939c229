// Sums over a vector with a stride, in float for every element type: of magnitudes, or the root of that of squares.
//
// Every core adds its tiles up lane by lane and reduces the lanes at the end. The cores' sums reach core 0 through the
// workspace, one block of 32 bytes each; a short vector has one core, which waits for nobody.
#ifndef STRIDED_SUM_H
#define STRIDED_SUM_H
#include "strided.h"
#include "wide.h"

template <typename T, bool SQUARES>
class StridedSum {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR result, GM_ADDR workspace,
                                const StridedTilingData& sizes) {
        this->pipe = pipe;
        tile = sizes.tile;
        room = sizes.tile * sizes.pitch;
        vector.Init(x, sizes);
        resultGlobal.SetGlobalBuffer((__gm__ T*)result, 1);
        sumsGlobal.SetGlobalBuffer((__gm__ float*)workspace, GetBlockNum() * BLOCK);
        pipe->InitBuffer(xQueue, 2, room * sizeof(T));
        pipe->InitBuffer(termsBuffer, room * sizeof(float));
        pipe->InitBuffer(lanesBuffer, room * sizeof(float));
        pipe->InitBuffer(sumsQueue, 1, GetBlockNum() * BLOCK * sizeof(float));
        pipe->InitBuffer(sumQueue, 1, BLOCK * sizeof(float));
        pipe->InitBuffer(resultQueue, 1, BLOCK * sizeof(float));
        pipe->InitBuffer(totalBuffer, BLOCK * sizeof(float));
        counting.Init(pipe, room, sizes.pitch);
        Duplicate(lanesBuffer.Get<float>(), 0.0f, room);
    }

    __aicore__ inline void Process() {
        for (uint64_t offset = 0; offset < vector.count; offset += tile) {
            const uint32_t length = vector.count - offset < tile ? vector.count - offset : tile;
            LocalTensor<T> x = xQueue.template AllocTensor<T>();
            vector.Load(x, offset, length);
            xQueue.EnQue(x);
            AddTile(vector.Lanes(length));
        }
        LocalTensor<float> total = totalBuffer.Get<float>();
        Duplicate(total, 0.0f, BLOCK);
        ReduceSum(total, lanesBuffer.Get<float>(), termsBuffer.Get<float>(), room);
        if (GetBlockNum() > 1) {
            Publish(total);
            SyncAll();
            if (GetBlockIdx() == 0) {
                Collect(total);
            }
        }
        if (GetBlockIdx() == 0) {
            Write(total);
        }
    }

  private:
    __aicore__ inline void AddTile(uint32_t lanes) {
        LocalTensor<T> x = xQueue.template DeQue<T>();
        LocalTensor<float> terms = termsBuffer.Get<float>();
        LocalTensor<float> wide = Widen(x, termsBuffer, lanes);
        if constexpr (SQUARES) {
            Mul(terms, wide, wide, lanes);
        } else {
            Abs(terms, wide, lanes);
        }
        xQueue.FreeTensor(x);
        counting.FillGaps(terms, 0.0f, lanes);
        LocalTensor<float> sums = lanesBuffer.Get<float>();
        Add(sums, sums, terms, lanes);
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
        ReduceSum(total, sums, termsBuffer.Get<float>(), length);
        sumsQueue.FreeTensor(sums);
    }

    __aicore__ inline void Write(const LocalTensor<float>& total) {
        const DataCopyExtParams one(1, sizeof(T), 0, 0, 0);
        LocalTensor<T> result = resultQueue.template AllocTensor<T>();
        LocalTensor<float> sum = WideResult(result, totalBuffer);
        if constexpr (SQUARES) {
            Sqrt(sum, total, 1);
        } else {
            Adds(sum, total, 0.0f, 1);
        }
        Narrow(result, sum, 1);
        resultQueue.EnQue(result);
        result = resultQueue.template DeQue<T>();
        DataCopyPad(resultGlobal, result, one);
        resultQueue.FreeTensor(result);
    }

    static constexpr uint32_t BLOCK = 32 / sizeof(float);
    TPipe* pipe = nullptr;
    StridedVector<T> vector;
    Counting counting;
    TQue<TPosition::VECIN, 1> xQueue, sumsQueue;
    TQue<TPosition::VECOUT, 1> resultQueue, sumQueue;
    TBuf<TPosition::VECCALC> termsBuffer, lanesBuffer, totalBuffer;
    GlobalTensor<T> resultGlobal;
    GlobalTensor<float> sumsGlobal;
    uint32_t tile = 0;  // elements that count
    uint32_t room = 0;  // elements with gaps
};

template <typename T, bool SQUARES>
__aicore__ inline void RunStridedSum(GM_ADDR x, GM_ADDR result, GM_ADDR workspace, const StridedTilingData& sizes) {
    TPipe pipe;
    StridedSum<T, SQUARES> op;
    op.Init(&pipe, x, result, GetUserWorkspace(workspace), sizes);
    op.Process();
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
