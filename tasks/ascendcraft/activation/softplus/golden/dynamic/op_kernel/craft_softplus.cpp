// CraftSoftplus: y = ln(1 + exp(x)), written so that nothing overflows.
//
// That is max(x, 0) + ln(1 + t) with t = exp(-|x|). For small t the logarithm is corrected by t / ((1 + t) - 1).
//
// Lowered from a tile program.

#include "kernel_operator.h"

using namespace AscendC;

namespace {
template <typename T>
__aicore__ inline T Least(T a, T b) {
    return a < b ? a : b;
}

template <typename T>
__aicore__ inline T Greatest(T a, T b) {
    return a > b ? a : b;
}

__aicore__ inline int64_t CeilDiv(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

__aicore__ inline int64_t RoundUp(int64_t a, int64_t b) {
    return (a + b - 1) / b * b;
}

// Bytes of so many elements, in whole repeats of the vector unit.
template <typename T>
__aicore__ inline uint32_t Bytes(int64_t elements) {
    return static_cast<uint32_t>((elements * sizeof(T) + 255) / 256 * 256);
}
}  // namespace

class KernelCraftSoftplus {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const CraftSoftplusTilingData& numbers) {
        total = numbers.total;
        share = numbers.share;
        tile = numbers.tile;
        xGlobal.SetGlobalBuffer((__gm__ float*)x);
        yGlobal.SetGlobalBuffer((__gm__ float*)y);
        pipe->InitBuffer(x_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(resultQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(smallBuffer, Bytes<float>(tile));
        pipe->InitBuffer(sumBuffer, Bytes<float>(tile));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Bytes<float>(tile), Bytes<uint8_t>(CeilDiv(tile, 8))));
        pipe->InitBuffer(temporary1Buffer, Bytes<float>(tile));
        pipe->InitBuffer(temporary2Buffer, Bytes<float>(tile));
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
        LocalTensor<float> small = smallBuffer.Get<float>();
        LocalTensor<float> sum = sumBuffer.Get<float>();
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<uint8_t> temporary0Mask = temporary0Buffer.Get<uint8_t>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.Get<float>();
        Abs(small, x_tile, count);
        Muls(small, small, -1.0f, count);
        Exp(small, small, count);
        Adds(sum, small, 1.0f, count);
        CompareScalar(temporary0Mask, sum, 1.0f, CMPMODE::EQ, RoundUp(count, 64));
        Ln(temporary1, sum, count);
        Mul(temporary1, temporary1, small, count);
        Adds(temporary2, sum, -1.0f, count);
        Maxs(temporary2, temporary2, 1e-30f, count);
        Div(temporary1, temporary1, temporary2, count);
        Select(result, temporary0Mask, small, temporary1, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
        Maxs(temporary0, x_tile, 0.0f, count);
        Add(result, result, temporary0, count);
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
    TBuf<TPosition::VECCALC> smallBuffer;
    TBuf<TPosition::VECCALC> sumBuffer;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    int64_t total;
    int64_t share;
    int64_t tile;
};

extern "C" __global__ __aicore__ void craft_softplus(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftSoftplus op;
    op.Init(&pipe, x, y, numbers);
    op.Process();
}
