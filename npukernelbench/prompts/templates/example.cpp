#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t TOTAL = 100003;                   // elements of x, y and z
constexpr uint32_t TILE = 8192;                      // elements per tile: 16 KiB
constexpr uint32_t PER_BLOCK = 32 / sizeof(half);    // elements per 32 bytes

class Maximum {
public:
    __aicore__ inline Maximum() {}

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, GM_ADDR z)
    {
        const uint32_t cores = GetBlockNum();
        uint32_t share = (TOTAL + cores - 1) / cores;
        share = (share + PER_BLOCK - 1) / PER_BLOCK * PER_BLOCK;
        const uint32_t begin = GetBlockIdx() * share;
        if (begin < TOTAL) {
            count = TOTAL - begin < share ? TOTAL - begin : share;
        }
        xGm.SetGlobalBuffer((__gm__ half*)x + begin, count);
        yGm.SetGlobalBuffer((__gm__ half*)y + begin, count);
        zGm.SetGlobalBuffer((__gm__ half*)z + begin, count);
        pipe->InitBuffer(xQueue, 2, TILE * sizeof(half));
        pipe->InitBuffer(yQueue, 2, TILE * sizeof(half));
        pipe->InitBuffer(zQueue, 2, TILE * sizeof(half));
    }

    __aicore__ inline void Process()
    {
        for (uint32_t offset = 0; offset < count; offset += TILE) {
            const uint32_t length = count - offset < TILE ? count - offset : TILE;
            CopyIn(offset, length);
            Compute(length);
            CopyOut(offset, length);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t offset, uint32_t length)
    {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(half)), 0, 0, 0};
        const DataCopyPadExtParams<half> pad{false, 0, 0, static_cast<half>(0)};
        LocalTensor<half> x = xQueue.AllocTensor<half>();
        LocalTensor<half> y = yQueue.AllocTensor<half>();
        DataCopyPad(x, xGm[offset], copy, pad);
        DataCopyPad(y, yGm[offset], copy, pad);
        xQueue.EnQue(x);
        yQueue.EnQue(y);
    }

    __aicore__ inline void Compute(uint32_t length)
    {
        LocalTensor<half> x = xQueue.DeQue<half>();
        LocalTensor<half> y = yQueue.DeQue<half>();
        LocalTensor<half> z = zQueue.AllocTensor<half>();
        Max(z, x, y, length);
        zQueue.EnQue(z);
        xQueue.FreeTensor(x);
        yQueue.FreeTensor(y);
    }

    __aicore__ inline void CopyOut(uint32_t offset, uint32_t length)
    {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(half)), 0, 0, 0};
        LocalTensor<half> z = zQueue.DeQue<half>();
        DataCopyPad(zGm[offset], z, copy);
        zQueue.FreeTensor(z);
    }

    TQue<TPosition::VECIN, 1> xQueue, yQueue;
    TQue<TPosition::VECOUT, 1> zQueue;
    GlobalTensor<half> xGm, yGm, zGm;
    uint32_t count = 0;
};

extern "C" __global__ __aicore__ void maximum(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace)
{
    TPipe pipe;
    Maximum op;
    op.Init(&pipe, x, y, z);
    op.Process();
}
