// ForeachNorm: y[k] = (sum of |x[k]| ^ p) ^ (1 / p) for every tensor k of a list, p 1 or 2.
//
// A core adds up its share of a tensor in a tile of lanes, and the lanes once at the end: no sum is longer than a few
// hundred terms, so that float is accurate enough. What the cores found goes through the workspace, a row for each;
// when all rows are there, every core finishes some of the tensors. The order of additions, and so the result, does not
// depend on which core is faster.
#include "foreach.h"

using namespace AscendC;

template <typename T, typename P>
class KernelForeachNorm {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR p, GM_ADDR y, GM_ADDR workspace, uint32_t tensors) {
        xList = x;
        yList = y;
        isEuclidean = foreach::ScalarOf<float, P>(p, 0) == 2.0f;
        count = tensors;
        row = (count + BLOCK - 1) / BLOCK * BLOCK;
        partGlobal.SetGlobalBuffer((__gm__ float*)workspace, GetBlockNum() * row);
        pipe->InitBuffer(xQueue, 2, TILE * sizeof(T));
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
        pipe->InitBuffer(lanesBuffer, TILE * sizeof(float));
        pipe->InitBuffer(workBuffer, TILE * sizeof(float));
        pipe->InitBuffer(partsQueue, 1, row * sizeof(float));
        pipe->InitBuffer(foundQueue, 1, GetBlockNum() * BLOCK * sizeof(float));
        pipe->InitBuffer(yQueue, 1, BLOCK * sizeof(float));
        parts = partsQueue.template AllocTensor<float>();
        Duplicate(parts, 0.0f, row);  // also for tensors of which this core has no share
    }

    __aicore__ inline void Serve(uint32_t k, uint64_t begin, uint64_t size) {
        LocalTensor<float> lanes = lanesBuffer.Get<float>();
        xGlobal.SetGlobalBuffer(foreach::TensorOf<T>(xList, k) + begin, size);
        Duplicate(lanes, 0.0f, TILE);
        for (uint64_t offset = 0; offset < size; offset += TILE) {
            const uint32_t length = size - offset < TILE ? size - offset : TILE;
            CopyIn(offset, length);
            AddTo(lanes, length);
        }
        ReduceSum(parts[k], lanes, workBuffer.Get<float>(), TILE);
    }

    __aicore__ inline void Finish() {
        partsQueue.EnQue(parts);
        parts = partsQueue.template DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(row * sizeof(float)), 0, 0, 0};
        DataCopyPad(partGlobal[GetBlockIdx() * row], parts, copy);
        partsQueue.FreeTensor(parts);
        SyncAll();
        for (uint32_t k = GetBlockIdx(); k < count; k += GetBlockNum()) {
            Total(k);
        }
    }

  private:
    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        LocalTensor<T> x = xQueue.template AllocTensor<T>();
        DataCopyPad(x, xGlobal[offset], copy, DataCopyPadExtParams<T>());
        xQueue.EnQue(x);
    }

    __aicore__ inline void AddTo(const LocalTensor<float>& lanes, uint32_t length) {
        LocalTensor<T> x = xQueue.template DeQue<T>();
        LocalTensor<float> terms = wideBuffer.Get<float>();
        if constexpr (std::is_same<T, float>::value) {
            Power(terms, x, length);
        } else {
            Cast(terms, x, RoundMode::CAST_NONE, length);
            Power(terms, terms, length);
        }
        Add(lanes, lanes, terms, length);
        xQueue.FreeTensor(x);
    }

    // |x| or its square.
    __aicore__ inline void Power(const LocalTensor<float>& terms, const LocalTensor<float>& x, uint32_t length) {
        if (isEuclidean) {
            Mul(terms, x, x, length);
        } else {
            Abs(terms, x, length);
        }
    }

    __aicore__ inline void Total(uint32_t k) {
        const uint32_t cores = GetBlockNum();
        const uint32_t gap = (row - 1) * sizeof(float);
        const DataCopyExtParams gather{static_cast<uint16_t>(cores), sizeof(float), gap, 0, 0};
        const DataCopyPadExtParams<float> zeros{true, 0, BLOCK - 1, 0.0f};  // one float to a block
        LocalTensor<float> found = foundQueue.template AllocTensor<float>();
        DataCopyPad(found, partGlobal[k], gather, zeros);
        foundQueue.EnQue(found);
        found = foundQueue.template DeQue<float>();
        LocalTensor<float> sum = wideBuffer.Get<float>();
        ReduceSum(sum, found, workBuffer.Get<float>(), cores * BLOCK);
        foundQueue.FreeTensor(found);
        if (isEuclidean) {
            Sqrt(sum, sum, 1);
        }

        LocalTensor<T> y = yQueue.template AllocTensor<T>();
        if constexpr (std::is_same<T, float>::value) {
            Adds(y, sum, 0.0f, 1);
        } else {
            Cast(y, sum, RoundMode::CAST_RINT, 1);
        }
        yQueue.EnQue(y);
        y = yQueue.template DeQue<T>();
        yGlobal.SetGlobalBuffer(foreach::TensorOf<T>(yList, k), 1);
        const DataCopyExtParams one{1, sizeof(T), 0, 0, 0};
        DataCopyPad(yGlobal, y, one);
        yQueue.FreeTensor(y);
    }

    static constexpr uint32_t TILE = 8192;
    static constexpr uint32_t BLOCK = 8;  // floats in 32 bytes
    TQue<TPosition::VECIN, 1> xQueue, foundQueue;
    TQue<TPosition::VECOUT, 1> partsQueue, yQueue;
    TBuf<TPosition::VECCALC> wideBuffer, lanesBuffer, workBuffer;
    LocalTensor<float> parts;  // what this core found of every tensor
    GlobalTensor<float> partGlobal;
    GlobalTensor<T> xGlobal, yGlobal;
    GM_ADDR xList = nullptr;
    GM_ADDR yList = nullptr;
    uint32_t count = 0;
    uint32_t row = 0;  // floats that a core leaves, whole blocks
    bool isEuclidean = false;
};

extern "C" __global__ __aicore__ void foreach_norm(GM_ADDR x, GM_ADDR scalar, GM_ADDR y, GM_ADDR workspace,
                                                   GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelForeachNorm<DTYPE_X, DTYPE_SCALAR> norm;
    norm.Init(&pipe, x, scalar, y, GetUserWorkspace(workspace), sizes.count);
    foreach::ServeShares<DTYPE_X>(sizes, norm);
    norm.Finish();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
