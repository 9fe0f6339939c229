// InplaceAttnSoftmax: softmax over the last axis, in the memory of the input.
//
// Rows that fit a tile are taken many at a time. Of longer ones the largest element and the sum are found together
// first.
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

// y = x * column, where every row has one element of its own. `spread` holds 248 blocks.
__aicore__ inline void MulColumn(const LocalTensor<float>& y, const LocalTensor<float>& x,
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
                Mul(y[at], x[at], spread, Least(cols - col, REPEAT), part, BinaryRepeatParams(1, 1, 0, next, next, 1));
            }
            continue;
        }
        for (uint32_t row = 0; row < part; ++row) {
            for (uint32_t col = 0; col < cols; col += MOST * REPEAT) {
                const uint32_t at = (first + row) * pitch + col;
                const uint32_t lanes = Least(cols - col, MOST * REPEAT);
                const uint32_t whole = lanes / REPEAT * REPEAT;
                if (whole > 0) {
                    Mul(y[at], x[at], spread[row * 8], REPEAT, whole / REPEAT, BinaryRepeatParams(1, 1, 0, 8, 8, 0));
                }
                if (whole < lanes) {
                    Mul(y[at + whole], x[at + whole], spread[row * 8], lanes - whole, 1, BinaryRepeatParams(1, 1, 0,
                        8, 8, 0));
                }
            }
        }
    }
}
}  // namespace

template <typename T>
class KernelInplaceAttnSoftmax {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const InplaceAttnSoftmaxTilingData& numbers) {
        n = numbers.n;
        d = numbers.d;
        share = numbers.share;
        width = numbers.width;
        most = numbers.most;
        xGlobal.SetGlobalBuffer((__gm__ T*)x);
        yGlobal.SetGlobalBuffer((__gm__ T*)y);
        pipe->InitBuffer(givenQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(againQueue, 1, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(wideBuffer, Bytes<float>(most * RoundUp(width, 16)));
        pipe->InitBuffer(topBuffer, Bytes<float>(most));
        pipe->InitBuffer(higherBuffer, Bytes<float>(most));
        pipe->InitBuffer(totalBuffer, Bytes<float>(most));
        pipe->InitBuffer(resultQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(4096u, Bytes<float>(most *
            RoundUp(width, 16))), Bytes<float>(most)));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(most *
            RoundUp(width, 16))), Bytes<float>(most)));
        pipe->InitBuffer(temporary2Buffer, 7936u);
    }

    __aicore__ inline void Process() {
        const int64_t begin = static_cast<int64_t>(GetBlockIdx()) * share;
        const int64_t end = Least<int64_t>(begin + share, n);
        for (int64_t first = begin; first < end; first += most) {
            const int64_t rows_ = Least<int64_t>(most, end - first);
            StartRows(rows_);
            int64_t cols_ = 0;
            for (int64_t c = 0; c < d; c += width) {
                cols_ = Least<int64_t>(width, d - c);
                Read(first, c, rows_, cols_);
                AddUp(rows_, cols_);
            }
            EndRows(rows_);
            for (int64_t c = 0; c < d; c += width) {
                cols_ = Least<int64_t>(width, d - c);
                ReadAgain(first, c, rows_, cols_);
                Normalise(rows_, cols_);
                CopyOut(first, c, rows_, cols_);
            }
        }
    }

  private:
    __aicore__ inline void StartRows(int64_t rows_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        LocalTensor<float> top = topBuffer.template Get<float>();
        LocalTensor<float> total = totalBuffer.template Get<float>();
        Duplicate(top, -3e+38f, rows);
        Duplicate(total, 0.0f, rows);
    }

    __aicore__ inline void Read(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> given = givenQueue.template AllocTensor<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(given, xGlobal[first * d + c], copy, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        givenQueue.EnQue(given);
    }

    __aicore__ inline void AddUp(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<T> given = givenQueue.template DeQue<T>();
        LocalTensor<float> top = topBuffer.template Get<float>();
        LocalTensor<float> wide = wideBuffer.template Get<float>();
        LocalTensor<float> total = totalBuffer.template Get<float>();
        LocalTensor<float> higher = higherBuffer.template Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.template Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.template Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.template Get<float>();
        Widen(wide, given, count);
        RowMax(higher, wide, temporary0, rows, cols, pitch);
        Max(higher, top, higher, rows);
        Sub(temporary0, top, higher, rows);
        Exp(temporary0, temporary0, rows);
        Mul(total, total, temporary0, rows);
        SubColumn(temporary0, wide, higher, temporary1, rows, cols, pitch);
        Exp(temporary0, temporary0, count);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(total, total, temporary1, rows);
        Adds(top, higher, 0.0f, rows);
        givenQueue.FreeTensor(given);
    }

    __aicore__ inline void EndRows(int64_t rows_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        LocalTensor<float> total = totalBuffer.template Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.template Get<float>();
        Duplicate(temporary0, 1.0f, rows);
        Div(total, temporary0, total, rows);
    }

    __aicore__ inline void ReadAgain(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> again = againQueue.template AllocTensor<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(again, xGlobal[first * d + c], copy, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        againQueue.EnQue(again);
    }

    __aicore__ inline void Normalise(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<T> again = againQueue.template DeQue<T>();
        LocalTensor<float> top = topBuffer.template Get<float>();
        LocalTensor<float> total = totalBuffer.template Get<float>();
        LocalTensor<T> result = resultQueue.template AllocTensor<T>();
        LocalTensor<float> temporary1 = temporary1Buffer.template Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.template Get<float>();
        LocalTensor<float> resultWide = WideResult(temporary0Buffer.template Get<float>(), result);
        LocalTensor<float> againWide = Widened(temporary1Buffer.template Get<float>(), again, count);
        SubColumn(resultWide, againWide, top, temporary2, rows, cols, pitch);
        Exp(resultWide, resultWide, count);
        MulColumn(resultWide, resultWide, total, temporary1, rows, cols, pitch);
        Narrowed(result, resultWide, count);
        resultQueue.EnQue(result);
        againQueue.FreeTensor(again);
    }

    __aicore__ inline void CopyOut(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> result = resultQueue.template DeQue<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((RoundUp(cols_, 16) * sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32),
                static_cast<uint32_t>((d - cols_) * sizeof(T)), 0};
        DataCopyPad(yGlobal[first * d + c], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<T> xGlobal;
    GlobalTensor<T> yGlobal;
    TQue<TPosition::VECIN, 1> givenQueue;
    TQue<TPosition::VECIN, 1> againQueue;
    TBuf<TPosition::VECCALC> wideBuffer;
    TBuf<TPosition::VECCALC> topBuffer;
    TBuf<TPosition::VECCALC> higherBuffer;
    TBuf<TPosition::VECCALC> totalBuffer;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    int64_t n;
    int64_t d;
    int64_t share;
    int64_t width;
    int64_t most;
};

extern "C" __global__ __aicore__ void inplace_attn_softmax(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelInplaceAttnSoftmax<DTYPE_X> op;
    op.Init(&pipe, x, y, numbers);
    op.Process();
}
