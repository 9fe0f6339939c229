#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t TOTAL = 2107;  // elements of x, y and z: 4214 bytes, which is no multiple of 32
constexpr uint32_t ROOM = 2112;   // the same, rounded up to 32 bytes

class Add2 {
  public:
    __aicore__ inline void Process(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
        TPipe pipe;
        pipe.InitBuffer(xQueue, 1, ROOM * sizeof(half));
        pipe.InitBuffer(yQueue, 1, ROOM * sizeof(half));
        pipe.InitBuffer(zQueue, 1, ROOM * sizeof(half));
        xGlobal.SetGlobalBuffer((__gm__ half*)x, TOTAL);
        yGlobal.SetGlobalBuffer((__gm__ half*)y, TOTAL);
        zGlobal.SetGlobalBuffer((__gm__ half*)z, TOTAL);
        const DataCopyExtParams copy{1, TOTAL * sizeof(half), 0, 0, 0};
        const DataCopyPadExtParams<half> pad{false, 0, 0, 0};
        LocalTensor<half> xs = xQueue.AllocTensor<half>();
        DataCopyPad(xs, xGlobal, copy, pad);
        xQueue.EnQue(xs);
        LocalTensor<half> ys = yQueue.AllocTensor<half>();
        DataCopyPad(ys, yGlobal, copy, pad);
        yQueue.EnQue(ys);
        xs = xQueue.DeQue<half>();
        ys = yQueue.DeQue<half>();
        LocalTensor<half> zs = zQueue.AllocTensor<half>();
        Add(zs, xs, ys, TOTAL);
        zQueue.EnQue(zs);
        xQueue.FreeTensor(xs);
        yQueue.FreeTensor(ys);
        zs = zQueue.DeQue<half>();
        DataCopyPad(zGlobal, zs, copy);
        zQueue.FreeTensor(zs);
    }

  private:
    TQue<TPosition::VECIN, 1> xQueue, yQueue;
    TQue<TPosition::VECOUT, 1> zQueue;
    GlobalTensor<half> xGlobal, yGlobal, zGlobal;
};

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    if (GetBlockIdx() != 0) return;
    Add2 op;
    op.Process(x, y, z);
}
