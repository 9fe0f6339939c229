// Sscal: the elements of a vector with a stride times alpha, in place; x and x_ref are the same memory.
//
// What lies between the elements of a tile is written back as it was. No other core touches it: a core ends with an
// element, and the next one begins with its own.
#include "strided.h"

class KernelSscal {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, const StridedTilingData& sizes) {
        const uint32_t room = sizes.tile * sizes.pitch;
        tile = sizes.tile;
        alpha = sizes.factor;
        vector.Init(x, sizes);
        pipe->InitBuffer(xQueue, 2, room * sizeof(float));
        pipe->InitBuffer(yQueue, 2, room * sizeof(float));
        counting.Init(pipe, room, sizes.pitch);
    }

    __aicore__ inline void Process() {
        for (uint64_t offset = 0; offset < vector.count; offset += tile) {
            const uint32_t length = vector.count - offset < tile ? vector.count - offset : tile;
            LocalTensor<float> x = xQueue.AllocTensor<float>();
            vector.Load(x, offset, length);
            xQueue.EnQue(x);
            Scale(vector.Lanes(length));
            LocalTensor<float> y = yQueue.DeQue<float>();
            vector.Store(offset, y, length);
            yQueue.FreeTensor(y);
        }
    }

  private:
    __aicore__ inline void Scale(uint32_t lanes) {
        LocalTensor<float> x = xQueue.DeQue<float>();
        LocalTensor<float> y = yQueue.AllocTensor<float>();
        Muls(y, x, alpha, lanes);
        if (counting.hasGaps) {
            Select(y, counting.Bits(), y, x, SELMODE::VSEL_TENSOR_TENSOR_MODE, lanes);
        }
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
    }

    StridedVector<float> vector;
    Counting counting;
    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    uint32_t tile = 0;
    float alpha = 1.0f;
};

extern "C" __global__ __aicore__ void sscal(GM_ADDR x, GM_ADDR x_ref, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelSscal op;
    op.Init(&pipe, x, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
