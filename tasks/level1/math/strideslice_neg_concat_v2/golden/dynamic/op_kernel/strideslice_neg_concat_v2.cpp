// StridesliceNegConcatV2: the second half of the last axis negated.
//
// Rows are multiplied by a row of signs. Those that fit a tile are taken many at a time, longer ones piece by piece.
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

// y = x * row, the same row for every row.
__aicore__ inline void MulRow(const LocalTensor<float>& y, const LocalTensor<float>& x, const LocalTensor<float>& row,
                              uint32_t rows, uint32_t cols, uint32_t pitch) {
    constexpr uint32_t REPEAT = 64, MOST = 248;
    if (pitch > 255 * 8 || rows <= cols / REPEAT) {
        for (uint32_t at = 0; at < rows * pitch; at += pitch) {
            Mul(y[at], x[at], row, cols);
        }
        return;
    }
    const uint8_t next = static_cast<uint8_t>(pitch / 8);
    for (uint32_t first = 0; first < rows; first += MOST) {
        for (uint32_t col = 0; col < cols; col += REPEAT) {
            const uint32_t at = first * pitch + col;
            Mul(y[at], x[at], row[col], Least(cols - col, REPEAT), Least(rows - first, MOST), BinaryRepeatParams(1,
                1, 1, next, next, 0));
        }
    }
}
}  // namespace

template <typename T>
class KernelStridesliceNegConcatV2 {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR input, GM_ADDR output,
        const StridesliceNegConcatV2TilingData& numbers) {
        n = numbers.n;
        w = numbers.w;
        share = numbers.share;
        width = numbers.width;
        most = numbers.most;
        inputGlobal.SetGlobalBuffer((__gm__ T*)input);
        outputGlobal.SetGlobalBuffer((__gm__ T*)output);
        pipe->InitBuffer(givenQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(signsBuffer, Bytes<float>(width));
        pipe->InitBuffer(resultQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(Bytes<float>(most * RoundUp(width,
            16)), Bytes<int32_t>(width)), Bytes<uint8_t>(CeilDiv(width, 8))));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(Bytes<float>(most * RoundUp(width, 16)),
            Bytes<float>(width)));
    }

    __aicore__ inline void Process() {
        const int64_t begin = static_cast<int64_t>(GetBlockIdx()) * share;
        const int64_t end = Least<int64_t>(begin + share, n);
        for (int64_t c = 0; c < w; c += width) {
            const int64_t cols_ = Least<int64_t>(width, w - c);
            ChooseSigns(cols_, c);
            for (int64_t first = begin; first < end; first += most) {
                const int64_t rows_ = Least<int64_t>(most, end - first);
                CopyIn(first, c, rows_, cols_);
                Negate(rows_, cols_);
                CopyOut(first, c, rows_, cols_);
            }
        }
    }

  private:
    __aicore__ inline void ChooseSigns(int64_t cols_, int64_t c) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<float> signs = signsBuffer.template Get<float>();
        LocalTensor<int32_t> temporary0Int = temporary0Buffer.template Get<int32_t>();
        LocalTensor<uint8_t> temporary0Mask = temporary0Buffer.template Get<uint8_t>();
        LocalTensor<float> temporary1 = temporary1Buffer.template Get<float>();
        CreateVecIndex(temporary0Int, static_cast<int32_t>(0), count);
        Cast(temporary1, temporary0Int, RoundMode::CAST_RINT, count);
        CompareScalar(temporary0Mask, temporary1, static_cast<float>(w / 2 - c), CMPMODE::LT, RoundUp(count, 64));
        Duplicate(temporary1, 1.0f, count);
        Select(signs, temporary0Mask, temporary1, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    }

    __aicore__ inline void CopyIn(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> given = givenQueue.template AllocTensor<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((w - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(given, inputGlobal[first * w + c], copy, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        givenQueue.EnQue(given);
    }

    __aicore__ inline void Negate(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<T> given = givenQueue.template DeQue<T>();
        LocalTensor<float> signs = signsBuffer.template Get<float>();
        LocalTensor<T> result = resultQueue.template AllocTensor<T>();
        LocalTensor<float> resultWide = WideResult(temporary0Buffer.template Get<float>(), result);
        LocalTensor<float> givenWide = Widened(temporary1Buffer.template Get<float>(), given, count);
        MulRow(resultWide, givenWide, signs, rows, cols, pitch);
        Narrowed(result, resultWide, count);
        resultQueue.EnQue(result);
        givenQueue.FreeTensor(given);
    }

    __aicore__ inline void CopyOut(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> result = resultQueue.template DeQue<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((RoundUp(cols_, 16) * sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32),
                static_cast<uint32_t>((w - cols_) * sizeof(T)), 0};
        DataCopyPad(outputGlobal[first * w + c], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<T> inputGlobal;
    GlobalTensor<T> outputGlobal;
    TQue<TPosition::VECIN, 1> givenQueue;
    TBuf<TPosition::VECCALC> signsBuffer;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    int64_t n;
    int64_t w;
    int64_t share;
    int64_t width;
    int64_t most;
};

extern "C" __global__ __aicore__ void strideslice_neg_concat_v2(GM_ADDR input, GM_ADDR output, GM_ADDR workspace,
    GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelStridesliceNegConcatV2<DTYPE_INPUT> op;
    op.Init(&pipe, input, output, numbers);
    op.Process();
}
