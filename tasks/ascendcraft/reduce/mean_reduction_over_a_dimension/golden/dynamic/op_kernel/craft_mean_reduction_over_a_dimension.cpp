// CraftMeanReductionOverADimension: the mean along an axis.
//
// Neighbours along the axis are a row where the axis is the last one, and a column of a tile where it is not.
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

// One pipe waits for another.
template <HardEvent EVENT>
__aicore__ inline void Flag() {
    const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(EVENT));
    SetFlag<EVENT>(id);
    WaitFlag<EVENT>(id);
}

// One sum per row. Rows of at most a repeat are reduced all at once; longer ones are folded to one before.
__aicore__ inline void RowSum(const LocalTensor<float>& y, const LocalTensor<float>& x, const LocalTensor<float>& work,
                              uint32_t rows, uint32_t cols, uint32_t pitch) {
    constexpr uint32_t REPEAT = 64, MOST = 248, GROUP = 16;
    if (cols > REPEAT && (rows == 1 || pitch > 255 * 8 || cols > 256 * rows)) {
        for (uint32_t row = 0; row < rows; ++row) {
            ReduceSum(y[row], x[row * pitch], work, cols);
        }
        return;
    }
    if (cols > REPEAT) {
        const uint8_t next = static_cast<uint8_t>(pitch / 8);
        for (uint32_t row = 0; row < rows; row += GROUP) {
            const uint32_t at = row * pitch, part = Least(rows - row, GROUP);
            Adds(work, x[at], 0.0f, REPEAT, part, UnaryRepeatParams(1, 1, 8, next));
            for (uint32_t col = REPEAT; col < cols; col += REPEAT) {
                const uint32_t lanes = Least(cols - col, REPEAT);
                Add(work, work, x[at + col], lanes, part, BinaryRepeatParams(1, 1, 1, 8, 8, next));
            }
            WholeReduceSum(y[row], work, REPEAT, part, 1, 1, 8);
        }
        return;
    }
    for (uint32_t row = 0; row < rows; row += MOST) {
        WholeReduceSum(y[row], x[row * pitch], cols, Least(rows - row, MOST), 1, 1, pitch / 8);
    }
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
}  // namespace

