// CraftRmsNorm: x / sqrt(mean(x^2) + eps) over the channels.
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

__aicore__ inline int64_t RoundUp(int64_t a, int64_t b) {
    return (a + b - 1) / b * b;
}

// Bytes of so many elements, in whole repeats of the vector unit.
template <typename T>
__aicore__ inline uint32_t Bytes(int64_t elements) {
    return static_cast<uint32_t>((elements * sizeof(T) + 255) / 256 * 256);
}

// One sum per column: the lower half of the rows is folded onto the upper one until one row is left.
__aicore__ inline void ColSum(const LocalTensor<float>& y, const LocalTensor<float>& x,
                              const LocalTensor<float>& work, uint32_t rows, uint32_t cols, uint32_t pitch) {
    if (rows == 1) {
        Adds(y, x, 0.0f, cols);
        return;
    }
    uint32_t left = rows / 2;
    Add(work, x, x[left * pitch], left * pitch);
    if (rows % 2 == 1) {
        Add(work, work, x[(rows - 1) * pitch], pitch);
    }
    while (left > 1) {
        const uint32_t half = left / 2;
        Add(work, work, work[half * pitch], half * pitch);
        if (left % 2 == 1) {
            Add(work, work, work[(left - 1) * pitch], pitch);
        }
        left = half;
    }
    Adds(y, work, 0.0f, cols);
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

class KernelCraftRmsNorm {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const CraftRmsNormTilingData& numbers) {
        eps = numbers.eps;
        items = numbers.items;
        share = numbers.share;
        channels = numbers.channels;
        area = numbers.area;
        strips = numbers.strips;
        width = numbers.width;
        tall = numbers.tall;
        xGlobal.SetGlobalBuffer((__gm__ float*)x);
        yGlobal.SetGlobalBuffer((__gm__ float*)y);
        pipe->InitBuffer(x_tileQueue, 2, Bytes<float>(tall * RoundUp(width, 8)));
        pipe->InitBuffer(againQueue, 2, Bytes<float>(tall * RoundUp(width, 8)));
        pipe->InitBuffer(resultQueue, 2, Bytes<float>(tall * RoundUp(width, 8)));
        pipe->InitBuffer(factorsBuffer, Bytes<float>(width));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Bytes<float>(tall * RoundUp(width, 8)),
            Bytes<float>(width)));
        pipe->InitBuffer(temporary1Buffer, Bytes<float>(width));
        pipe->InitBuffer(temporary2Buffer, Bytes<float>(tall * RoundUp(width, 8)));
    }

    __aicore__ inline void Process() {
        const int64_t first = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t item = first; item < Least<int64_t>(first + share, items); ++item) {
            const int64_t at = item % strips * width;
            const int64_t cols_ = Least<int64_t>(width, area - at);
            const int64_t start = item / strips * channels * area + at;
            StartStrip(cols_);
            int64_t rows_ = 0;
            for (int64_t c = 0; c < channels; c += tall) {
                rows_ = Least<int64_t>(tall, channels - c);
                Read(start, c, rows_, cols_);
                AddStage(rows_, cols_);
            }
            EndStrip(cols_);
            for (int64_t c = 0; c < channels; c += tall) {
                rows_ = Least<int64_t>(tall, channels - c);
                ReadAgain(start, c, rows_, cols_);
                Scale(rows_, cols_);
                CopyOut(start, c, rows_, cols_);
            }
        }
    }

  private:
    __aicore__ inline void StartStrip(int64_t cols_) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<float> factors = factorsBuffer.Get<float>();
        Duplicate(factors, 0.0f, count);
    }

    __aicore__ inline void Read(int64_t start, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<float> x_tile = x_tileQueue.AllocTensor<float>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(float)),
            static_cast<uint32_t>((area - cols_) * sizeof(float)), 0, 0};
        DataCopyPad(x_tile, xGlobal[start + c * area], copy, DataCopyPadExtParams<float>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(float), 32) - cols_ * sizeof(float)) / sizeof(float)), 0});
        x_tileQueue.EnQue(x_tile);
    }

    __aicore__ inline void AddStage(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 8));
        const uint32_t count = rows * pitch;
        LocalTensor<float> factors = factorsBuffer.Get<float>();
        LocalTensor<float> x_tile = x_tileQueue.DeQue<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.Get<float>();
        Mul(temporary0, x_tile, x_tile, count);
        ColSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(factors, factors, temporary1, cols);
        x_tileQueue.FreeTensor(x_tile);
    }

    __aicore__ inline void EndStrip(int64_t cols_) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<float> factors = factorsBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        Muls(factors, factors, 1.0f / (static_cast<float>(channels)), count);
        Adds(factors, factors, eps, count);
        Sqrt(factors, factors, count);
        Duplicate(temporary0, 1.0f, count);
        Div(factors, temporary0, factors, count);
    }

    __aicore__ inline void ReadAgain(int64_t start, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<float> again = againQueue.AllocTensor<float>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(float)),
            static_cast<uint32_t>((area - cols_) * sizeof(float)), 0, 0};
        DataCopyPad(again, xGlobal[start + c * area], copy, DataCopyPadExtParams<float>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(float), 32) - cols_ * sizeof(float)) / sizeof(float)), 0});
        againQueue.EnQue(again);
    }

    __aicore__ inline void Scale(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 8));
        LocalTensor<float> again = againQueue.DeQue<float>();
        LocalTensor<float> factors = factorsBuffer.Get<float>();
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        MulRow(result, again, factors, rows, cols, pitch);
        resultQueue.EnQue(result);
        againQueue.FreeTensor(again);
    }

    __aicore__ inline void CopyOut(int64_t start, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<float> result = resultQueue.DeQue<float>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(float)), 0,
            static_cast<uint32_t>((area - cols_) * sizeof(float)), 0};
        DataCopyPad(yGlobal[start + c * area], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<float> xGlobal;
    GlobalTensor<float> yGlobal;
    TQue<TPosition::VECIN, 1> x_tileQueue;
    TQue<TPosition::VECIN, 1> againQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> factorsBuffer;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    float eps;
    int64_t items;
    int64_t share;
    int64_t channels;
    int64_t area;
    int64_t strips;
    int64_t width;
    int64_t tall;
};

extern "C" __global__ __aicore__ void craft_rms_norm(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftRmsNorm op;
    op.Init(&pipe, x, y, numbers);
    op.Process();
}
