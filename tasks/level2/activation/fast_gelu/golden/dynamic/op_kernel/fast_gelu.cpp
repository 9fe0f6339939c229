// FastGelu: x / (1 + exp(-1.702 * x)).
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

// y = x in float.
template <typename T>
__aicore__ inline void Widen(const LocalTensor<float>& y, const LocalTensor<T>& x, uint32_t count) {
    if constexpr (std::is_same<T, float>::value) {
        Adds(y, x, 0.0f, count);
    } else {
        Cast(y, x, RoundMode::CAST_NONE, count);
    }
}

// Where to compute what will be y: in y itself, or in `wide`, from which Narrowed rounds it.
template <typename T>
__aicore__ inline LocalTensor<float> WideResult(const LocalTensor<float>& wide, const LocalTensor<T>& y) {
    if constexpr (std::is_same<T, float>::value) {
        return y;
    } else {
        return wide;
    }
}

template <typename T>
__aicore__ inline void Narrowed(const LocalTensor<T>& y, const LocalTensor<float>& x, uint32_t count) {
    if constexpr (!std::is_same<T, float>::value) {
        Cast(y, x, RoundMode::CAST_RINT, count);
    }
}
}  // namespace

template <typename T>
class KernelFastGelu {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const FastGeluTilingData& numbers) {
        total = numbers.total;
        share = numbers.share;
        tile = numbers.tile;
        xGlobal.SetGlobalBuffer((__gm__ T*)x);
        yGlobal.SetGlobalBuffer((__gm__ T*)y);
        pipe->InitBuffer(x_givenQueue, 2, Bytes<T>(tile));
        pipe->InitBuffer(resultQueue, 2, Bytes<T>(tile));
        pipe->InitBuffer(wideBuffer, Bytes<float>(tile));
        pipe->InitBuffer(temporary0Buffer, Bytes<float>(tile));
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
        LocalTensor<T> x_given = x_givenQueue.template AllocTensor<T>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        DataCopyPad(x_given, xGlobal[begin + offset], copy, DataCopyPadExtParams<T>{false, 0, 0, 0});
        x_givenQueue.EnQue(x_given);
    }

    __aicore__ inline void Compute(int64_t length) {
        const uint32_t count = static_cast<uint32_t>(length);
        LocalTensor<T> x_given = x_givenQueue.template DeQue<T>();
        LocalTensor<float> wide = wideBuffer.template Get<float>();
        LocalTensor<T> result = resultQueue.template AllocTensor<T>();
        Widen(wide, x_given, count);
        LocalTensor<float> resultWide = WideResult(temporary0Buffer.template Get<float>(), result);
        Muls(resultWide, wide, -1.702f, count);
        Exp(resultWide, resultWide, count);
        Adds(resultWide, resultWide, 1.0f, count);
        Div(resultWide, wide, resultWide, count);
        Narrowed(result, resultWide, count);
        resultQueue.EnQue(result);
        x_givenQueue.FreeTensor(x_given);
    }

    __aicore__ inline void CopyOut(int64_t begin, int64_t offset, int64_t length) {
        LocalTensor<T> result = resultQueue.template DeQue<T>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGlobal[begin + offset], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<T> xGlobal;
    GlobalTensor<T> yGlobal;
    TQue<TPosition::VECIN, 1> x_givenQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> wideBuffer;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    int64_t total;
    int64_t share;
    int64_t tile;
};

extern "C" __global__ __aicore__ void fast_gelu(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelFastGelu<DTYPE_X> op;
    op.Init(&pipe, x, y, numbers);
    op.Process();
}
