// The same kernel with small tiles and one buffer per queue: right, but every copy waits for the one before.
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t COUNT = 32 * 32 * 768 / 48;  // elements of one core
constexpr uint32_t TILE = 256;                  // elements in the core's own memory at a time

class SquareRoot {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y) {
        xGlobal.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * COUNT, COUNT);
        yGlobal.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx() * COUNT, COUNT);
        pipe->InitBuffer(xQueue, 1, TILE * sizeof(float));
        pipe->InitBuffer(yQueue, 1, TILE * sizeof(float));
    }

    __aicore__ inline void Process() {
        for (uint32_t offset = 0; offset < COUNT; offset += TILE) {
            LocalTensor<float> x = xQueue.AllocTensor<float>();
            DataCopy(x, xGlobal[offset], TILE);
            xQueue.EnQue(x);

            x = xQueue.DeQue<float>();  // waits until the copy is there
            LocalTensor<float> y = yQueue.AllocTensor<float>();
            Sqrt(y, x, TILE);
            xQueue.FreeTensor(x);
            yQueue.EnQue(y);

            y = yQueue.DeQue<float>();
            DataCopy(yGlobal[offset], y, TILE);
            yQueue.FreeTensor(y);
        }
    }

  private:
    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    GlobalTensor<float> xGlobal, yGlobal;
};

extern "C" __global__ __aicore__ void sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    SquareRoot op;
    op.Init(&pipe, x, y);
    op.Process();
}
