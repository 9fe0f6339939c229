#include "kernel_operator.h"

using namespace AscendC;

template <typename T>
class KernelMaximum {
public:
    __aicore__ inline KernelMaximum() {}

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, GM_ADDR z, uint64_t total, uint64_t perCore, uint32_t tileLength)
    {
        const uint64_t begin = GetBlockIdx() * perCore;
        if (begin < total) {
            count = total - begin < perCore ? total - begin : perCore;
        }
        tile = tileLength;
        xGm.SetGlobalBuffer((__gm__ T*)x + begin, count);
        yGm.SetGlobalBuffer((__gm__ T*)y + begin, count);
        zGm.SetGlobalBuffer((__gm__ T*)z + begin, count);
        pipe->InitBuffer(xQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(yQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(zQueue, 2, tile * sizeof(T));
    }

    __aicore__ inline void Process()
    {
        for (uint64_t offset = 0; offset < count; offset += tile) {
            const uint32_t length = count - offset < tile ? count - offset : tile;
            CopyIn(offset, length);
            Compute(length);
            CopyOut(offset, length);
        }
    }

private:
    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length)
    {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        const DataCopyPadExtParams<T> pad{false, 0, 0, static_cast<T>(0)};
        LocalTensor<T> x = xQueue.template AllocTensor<T>();
        LocalTensor<T> y = yQueue.template AllocTensor<T>();
        DataCopyPad(x, xGm[offset], copy, pad);
        DataCopyPad(y, yGm[offset], copy, pad);
        xQueue.EnQue(x);
        yQueue.EnQue(y);
    }

    __aicore__ inline void Compute(uint32_t length)
    {
        LocalTensor<T> x = xQueue.template DeQue<T>();
        LocalTensor<T> y = yQueue.template DeQue<T>();
        LocalTensor<T> z = zQueue.template AllocTensor<T>();
        Max(z, x, y, length);
        zQueue.EnQue(z);
        xQueue.FreeTensor(x);
        yQueue.FreeTensor(y);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length)
    {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        LocalTensor<T> z = zQueue.template DeQue<T>();
        DataCopyPad(zGm[offset], z, copy);
        zQueue.FreeTensor(z);
    }

    TQue<TPosition::VECIN, 1> xQueue, yQueue;
    TQue<TPosition::VECOUT, 1> zQueue;
    GlobalTensor<T> xGm, yGm, zGm;
    uint64_t count = 0;
    uint32_t tile = 0;
};

extern "C" __global__ __aicore__ void maximum(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling)
{
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelMaximum<DTYPE_X> op;
    op.Init(&pipe, x, y, z, sizes.total, sizes.perCore, sizes.tile);
    op.Process();
}