class KernelCraftMeanReductionOverADimension {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y,
        const CraftMeanReductionOverADimensionTilingData& numbers) {
        dim = numbers.dim;
        items = numbers.items;
        share = numbers.share;
        n = numbers.n;
        inner = numbers.inner;
        strips = numbers.strips;
        width = numbers.width;
        run = numbers.run;
        tall = numbers.tall;
        xGlobal.SetGlobalBuffer((__gm__ float*)x);
        yGlobal.SetGlobalBuffer((__gm__ float*)y);
        pipe->InitBuffer(x_runQueue, 2, Bytes<float>(run));
        pipe->InitBuffer(oneBuffer, Bytes<float>(1));
        pipe->InitBuffer(x_tileQueue, 2, Bytes<float>(tall * RoundUp(width, 8)));
        pipe->InitBuffer(foundBuffer, Bytes<float>(width));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Bytes<float>(1), Bytes<float>(width)));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(4096u, Bytes<float>(tall * RoundUp(width, 8))));
    }

    __aicore__ inline void Process() {
        const int64_t first = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t item = first; item < Least<int64_t>(first + share, items); ++item) {
            int64_t at = 0;
            int64_t cols_ = 0;
            int64_t length = 0;
            int64_t rows_ = 0;
            if (inner == 1) {
                StartRow();
                for (int64_t offset = 0; offset < n; offset += run) {
                    length = Least<int64_t>(run, n - offset);
                    ReadRow(item, offset, length);
                    ReduceRow(length);
                }
                FinishRow();
                StoreRow(item);
            } else {
                at = item % strips * width;
                cols_ = Least<int64_t>(width, inner - at);
                StartColumns(cols_);
                for (int64_t k = 0; k < n; k += tall) {
                    rows_ = Least<int64_t>(tall, n - k);
                    ReadColumns(item, k, at, rows_, cols_);
                    ReduceColumns(rows_, cols_);
                }
                FinishColumns(cols_);
                StoreColumns(item, at, cols_);
            }
        }
    }

  private:
    __aicore__ inline void StartRow() {
        const uint32_t rows = 1;
        LocalTensor<float> one = oneBuffer.Get<float>();
        Duplicate(one, 0.0f, rows);
    }

    __aicore__ inline void ReadRow(int64_t item, int64_t offset, int64_t length) {
        LocalTensor<float> x_run = x_runQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(x_run, xGlobal[item * n + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        x_runQueue.EnQue(x_run);
    }

    __aicore__ inline void ReduceRow(int64_t length) {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(length);
        const uint32_t pitch = cols;
        LocalTensor<float> one = oneBuffer.Get<float>();
        LocalTensor<float> x_run = x_runQueue.DeQue<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        RowSum(temporary0, x_run, temporary1, rows, cols, pitch);
        Add(one, one, temporary0, rows);
        x_runQueue.FreeTensor(x_run);
    }

    __aicore__ inline void FinishRow() {
        const uint32_t rows = 1;
        LocalTensor<float> one = oneBuffer.Get<float>();
        Muls(one, one, 1.0f / (static_cast<float>(n)), rows);
    }

    __aicore__ inline void StoreRow(int64_t item) {
        Flag<HardEvent::V_MTE3>();
        Flag<HardEvent::MTE2_MTE3>();
        LocalTensor<float> one = oneBuffer.Get<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(1 * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGlobal[item], one, copy);
        Flag<HardEvent::MTE3_V>();
    }

    __aicore__ inline void StartColumns(int64_t cols_) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<float> found = foundBuffer.Get<float>();
        Duplicate(found, 0.0f, count);
    }

    __aicore__ inline void ReadColumns(int64_t item, int64_t k, int64_t at, int64_t rows_, int64_t cols_) {
        LocalTensor<float> x_tile = x_tileQueue.AllocTensor<float>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(float)),
            static_cast<uint32_t>((inner - cols_) * sizeof(float)), 0, 0};
        DataCopyPad(x_tile, xGlobal[(item / strips * n + k) * inner + at], copy, DataCopyPadExtParams<float>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(float), 32) - cols_ * sizeof(float)) / sizeof(float)), 0});
        x_tileQueue.EnQue(x_tile);
    }

    __aicore__ inline void ReduceColumns(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 8));
        LocalTensor<float> found = foundBuffer.Get<float>();
        LocalTensor<float> x_tile = x_tileQueue.DeQue<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        ColSum(temporary0, x_tile, temporary1, rows, cols, pitch);
        Add(found, found, temporary0, cols);
        x_tileQueue.FreeTensor(x_tile);
    }

    __aicore__ inline void FinishColumns(int64_t cols_) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<float> found = foundBuffer.Get<float>();
        Muls(found, found, 1.0f / (static_cast<float>(n)), count);
    }

    __aicore__ inline void StoreColumns(int64_t item, int64_t at, int64_t cols_) {
        Flag<HardEvent::V_MTE3>();
        Flag<HardEvent::MTE2_MTE3>();
        LocalTensor<float> found = foundBuffer.Get<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(cols_ * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGlobal[item / strips * inner + at], found, copy);
        Flag<HardEvent::MTE3_V>();
    }

    GlobalTensor<float> xGlobal;
    GlobalTensor<float> yGlobal;
    TQue<TPosition::VECIN, 1> x_runQueue;
    TBuf<TPosition::VECCALC> oneBuffer;
    TQue<TPosition::VECIN, 1> x_tileQueue;
    TBuf<TPosition::VECCALC> foundBuffer;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    int64_t dim;
    int64_t items;
    int64_t share;
    int64_t n;
    int64_t inner;
    int64_t strips;
    int64_t width;
    int64_t run;
    int64_t tall;
};

extern "C" __global__ __aicore__ void craft_mean_reduction_over_a_dimension(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
    GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftMeanReductionOverADimension op;
    op.Init(&pipe, x, y, numbers);
    op.Process();
}
