// MulSigmoid: s * x2 * t3 with s = p where p < t2, else 2 * p, and p = sigmoid(t1 * x1). x2 is the same for every row.
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

class KernelMulSigmoid {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x1, GM_ADDR x2, GM_ADDR out, const MulSigmoidTilingData& numbers) {
        t1 = numbers.t1;
        t2 = numbers.t2;
        t3 = numbers.t3;
        items = numbers.items;
        chunks = numbers.chunks;
        n = numbers.n;
        share = numbers.share;
        tile = numbers.tile;
        x1Global.SetGlobalBuffer((__gm__ half*)x1);
        x2Global.SetGlobalBuffer((__gm__ half*)x2);
        outGlobal.SetGlobalBuffer((__gm__ half*)out);
        pipe->InitBuffer(argumentQueue, 2, Bytes<half>(tile));
        pipe->InitBuffer(factorQueue, 2, Bytes<half>(tile));
        pipe->InitBuffer(pBuffer, Bytes<float>(tile));
        pipe->InitBuffer(resultQueue, 2, Bytes<half>(tile));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Bytes<float>(tile), Bytes<uint8_t>(CeilDiv(tile, 8))));
        pipe->InitBuffer(temporary1Buffer, Bytes<float>(tile));
    }

    __aicore__ inline void Process() {
        const int64_t first = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t item = first; item < Least<int64_t>(first + share, items); ++item) {
            const int64_t offset = item % chunks * tile;
            const int64_t length = Least<int64_t>(tile, n - offset);
            CopyIn(item, offset, length);
            Compute(length);
            CopyOut(item, offset, length);
        }
    }

  private:
    __aicore__ inline void CopyIn(int64_t item, int64_t offset, int64_t length) {
        LocalTensor<half> argument = argumentQueue.AllocTensor<half>();
        LocalTensor<half> factor = factorQueue.AllocTensor<half>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(half)), 0, 0, 0};
        DataCopyPad(argument, x1Global[item / chunks * n + offset], copy, DataCopyPadExtParams<half>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(length * sizeof(half)), 0, 0, 0};
        DataCopyPad(factor, x2Global[offset], copy2, DataCopyPadExtParams<half>{false, 0, 0, 0});
        argumentQueue.EnQue(argument);
        factorQueue.EnQue(factor);
    }

    __aicore__ inline void Compute(int64_t length) {
        const uint32_t count = static_cast<uint32_t>(length);
        LocalTensor<half> argument = argumentQueue.DeQue<half>();
        LocalTensor<float> p = pBuffer.Get<float>();
        LocalTensor<half> factor = factorQueue.DeQue<half>();
        LocalTensor<half> result = resultQueue.AllocTensor<half>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<uint8_t> temporary0Mask = temporary0Buffer.Get<uint8_t>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        Cast(p, argument, RoundMode::CAST_NONE, count);
        Muls(p, p, -t1, count);
        Exp(p, p, count);
        Adds(p, p, 1.0f, count);
        Duplicate(temporary0, 1.0f, count);
        Div(p, temporary0, p, count);
        CompareScalar(temporary0Mask, p, t2, CMPMODE::LT, RoundUp(count, 64));
        Muls(temporary1, p, 2.0f, count);
        Select(p, temporary0Mask, p, temporary1, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
        Cast(temporary0, factor, RoundMode::CAST_NONE, count);
        Mul(temporary0, temporary0, p, count);
        Muls(temporary0, temporary0, t3, count);
        Cast(result, temporary0, RoundMode::CAST_RINT, count);
        resultQueue.EnQue(result);
        argumentQueue.FreeTensor(argument);
        factorQueue.FreeTensor(factor);
    }

    __aicore__ inline void CopyOut(int64_t item, int64_t offset, int64_t length) {
        LocalTensor<half> result = resultQueue.DeQue<half>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(half)), 0, 0, 0};
        DataCopyPad(outGlobal[item / chunks * n + offset], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<half> x1Global;
    GlobalTensor<half> x2Global;
    GlobalTensor<half> outGlobal;
    TQue<TPosition::VECIN, 1> argumentQueue;
    TQue<TPosition::VECIN, 1> factorQueue;
    TBuf<TPosition::VECCALC> pBuffer;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    float t1;
    float t2;
    float t3;
    int64_t items;
    int64_t chunks;
    int64_t n;
    int64_t share;
    int64_t tile;
};

extern "C" __global__ __aicore__ void mul_sigmoid(GM_ADDR x1, GM_ADDR x2, GM_ADDR out, GM_ADDR workspace,
    GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelMulSigmoid op;
    op.Init(&pipe, x1, x2, out, numbers);
    op.Process();
}
