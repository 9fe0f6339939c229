// DeepNorm: s = alpha * x + gx, y = (s - mean) * rstd * gamma + beta.
//
// Rows that fit a tile are taken many at a time, longer ones piece by piece.
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

// y = x + row, the same row for every row.
__aicore__ inline void AddRow(const LocalTensor<float>& y, const LocalTensor<float>& x, const LocalTensor<float>& row,
                              uint32_t rows, uint32_t cols, uint32_t pitch) {
    constexpr uint32_t REPEAT = 64, MOST = 248;
    if (pitch > 255 * 8 || rows <= cols / REPEAT) {
        for (uint32_t at = 0; at < rows * pitch; at += pitch) {
            Add(y[at], x[at], row, cols);
        }
        return;
    }
    const uint8_t next = static_cast<uint8_t>(pitch / 8);
    for (uint32_t first = 0; first < rows; first += MOST) {
        for (uint32_t col = 0; col < cols; col += REPEAT) {
            const uint32_t at = first * pitch + col;
            Add(y[at], x[at], row[col], Least(cols - col, REPEAT), Least(rows - first, MOST), BinaryRepeatParams(1,
                1, 1, next, next, 0));
        }
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
class KernelDeepNorm {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR gx, GM_ADDR beta, GM_ADDR gamma, GM_ADDR mean,
        GM_ADDR rstd, GM_ADDR y, const DeepNormTilingData& numbers) {
        alpha = numbers.alpha;
        epsilon = numbers.epsilon;
        n = numbers.n;
        d = numbers.d;
        share = numbers.share;
        width = numbers.width;
        most = numbers.most;
        xGlobal.SetGlobalBuffer((__gm__ T*)x);
        gxGlobal.SetGlobalBuffer((__gm__ T*)gx);
        betaGlobal.SetGlobalBuffer((__gm__ T*)beta);
        gammaGlobal.SetGlobalBuffer((__gm__ T*)gamma);
        meanGlobal.SetGlobalBuffer((__gm__ float*)mean);
        rstdGlobal.SetGlobalBuffer((__gm__ float*)rstd);
        yGlobal.SetGlobalBuffer((__gm__ T*)y);
        pipe->InitBuffer(a_sumQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(b_sumQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(a_squareQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(b_squareQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(a_lastQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(b_lastQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(scaleQueue, 2, Bytes<T>(width));
        pipe->InitBuffer(biasQueue, 2, Bytes<T>(width));
        pipe->InitBuffer(totalBuffer, Bytes<float>(most * RoundUp(width, 16)));
        pipe->InitBuffer(middleBuffer, Bytes<float>(most));
        pipe->InitBuffer(factorBuffer, Bytes<float>(most));
        pipe->InitBuffer(resultQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(most *
            RoundUp(width, 16))), Bytes<float>(most)));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(Greatest<uint32_t>(Greatest<uint32_t>(7936u,
            Bytes<float>(most * RoundUp(width, 16))), Bytes<float>(most)), Bytes<float>(width)));
        pipe->InitBuffer(temporary2Buffer, Greatest<uint32_t>(4096u, Bytes<float>(most * RoundUp(width, 16))));
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
            FindMean(rows_);
            for (int64_t c = 0; c < d; c += width) {
                cols_ = Least<int64_t>(width, d - c);
                ReadAgain(first, c, rows_, cols_);
                AddSquares(rows_, cols_);
            }
            EndRows(rows_);
            StoreStatistics(first, rows_);
            for (int64_t c = 0; c < d; c += width) {
                cols_ = Least<int64_t>(width, d - c);
                ReadLast(first, c, rows_, cols_);
                Normalise(rows_, cols_);
                CopyOut(first, c, rows_, cols_);
            }
        }
    }

  private:
    __aicore__ inline void StartRows(int64_t rows_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        LocalTensor<float> middle = middleBuffer.template Get<float>();
        LocalTensor<float> factor = factorBuffer.template Get<float>();
        Duplicate(middle, 0.0f, rows);
        Duplicate(factor, 0.0f, rows);
    }

    __aicore__ inline void Read(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> a_sum = a_sumQueue.template AllocTensor<T>();
        LocalTensor<T> b_sum = b_sumQueue.template AllocTensor<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(a_sum, xGlobal[first * d + c], copy, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(b_sum, gxGlobal[first * d + c], copy2, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        a_sumQueue.EnQue(a_sum);
        b_sumQueue.EnQue(b_sum);
    }

    __aicore__ inline void AddUp(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<float> middle = middleBuffer.template Get<float>();
        LocalTensor<T> b_sum = b_sumQueue.template DeQue<T>();
        LocalTensor<T> a_sum = a_sumQueue.template DeQue<T>();
        LocalTensor<float> temporary1 = temporary1Buffer.template Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.template Get<float>();
        LocalTensor<float> b_sumWide = Widened(temporary0Buffer.template Get<float>(), b_sum, count);
        LocalTensor<float> a_sumWide = Widened(temporary1Buffer.template Get<float>(), a_sum, count);
        Muls(a_sumWide, a_sumWide, alpha, count);
        Add(b_sumWide, b_sumWide, a_sumWide, count);
        RowSum(temporary1, b_sumWide, temporary2, rows, cols, pitch);
        Add(middle, middle, temporary1, rows);
        b_sumQueue.FreeTensor(b_sum);
        a_sumQueue.FreeTensor(a_sum);
    }

    __aicore__ inline void FindMean(int64_t rows_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        LocalTensor<float> middle = middleBuffer.template Get<float>();
        Muls(middle, middle, 1.0f / (static_cast<float>(d)), rows);
    }

    __aicore__ inline void ReadAgain(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> a_square = a_squareQueue.template AllocTensor<T>();
        LocalTensor<T> b_square = b_squareQueue.template AllocTensor<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(a_square, xGlobal[first * d + c], copy, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(b_square, gxGlobal[first * d + c], copy2, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        a_squareQueue.EnQue(a_square);
        b_squareQueue.EnQue(b_square);
    }

    __aicore__ inline void AddSquares(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<T> b_square = b_squareQueue.template DeQue<T>();
        LocalTensor<T> a_square = a_squareQueue.template DeQue<T>();
        LocalTensor<float> middle = middleBuffer.template Get<float>();
        LocalTensor<float> factor = factorBuffer.template Get<float>();
        LocalTensor<float> total = totalBuffer.template Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.template Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.template Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.template Get<float>();
        Widen(total, b_square, count);
        LocalTensor<float> a_squareWide = Widened(temporary0Buffer.template Get<float>(), a_square, count);
        Muls(a_squareWide, a_squareWide, alpha, count);
        Add(total, total, a_squareWide, count);
        SubColumn(total, total, middle, temporary0, rows, cols, pitch);
        Mul(temporary0, total, total, count);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(factor, factor, temporary1, rows);
        b_squareQueue.FreeTensor(b_square);
        a_squareQueue.FreeTensor(a_square);
    }

    __aicore__ inline void EndRows(int64_t rows_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        LocalTensor<float> factor = factorBuffer.template Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.template Get<float>();
        Muls(factor, factor, 1.0f / (static_cast<float>(d)), rows);
        Adds(factor, factor, epsilon, rows);
        Sqrt(factor, factor, rows);
        Duplicate(temporary0, 1.0f, rows);
        Div(factor, temporary0, factor, rows);
    }

    __aicore__ inline void StoreStatistics(int64_t first, int64_t rows_) {
        Flag<HardEvent::V_MTE3>();
        Flag<HardEvent::MTE2_MTE3>();
        LocalTensor<float> middle = middleBuffer.template Get<float>();
        LocalTensor<float> factor = factorBuffer.template Get<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(rows_ * sizeof(float)), 0, 0, 0};
        DataCopyPad(meanGlobal[first], middle, copy);
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(rows_ * sizeof(float)), 0, 0, 0};
        DataCopyPad(rstdGlobal[first], factor, copy2);
        Flag<HardEvent::MTE3_V>();
    }

    __aicore__ inline void ReadLast(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> a_last = a_lastQueue.template AllocTensor<T>();
        LocalTensor<T> b_last = b_lastQueue.template AllocTensor<T>();
        LocalTensor<T> scale = scaleQueue.template AllocTensor<T>();
        LocalTensor<T> bias = biasQueue.template AllocTensor<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(a_last, xGlobal[first * d + c], copy, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(b_last, gxGlobal[first * d + c], copy2, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(scale, gammaGlobal[c], copy3, DataCopyPadExtParams<T>{false, 0, 0, 0});
        const DataCopyExtParams copy4{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(bias, betaGlobal[c], copy4, DataCopyPadExtParams<T>{false, 0, 0, 0});
        a_lastQueue.EnQue(a_last);
        b_lastQueue.EnQue(b_last);
        scaleQueue.EnQue(scale);
        biasQueue.EnQue(bias);
    }

    __aicore__ inline void Normalise(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<T> b_last = b_lastQueue.template DeQue<T>();
        LocalTensor<T> a_last = a_lastQueue.template DeQue<T>();
        LocalTensor<float> middle = middleBuffer.template Get<float>();
        LocalTensor<float> factor = factorBuffer.template Get<float>();
        LocalTensor<T> scale = scaleQueue.template DeQue<T>();
        LocalTensor<T> bias = biasQueue.template DeQue<T>();
        LocalTensor<T> result = resultQueue.template AllocTensor<T>();
        LocalTensor<float> temporary1 = temporary1Buffer.template Get<float>();
        LocalTensor<float> resultWide = WideResult(temporary0Buffer.template Get<float>(), result);
        LocalTensor<float> b_lastWide = Widened(temporary1Buffer.template Get<float>(), b_last, count);
        LocalTensor<float> a_lastWide = Widened(temporary2Buffer.template Get<float>(), a_last, count);
        Muls(resultWide, a_lastWide, alpha, count);
        Add(resultWide, b_lastWide, resultWide, count);
        SubColumn(resultWide, resultWide, middle, temporary1, rows, cols, pitch);
        MulColumn(resultWide, resultWide, factor, temporary1, rows, cols, pitch);
        LocalTensor<float> scaleWide = Widened(temporary1Buffer.template Get<float>(), scale, cols);
        MulRow(resultWide, resultWide, scaleWide, rows, cols, pitch);
        LocalTensor<float> biasWide = Widened(temporary1Buffer.template Get<float>(), bias, cols);
        AddRow(resultWide, resultWide, biasWide, rows, cols, pitch);
        Narrowed(result, resultWide, count);
        resultQueue.EnQue(result);
        b_lastQueue.FreeTensor(b_last);
        a_lastQueue.FreeTensor(a_last);
        scaleQueue.FreeTensor(scale);
        biasQueue.FreeTensor(bias);
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
    GlobalTensor<T> gxGlobal;
    GlobalTensor<T> betaGlobal;
    GlobalTensor<T> gammaGlobal;
    GlobalTensor<float> meanGlobal;
    GlobalTensor<float> rstdGlobal;
    GlobalTensor<T> yGlobal;
    TQue<TPosition::VECIN, 1> a_sumQueue;
    TQue<TPosition::VECIN, 1> b_sumQueue;
    TQue<TPosition::VECIN, 1> a_squareQueue;
    TQue<TPosition::VECIN, 1> b_squareQueue;
    TQue<TPosition::VECIN, 1> a_lastQueue;
    TQue<TPosition::VECIN, 1> b_lastQueue;
    TQue<TPosition::VECIN, 1> scaleQueue;
    TQue<TPosition::VECIN, 1> biasQueue;
    TBuf<TPosition::VECCALC> totalBuffer;
    TBuf<TPosition::VECCALC> middleBuffer;
    TBuf<TPosition::VECCALC> factorBuffer;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    float alpha;
    float epsilon;
    int64_t n;
    int64_t d;
    int64_t share;
    int64_t width;
    int64_t most;
};

extern "C" __global__ __aicore__ void deep_norm(GM_ADDR x, GM_ADDR gx, GM_ADDR beta, GM_ADDR gamma, GM_ADDR mean,
    GM_ADDR rstd, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelDeepNorm<DTYPE_X> op;
    op.Init(&pipe, x, gx, beta, gamma, mean, rstd, y, numbers);
    op.Process();
}
