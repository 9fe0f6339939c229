// SwiGluGrad: da = y_grad * b * p * (1 + a * (1 - p)), db = y_grad * a * p with p = sigmoid(a).
//
// Along the axis that was cut, a and b follow each other: runs of m elements, a and b in turn.
//
// Lowered from a tile program.

#include "kernel_operator.h"

using namespace AscendC;

namespace {
template <typename T>
__aicore__ inline T Least(T a, T b) {
    return a < b ? a : b;
}

__aicore__ inline int64_t RoundUp(int64_t a, int64_t b) {
    return (a + b - 1) / b * b;
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

// x as floats: x itself, or a wider copy of it in y.
template <typename T>
__aicore__ inline LocalTensor<float> Widened(const LocalTensor<float>& y, const LocalTensor<T>& x, uint32_t count) {
    if constexpr (std::is_same<T, float>::value) {
        return x;
    } else {
        Cast(y, x, RoundMode::CAST_NONE, count);
        return y;
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
class KernelSwiGluGrad {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR y_grad, GM_ADDR x, GM_ADDR x_grad,
        const SwiGluGradTilingData& numbers) {
        dim = numbers.dim;
        n = numbers.n;
        m = numbers.m;
        items = numbers.items;
        chunks = numbers.chunks;
        share = numbers.share;
        width = numbers.width;
        most = numbers.most;
        y_gradGlobal.SetGlobalBuffer((__gm__ T*)y_grad);
        xGlobal.SetGlobalBuffer((__gm__ T*)x);
        x_gradGlobal.SetGlobalBuffer((__gm__ T*)x_grad);
        pipe->InitBuffer(dyQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(aQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(bQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(daQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(dbQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(wideBuffer, Bytes<float>(most * RoundUp(width, 16)));
        pipe->InitBuffer(pBuffer, Bytes<float>(most * RoundUp(width, 16)));
        pipe->InitBuffer(gradientBuffer, Bytes<float>(most * RoundUp(width, 16)));
        pipe->InitBuffer(temporary0Buffer, Bytes<float>(most * RoundUp(width, 16)));
        pipe->InitBuffer(temporary1Buffer, Bytes<float>(most * RoundUp(width, 16)));
    }

    __aicore__ inline void Process() {
        const int64_t begin = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t item = begin; item < Least<int64_t>(begin + share, items); ++item) {
            const int64_t first = item / chunks * most;
            const int64_t c = item % chunks * width;
            const int64_t rows_ = Least<int64_t>(most, n - first);
            const int64_t cols_ = Least<int64_t>(width, m - c);
            CopyIn(first, c, rows_, cols_);
            Compute(rows_, cols_);
            CopyOut(first, c, rows_, cols_);
        }
    }

  private:
    __aicore__ inline void CopyIn(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> dy = dyQueue.template AllocTensor<T>();
        LocalTensor<T> a = aQueue.template AllocTensor<T>();
        LocalTensor<T> b = bQueue.template AllocTensor<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((m - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(dy, y_gradGlobal[first * m + c], copy, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((2 * m - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(a, xGlobal[first * 2 * m + c], copy2, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        const DataCopyExtParams copy3{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((2 * m - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(b, xGlobal[first * 2 * m + m + c], copy3, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        dyQueue.EnQue(dy);
        aQueue.EnQue(a);
        bQueue.EnQue(b);
    }

    __aicore__ inline void Compute(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<T> a = aQueue.template DeQue<T>();
        LocalTensor<T> dy = dyQueue.template DeQue<T>();
        LocalTensor<float> wide = wideBuffer.template Get<float>();
        LocalTensor<float> gradient = gradientBuffer.template Get<float>();
        LocalTensor<float> p = pBuffer.template Get<float>();
        LocalTensor<T> b = bQueue.template DeQue<T>();
        LocalTensor<T> db = dbQueue.template AllocTensor<T>();
        LocalTensor<T> da = daQueue.template AllocTensor<T>();
        LocalTensor<float> temporary0 = temporary0Buffer.template Get<float>();
        Widen(wide, a, count);
        Widen(gradient, dy, count);
        Muls(p, wide, -1.0f, count);
        Exp(p, p, count);
        Adds(p, p, 1.0f, count);
        Duplicate(temporary0, 1.0f, count);
        Div(p, temporary0, p, count);
        LocalTensor<float> dbWide = WideResult(temporary0Buffer.template Get<float>(), db);
        Mul(dbWide, gradient, wide, count);
        Mul(dbWide, dbWide, p, count);
        Narrowed(db, dbWide, count);
        LocalTensor<float> daWide = WideResult(temporary0Buffer.template Get<float>(), da);
        Muls(daWide, p, -1.0f, count);
        Adds(daWide, daWide, 1.0f, count);
        Mul(daWide, daWide, wide, count);
        Adds(daWide, daWide, 1.0f, count);
        Mul(daWide, daWide, p, count);
        Mul(daWide, daWide, gradient, count);
        LocalTensor<float> bWide = Widened(temporary1Buffer.template Get<float>(), b, count);
        Mul(daWide, daWide, bWide, count);
        Narrowed(da, daWide, count);
        dbQueue.EnQue(db);
        daQueue.EnQue(da);
        aQueue.FreeTensor(a);
        dyQueue.FreeTensor(dy);
        bQueue.FreeTensor(b);
    }

    __aicore__ inline void CopyOut(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> da = daQueue.template DeQue<T>();
        LocalTensor<T> db = dbQueue.template DeQue<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((RoundUp(cols_, 16) * sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32),
                static_cast<uint32_t>((2 * m - cols_) * sizeof(T)), 0};
        DataCopyPad(x_gradGlobal[first * 2 * m + c], da, copy);
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((RoundUp(cols_, 16) * sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32),
                static_cast<uint32_t>((2 * m - cols_) * sizeof(T)), 0};
        DataCopyPad(x_gradGlobal[first * 2 * m + m + c], db, copy2);
        daQueue.FreeTensor(da);
        dbQueue.FreeTensor(db);
    }

    GlobalTensor<T> y_gradGlobal;
    GlobalTensor<T> xGlobal;
    GlobalTensor<T> x_gradGlobal;
    TQue<TPosition::VECIN, 1> dyQueue;
    TQue<TPosition::VECIN, 1> aQueue;
    TQue<TPosition::VECIN, 1> bQueue;
    TQue<TPosition::VECOUT, 1> daQueue;
    TQue<TPosition::VECOUT, 1> dbQueue;
    TBuf<TPosition::VECCALC> wideBuffer;
    TBuf<TPosition::VECCALC> pBuffer;
    TBuf<TPosition::VECCALC> gradientBuffer;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    int64_t dim;
    int64_t n;
    int64_t m;
    int64_t items;
    int64_t chunks;
    int64_t share;
    int64_t width;
    int64_t most;
};

extern "C" __global__ __aicore__ void swi_glu_grad(GM_ADDR y_grad, GM_ADDR x, GM_ADDR x_grad, GM_ADDR workspace,
    GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelSwiGluGrad<DTYPE_Y_GRAD> op;
    op.Init(&pipe, y_grad, x, x_grad, numbers);
    op.Process();
}
