// AddCustom: z = x + y.
//
// Every core takes one contiguous share of the tensors and walks through it in tiles; only the last share and the last
// tile of a share are shorter. Two buffers per queue let the copies of one tile run beside the computation of another.
#include "kernel_operator.h"

using namespace AscendC;

class KernelAddCustom {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, GM_ADDR z, const AddCustomTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.share;
        if (begin < tiling.total) {
            count = tiling.total - begin < tiling.share ? tiling.total - begin : tiling.share;
        }
        tile = tiling.tile;
        xGlobal.SetGlobalBuffer((__gm__ DTYPE_X*)x + begin, count);
        yGlobal.SetGlobalBuffer((__gm__ DTYPE_Y*)y + begin, count);
        zGlobal.SetGlobalBuffer((__gm__ DTYPE_Z*)z + begin, count);
        pipe->InitBuffer(xQueue, 2, tile * BYTES);
        pipe->InitBuffer(bankOffset, 256);
        pipe->InitBuffer(yQueue, 2, tile * BYTES);
        pipe->InitBuffer(zQueue, 2, tile * BYTES);
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
        LocalTensor<DTYPE_X> x = xQueue.AllocTensor<DTYPE_X>();
        LocalTensor<DTYPE_Y> y = yQueue.AllocTensor<DTYPE_Y>();
        DataCopyPad(x, xGlobal[offset], copy, DataCopyPadExtParams<DTYPE_X>());
        DataCopyPad(y, yGlobal[offset], copy, DataCopyPadExtParams<DTYPE_Y>());
        xQueue.EnQue(x);
        yQueue.EnQue(y);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<DTYPE_X> x = xQueue.DeQue<DTYPE_X>();
        LocalTensor<DTYPE_Y> y = yQueue.DeQue<DTYPE_Y>();
        LocalTensor<DTYPE_Z> z = zQueue.AllocTensor<DTYPE_Z>();
        Add(z, x, y, length);
        zQueue.EnQue(z);
        xQueue.FreeTensor(x);
        yQueue.FreeTensor(y);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<DTYPE_Z> z = zQueue.DeQue<DTYPE_Z>();
        DataCopyPad(zGlobal[offset], z, copy);
        zQueue.FreeTensor(z);
    }

    static constexpr uint32_t BYTES = sizeof(DTYPE_X);
    TQue<TPosition::VECIN, 1> xQueue, yQueue;
    TQue<TPosition::VECOUT, 1> zQueue;
    TBuf<TPosition::VECCALC> bankOffset;  // x and y in different halves of the banks, so that both are read at once
    GlobalTensor<DTYPE_X> xGlobal;
    GlobalTensor<DTYPE_Y> yGlobal;
    GlobalTensor<DTYPE_Z> zGlobal;
    uint64_t count = 0;
    uint32_t tile = 0;
};

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelAddCustom op;
    op.Init(&pipe, x, y, z, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
