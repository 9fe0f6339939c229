// CraftSoftsign: y = x / (1 + |x|).
//
// Lowered from a tile program.

#include "kernel_operator.h"

using namespace AscendC;

namespace {
template <typename T>
__aicore__ inline T Least(T a, T b) {
    return a < b ? a : b;
}

// Bytes of so many elements, in whole repeats of the vector unit.
template <typename T>
__aicore__ inline uint32_t Bytes(int64_t elements) {
    return static_cast<uint32_t>((elements * sizeof(T) + 255) / 256 * 256);
}
}  // namespace

class KernelCraftSoftsign {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const CraftSoftsignTilingData& numbers) {
        total = numbers.total;
        share = numbers.share;
        tile = numbers.tile;
        xGlobal.SetGlobalBuffer((__gm__ float*)x);
        yGlobal.SetGlobalBuffer((__gm__ float*)y);
        pipe->InitBuffer(x_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(resultQueue, 2, Bytes<float>(tile));
    }

    __aicore__ inline void Process() {
        const int64_t begin = static_cast<int64_t>(GetBlockIdx()) * share;
        const int64_t count_ = Least<int64_t>(share, total - begin);
        for (int64_t offset = 0; offset < count_; offset += tile) {
            const int64_t length = Least<int64_t>(tile, count_ - offset);
            CopyIn(begin, offset, length);
            Compute(length);
            CopyOut(begin, offset, length);
        }
    }

  private:
    __aicore__ inline void CopyIn(int64_t begin, int64_t offset, int64_t length) {
        LocalTensor<float> x_tile = x_tileQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(x_tile, xGlobal[begin + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        x_tileQueue.EnQue(x_tile);
    }

    __aicore__ inline void Compute(int64_t length) {
        const uint32_t count = static_cast<uint32_t>(length);
        LocalTensor<float> x_tile = x_tileQueue.DeQue<float>();
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        Abs(result, x_tile, count);
        Adds(result, result, 1.0f, count);
        Div(result, x_tile, result, count);
        resultQueue.EnQue(result);
        x_tileQueue.FreeTensor(x_tile);
    }

    __aicore__ inline void CopyOut(int64_t begin, int64_t offset, int64_t length) {
        LocalTensor<float> result = resultQueue.DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGlobal[begin + offset], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<float> xGlobal;
    GlobalTensor<float> yGlobal;
    TQue<TPosition::VECIN, 1> x_tileQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    int64_t total;
    int64_t share;
    int64_t tile;
};

extern "C" __global__ __aicore__ void craft_softsign(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftSoftsign op;
    op.Init(&pipe, x, y, numbers);
    op.Process();
}
