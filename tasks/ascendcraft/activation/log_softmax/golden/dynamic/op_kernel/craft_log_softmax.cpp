// CraftLogSoftmax: x - ln(sum(exp(x))) along an axis.
//
// Neighbours along the axis are a row where the axis is the last one, and a column of a tile where it is not. The
// largest
// element and the sum are found together: where a tile has a larger one, the sum so far is scaled.
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

// The largest of every row. Rows of at most a repeat are reduced all at once.
__aicore__ inline void RowMax(const LocalTensor<float>& y, const LocalTensor<float>& x, const LocalTensor<float>& work,
                              uint32_t rows, uint32_t cols, uint32_t pitch) {
    constexpr uint32_t REPEAT = 64, MOST = 248;
    if (cols > REPEAT) {
        for (uint32_t row = 0; row < rows; ++row) {
            ReduceMax(y[row], x[row * pitch], work, cols, false);
        }
        return;
    }
    for (uint32_t row = 0; row < rows; row += MOST) {
        WholeReduceMax(y[row], x[row * pitch], cols, Least(rows - row, MOST), 1, 1, pitch / 8,
                       ReduceOrder::ORDER_ONLY_VALUE);
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

// One largest per column: the lower half of the rows is folded onto the upper one until one row is left.
__aicore__ inline void ColMax(const LocalTensor<float>& y, const LocalTensor<float>& x,
                              const LocalTensor<float>& work, uint32_t rows, uint32_t cols, uint32_t pitch) {
    if (rows == 1) {
        Adds(y, x, 0.0f, cols);
        return;
    }
    uint32_t left = rows / 2;
    Max(work, x, x[left * pitch], left * pitch);
    if (rows % 2 == 1) {
        Max(work, work, x[(rows - 1) * pitch], pitch);
    }
    while (left > 1) {
        const uint32_t half = left / 2;
        Max(work, work, work[half * pitch], half * pitch);
        if (left % 2 == 1) {
            Max(work, work, work[(left - 1) * pitch], pitch);
        }
        left = half;
    }
    Adds(y, work, 0.0f, cols);
}

// y = x - column, where every row has one element of its own. `spread` holds 248 blocks.
__aicore__ inline void SubColumn(const LocalTensor<float>& y, const LocalTensor<float>& x,
                                 const LocalTensor<float>& column, const LocalTensor<float>& spread, uint32_t rows,
                                 uint32_t cols, uint32_t pitch) {
    constexpr uint32_t REPEAT = 64, MOST = 248;
    for (uint32_t first = 0; first < rows; first += MOST) {
        const uint32_t part = Least(rows - first, MOST);
        Brcb(spread, column[first], static_cast<uint8_t>((part + 7) / 8), {1, 8});
        if (part > 1 && pitch <= 255 * 8) {
            const uint8_t next = static_cast<uint8_t>(pitch / 8);
            for (uint32_t col = 0; col < cols; col += REPEAT) {
                const uint32_t at = first * pitch + col;
                Sub(y[at], x[at], spread, Least(cols - col, REPEAT), part, BinaryRepeatParams(1, 1, 0, next, next, 1));
            }
            continue;
        }
        for (uint32_t row = 0; row < part; ++row) {
            for (uint32_t col = 0; col < cols; col += MOST * REPEAT) {
                const uint32_t at = (first + row) * pitch + col;
                const uint32_t lanes = Least(cols - col, MOST * REPEAT);
                const uint32_t whole = lanes / REPEAT * REPEAT;
                if (whole > 0) {
                    Sub(y[at], x[at], spread[row * 8], REPEAT, whole / REPEAT, BinaryRepeatParams(1, 1, 0, 8, 8, 0));
                }
                if (whole < lanes) {
                    Sub(y[at + whole], x[at + whole], spread[row * 8], lanes - whole, 1, BinaryRepeatParams(1, 1, 0,
                        8, 8, 0));
                }
            }
        }
    }
}

// y = x - row, the same row for every row.
__aicore__ inline void SubRow(const LocalTensor<float>& y, const LocalTensor<float>& x, const LocalTensor<float>& row,
                              uint32_t rows, uint32_t cols, uint32_t pitch) {
    constexpr uint32_t REPEAT = 64, MOST = 248;
    if (pitch > 255 * 8 || rows <= cols / REPEAT) {
        for (uint32_t at = 0; at < rows * pitch; at += pitch) {
            Sub(y[at], x[at], row, cols);
        }
        return;
    }
    const uint8_t next = static_cast<uint8_t>(pitch / 8);
    for (uint32_t first = 0; first < rows; first += MOST) {
        for (uint32_t col = 0; col < cols; col += REPEAT) {
            const uint32_t at = first * pitch + col;
            Sub(y[at], x[at], row[col], Least(cols - col, REPEAT), Least(rows - first, MOST), BinaryRepeatParams(1,
                1, 1, next, next, 0));
        }
    }
}
}  // namespace

class KernelCraftLogSoftmax {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const CraftLogSoftmaxTilingData& numbers) {
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
        pipe->InitBuffer(run_againQueue, 1, Bytes<float>(run));
        pipe->InitBuffer(run_resultQueue, 2, Bytes<float>(run));
        pipe->InitBuffer(topBuffer, Bytes<float>(1));
        pipe->InitBuffer(higherBuffer, Bytes<float>(1));
        pipe->InitBuffer(totalBuffer, Bytes<float>(1));
        pipe->InitBuffer(x_tileQueue, 2, Bytes<float>(tall * RoundUp(width, 8)));
        pipe->InitBuffer(againQueue, 1, Bytes<float>(tall * RoundUp(width, 8)));
        pipe->InitBuffer(resultQueue, 2, Bytes<float>(tall * RoundUp(width, 8)));
        pipe->InitBuffer(topsBuffer, Bytes<float>(width));
        pipe->InitBuffer(highersBuffer, Bytes<float>(width));
        pipe->InitBuffer(totalsBuffer, Bytes<float>(width));
        pipe->InitBuffer(temporary0Buffer,
            Greatest<uint32_t>(Greatest<uint32_t>(Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(1)),
                Bytes<float>(run)), Bytes<float>(tall * RoundUp(width, 8))), Bytes<float>(width)));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(1)),
            Bytes<float>(width)));
        pipe->InitBuffer(temporary2Buffer, Greatest<uint32_t>(4096u, Bytes<float>(tall * RoundUp(width, 8))));
    }

    __aicore__ inline void Process() {
        const int64_t first = static_cast<int64_t>(GetBlockIdx()) * share;
        const int64_t last = Least<int64_t>(first + share, items);
        int64_t at = 0;
        int64_t cols_ = 0;
        int64_t length = 0;
        int64_t rows_ = 0;
        int64_t start = 0;
        int64_t tile = 0;
        if (inner == 1) {
            tile = run;
            for (int64_t row = first; row < last; ++row) {
                StartRow();
                for (int64_t offset = 0; offset < n; offset += tile) {
                    length = Least<int64_t>(tile, n - offset);
                    Read(row, offset, length);
                    AddStage(length);
                }
                EndRow();
                for (int64_t offset = 0; offset < n; offset += tile) {
                    length = Least<int64_t>(tile, n - offset);
                    ReadAgain(row, offset, length);
                    Finish(length);
                    CopyOut(row, offset, length);
                }
            }
        } else {
            for (int64_t item = first; item < last; ++item) {
                at = item % strips * width;
                start = item / strips * n * inner + at;
                cols_ = Least<int64_t>(width, inner - at);
                StartColumns(cols_);
                for (int64_t k = 0; k < n; k += tall) {
                    rows_ = Least<int64_t>(tall, n - k);
                    ReadColumns(start, k, rows_, cols_);
                    AddColumns(rows_, cols_);
                }
                EndColumns(cols_);
                for (int64_t k = 0; k < n; k += tall) {
                    rows_ = Least<int64_t>(tall, n - k);
                    ReadColumnsAgain(start, k, rows_, cols_);
                    FinishColumns(rows_, cols_);
                    StoreColumns(start, k, rows_, cols_);
                }
            }
        }
    }

  private:
    __aicore__ inline void StartRow() {
        const uint32_t rows = 1;
        LocalTensor<float> top = topBuffer.Get<float>();
        LocalTensor<float> total = totalBuffer.Get<float>();
        Duplicate(top, -3e+38f, rows);
        Duplicate(total, 0.0f, rows);
    }

    __aicore__ inline void Read(int64_t row, int64_t offset, int64_t length) {
        LocalTensor<float> x_run = x_runQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(x_run, xGlobal[row * n + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        x_runQueue.EnQue(x_run);
    }

    __aicore__ inline void AddStage(int64_t length) {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(length);
        const uint32_t pitch = cols;
        const uint32_t count = cols;
        LocalTensor<float> top = topBuffer.Get<float>();
        LocalTensor<float> x_run = x_runQueue.DeQue<float>();
        LocalTensor<float> total = totalBuffer.Get<float>();
        LocalTensor<float> higher = higherBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.Get<float>();
        RowMax(higher, x_run, temporary0, rows, cols, pitch);
        Max(higher, top, higher, rows);
        Sub(temporary0, top, higher, rows);
        Exp(temporary0, temporary0, rows);
        Mul(total, total, temporary0, rows);
        SubColumn(temporary0, x_run, higher, temporary1, rows, cols, pitch);
        Exp(temporary0, temporary0, count);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(total, total, temporary1, rows);
        Adds(top, higher, 0.0f, rows);
        x_runQueue.FreeTensor(x_run);
    }

    __aicore__ inline void EndRow() {
        const uint32_t rows = 1;
        LocalTensor<float> total = totalBuffer.Get<float>();
        Ln(total, total, rows);
    }

    __aicore__ inline void ReadAgain(int64_t row, int64_t offset, int64_t length) {
        LocalTensor<float> run_again = run_againQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(run_again, xGlobal[row * n + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        run_againQueue.EnQue(run_again);
    }

    __aicore__ inline void Finish(int64_t length) {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(length);
        const uint32_t pitch = cols;
        LocalTensor<float> run_again = run_againQueue.DeQue<float>();
        LocalTensor<float> top = topBuffer.Get<float>();
        LocalTensor<float> total = totalBuffer.Get<float>();
        LocalTensor<float> run_result = run_resultQueue.AllocTensor<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        SubColumn(run_result, run_again, top, temporary0, rows, cols, pitch);
        SubColumn(run_result, run_result, total, temporary0, rows, cols, pitch);
        run_resultQueue.EnQue(run_result);
        run_againQueue.FreeTensor(run_again);
    }

    __aicore__ inline void CopyOut(int64_t row, int64_t offset, int64_t length) {
        LocalTensor<float> run_result = run_resultQueue.DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGlobal[row * n + offset], run_result, copy);
        run_resultQueue.FreeTensor(run_result);
    }

    __aicore__ inline void StartColumns(int64_t cols_) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<float> tops = topsBuffer.Get<float>();
        LocalTensor<float> totals = totalsBuffer.Get<float>();
        Duplicate(tops, -3e+38f, count);
        Duplicate(totals, 0.0f, count);
    }

    __aicore__ inline void ReadColumns(int64_t start, int64_t k, int64_t rows_, int64_t cols_) {
        LocalTensor<float> x_tile = x_tileQueue.AllocTensor<float>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(float)),
            static_cast<uint32_t>((inner - cols_) * sizeof(float)), 0, 0};
        DataCopyPad(x_tile, xGlobal[start + k * inner], copy, DataCopyPadExtParams<float>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(float), 32) - cols_ * sizeof(float)) / sizeof(float)), 0});
        x_tileQueue.EnQue(x_tile);
    }

    __aicore__ inline void AddColumns(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 8));
        const uint32_t count = rows * pitch;
        LocalTensor<float> tops = topsBuffer.Get<float>();
        LocalTensor<float> x_tile = x_tileQueue.DeQue<float>();
        LocalTensor<float> totals = totalsBuffer.Get<float>();
        LocalTensor<float> highers = highersBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.Get<float>();
        ColMax(highers, x_tile, temporary0, rows, cols, pitch);
        Max(highers, tops, highers, cols);
        Sub(temporary0, tops, highers, cols);
        Exp(temporary0, temporary0, cols);
        Mul(totals, totals, temporary0, cols);
        SubRow(temporary0, x_tile, highers, rows, cols, pitch);
        Exp(temporary0, temporary0, count);
        ColSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(totals, totals, temporary1, cols);
        Adds(tops, highers, 0.0f, cols);
        x_tileQueue.FreeTensor(x_tile);
    }

    __aicore__ inline void EndColumns(int64_t cols_) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<float> totals = totalsBuffer.Get<float>();
        Ln(totals, totals, count);
    }

    __aicore__ inline void ReadColumnsAgain(int64_t start, int64_t k, int64_t rows_, int64_t cols_) {
        LocalTensor<float> again = againQueue.AllocTensor<float>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(float)),
            static_cast<uint32_t>((inner - cols_) * sizeof(float)), 0, 0};
        DataCopyPad(again, xGlobal[start + k * inner], copy, DataCopyPadExtParams<float>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(float), 32) - cols_ * sizeof(float)) / sizeof(float)), 0});
        againQueue.EnQue(again);
    }

    __aicore__ inline void FinishColumns(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 8));
        LocalTensor<float> again = againQueue.DeQue<float>();
        LocalTensor<float> tops = topsBuffer.Get<float>();
        LocalTensor<float> totals = totalsBuffer.Get<float>();
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        SubRow(result, again, tops, rows, cols, pitch);
        SubRow(result, result, totals, rows, cols, pitch);
        resultQueue.EnQue(result);
        againQueue.FreeTensor(again);
    }

    __aicore__ inline void StoreColumns(int64_t start, int64_t k, int64_t rows_, int64_t cols_) {
        LocalTensor<float> result = resultQueue.DeQue<float>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(float)), 0,
            static_cast<uint32_t>((inner - cols_) * sizeof(float)), 0};
        DataCopyPad(yGlobal[start + k * inner], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<float> xGlobal;
    GlobalTensor<float> yGlobal;
    TQue<TPosition::VECIN, 1> x_runQueue;
    TQue<TPosition::VECIN, 1> run_againQueue;
    TQue<TPosition::VECOUT, 1> run_resultQueue;
    TBuf<TPosition::VECCALC> topBuffer;
    TBuf<TPosition::VECCALC> higherBuffer;
    TBuf<TPosition::VECCALC> totalBuffer;
    TQue<TPosition::VECIN, 1> x_tileQueue;
    TQue<TPosition::VECIN, 1> againQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> topsBuffer;
    TBuf<TPosition::VECCALC> highersBuffer;
    TBuf<TPosition::VECCALC> totalsBuffer;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
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

extern "C" __global__ __aicore__ void craft_log_softmax(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftLogSoftmax op;
    op.Init(&pipe, x, y, numbers);
    op.Process();
}
