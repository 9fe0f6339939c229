// MulMulReduceMeanDTwice: gamma * (p - mean) / sqrt(variance + add_y) + beta, p = mul0_input0 * mul0_input1 *
// mul1_input0.
//
// Rows that fit a tile are taken many at a time and read once, longer ones piece by piece and three times.
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

class KernelMulMulReduceMeanDTwice {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR mul0_input0, GM_ADDR mul0_input1, GM_ADDR mul1_input0,
        GM_ADDR add_y, GM_ADDR gamma, GM_ADDR beta, GM_ADDR output, const MulMulReduceMeanDTwiceTilingData& numbers) {
        n = numbers.n;
        d = numbers.d;
        share = numbers.share;
        width = numbers.width;
        most = numbers.most;
        again = numbers.again;
        mul0_input0Global.SetGlobalBuffer((__gm__ half*)mul0_input0);
        mul0_input1Global.SetGlobalBuffer((__gm__ half*)mul0_input1);
        mul1_input0Global.SetGlobalBuffer((__gm__ half*)mul1_input0);
        add_yGlobal.SetGlobalBuffer((__gm__ half*)add_y);
        gammaGlobal.SetGlobalBuffer((__gm__ half*)gamma);
        betaGlobal.SetGlobalBuffer((__gm__ half*)beta);
        outputGlobal.SetGlobalBuffer((__gm__ half*)output);
        pipe->InitBuffer(aQueue, 2, Bytes<half>(most * RoundUp(width, 16)));
        pipe->InitBuffer(bQueue, 2, Bytes<half>(most * RoundUp(width, 16)));
        pipe->InitBuffer(a_againQueue, 2, Bytes<half>(most * RoundUp(width, 16)));
        pipe->InitBuffer(b_againQueue, 2, Bytes<half>(most * RoundUp(width, 16)));
        pipe->InitBuffer(a_lastQueue, 2, Bytes<half>(most * RoundUp(width, 16)));
        pipe->InitBuffer(b_lastQueue, 2, Bytes<half>(most * RoundUp(width, 16)));
        pipe->InitBuffer(scaleQueue, 2, Bytes<half>(width));
        pipe->InitBuffer(offsetQueue, 2, Bytes<half>(width));
        pipe->InitBuffer(factor_inQueue, 1, Bytes<half>(1));
        pipe->InitBuffer(epsilon_inQueue, 1, Bytes<half>(1));
        pipe->InitBuffer(wide_factorBuffer, Bytes<float>(1));
        pipe->InitBuffer(wide_epsilonBuffer, Bytes<float>(1));
        pipe->InitBuffer(pBuffer, Bytes<float>(most * RoundUp(width, 16)));
        pipe->InitBuffer(meanBuffer, Bytes<float>(most));
        pipe->InitBuffer(spreadBuffer, Bytes<float>(most));
        pipe->InitBuffer(resultQueue, 2, Bytes<half>(most * RoundUp(width, 16)));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(most *
            RoundUp(width, 16))), Bytes<float>(most)));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(most)),
            Bytes<float>(width)));
        pipe->InitBuffer(temporary2Buffer, 4096u);
    }

    __aicore__ inline void Process() {
        ReadNumbers();
        WidenNumbers();
        Flag<HardEvent::V_S>();
        Flag<HardEvent::MTE2_S>();
        const float factor = wide_factorBuffer.Get<float>().GetValue(0);
        Flag<HardEvent::V_S>();
        Flag<HardEvent::MTE2_S>();
        const float epsilon = wide_epsilonBuffer.Get<float>().GetValue(0);
        const int64_t begin = static_cast<int64_t>(GetBlockIdx()) * share;
        const int64_t end = Least<int64_t>(begin + share, n);
        for (int64_t first = begin; first < end; first += most) {
            const int64_t rows_ = Least<int64_t>(most, end - first);
            StartRows(rows_);
            int64_t cols_ = 0;
            for (int64_t c = 0; c < d; c += width) {
                cols_ = Least<int64_t>(width, d - c);
                Read(first, c, rows_, cols_);
                Multiply(rows_, cols_, factor);
            }
            EndMean(rows_);
            if (again) {
                for (int64_t c = 0; c < d; c += width) {
                    cols_ = Least<int64_t>(width, d - c);
                    ReadAgain(first, c, rows_, cols_);
                    MultiplyAgain(rows_, cols_, factor);
                }
            } else {
                AddSquares(rows_);
            }
            EndSpread(rows_, epsilon);
            for (int64_t c = 0; c < d; c += width) {
                cols_ = Least<int64_t>(width, d - c);
                ReadColumns(c, cols_);
                if (again) {
                    ReadLast(first, c, rows_, cols_);
                    MultiplyLast(rows_, cols_, factor);
                }
                Normalise(rows_, cols_);
                CopyOut(first, c, rows_, cols_);
            }
        }
    }

  private:
    __aicore__ inline void ReadNumbers() {
        LocalTensor<half> factor_in = factor_inQueue.AllocTensor<half>();
        LocalTensor<half> epsilon_in = epsilon_inQueue.AllocTensor<half>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(1 * sizeof(half)), 0, 0, 0};
        DataCopyPad(factor_in, mul1_input0Global[0], copy, DataCopyPadExtParams<half>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(1 * sizeof(half)), 0, 0, 0};
        DataCopyPad(epsilon_in, add_yGlobal[0], copy2, DataCopyPadExtParams<half>{false, 0, 0, 0});
        factor_inQueue.EnQue(factor_in);
        epsilon_inQueue.EnQue(epsilon_in);
    }

    __aicore__ inline void WidenNumbers() {
        const uint32_t rows = 1;
        LocalTensor<half> factor_in = factor_inQueue.DeQue<half>();
        LocalTensor<half> epsilon_in = epsilon_inQueue.DeQue<half>();
        LocalTensor<float> wide_factor = wide_factorBuffer.Get<float>();
        LocalTensor<float> wide_epsilon = wide_epsilonBuffer.Get<float>();
        Cast(wide_factor, factor_in, RoundMode::CAST_NONE, rows);
        Cast(wide_epsilon, epsilon_in, RoundMode::CAST_NONE, rows);
        factor_inQueue.FreeTensor(factor_in);
        epsilon_inQueue.FreeTensor(epsilon_in);
    }

    __aicore__ inline void StartRows(int64_t rows_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        LocalTensor<float> mean = meanBuffer.Get<float>();
        LocalTensor<float> spread = spreadBuffer.Get<float>();
        Duplicate(mean, 0.0f, rows);
        Duplicate(spread, 0.0f, rows);
    }

    __aicore__ inline void Read(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<half> a = aQueue.AllocTensor<half>();
        LocalTensor<half> b = bQueue.AllocTensor<half>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(half)),
            static_cast<uint32_t>((d - cols_) * sizeof(half)), 0, 0};
        DataCopyPad(a, mul0_input0Global[first * d + c], copy, DataCopyPadExtParams<half>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(half), 32) - cols_ * sizeof(half)) / sizeof(half)), 0});
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(half)),
            static_cast<uint32_t>((d - cols_) * sizeof(half)), 0, 0};
        DataCopyPad(b, mul0_input1Global[first * d + c], copy2, DataCopyPadExtParams<half>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(half), 32) - cols_ * sizeof(half)) / sizeof(half)), 0});
        aQueue.EnQue(a);
        bQueue.EnQue(b);
    }

    __aicore__ inline void Multiply(int64_t rows_, int64_t cols_, float factor) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<half> a = aQueue.DeQue<half>();
        LocalTensor<half> b = bQueue.DeQue<half>();
        LocalTensor<float> mean = meanBuffer.Get<float>();
        LocalTensor<float> p = pBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        Cast(p, a, RoundMode::CAST_NONE, count);
        Cast(temporary0, b, RoundMode::CAST_NONE, count);
        Mul(p, p, temporary0, count);
        Muls(p, p, factor, count);
        RowSum(temporary0, p, temporary1, rows, cols, pitch);
        Add(mean, mean, temporary0, rows);
        aQueue.FreeTensor(a);
        bQueue.FreeTensor(b);
    }

    __aicore__ inline void EndMean(int64_t rows_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        LocalTensor<float> mean = meanBuffer.Get<float>();
        Muls(mean, mean, 1.0f / (static_cast<float>(d)), rows);
    }

    __aicore__ inline void ReadAgain(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<half> a_again = a_againQueue.AllocTensor<half>();
        LocalTensor<half> b_again = b_againQueue.AllocTensor<half>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(half)),
            static_cast<uint32_t>((d - cols_) * sizeof(half)), 0, 0};
        DataCopyPad(a_again, mul0_input0Global[first * d + c], copy, DataCopyPadExtParams<half>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(half), 32) - cols_ * sizeof(half)) / sizeof(half)), 0});
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(half)),
            static_cast<uint32_t>((d - cols_) * sizeof(half)), 0, 0};
        DataCopyPad(b_again, mul0_input1Global[first * d + c], copy2, DataCopyPadExtParams<half>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(half), 32) - cols_ * sizeof(half)) / sizeof(half)), 0});
        a_againQueue.EnQue(a_again);
        b_againQueue.EnQue(b_again);
    }

    __aicore__ inline void MultiplyAgain(int64_t rows_, int64_t cols_, float factor) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<half> a_again = a_againQueue.DeQue<half>();
        LocalTensor<half> b_again = b_againQueue.DeQue<half>();
        LocalTensor<float> mean = meanBuffer.Get<float>();
        LocalTensor<float> spread = spreadBuffer.Get<float>();
        LocalTensor<float> p = pBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.Get<float>();
        Cast(p, a_again, RoundMode::CAST_NONE, count);
        Cast(temporary0, b_again, RoundMode::CAST_NONE, count);
        Mul(p, p, temporary0, count);
        Muls(p, p, factor, count);
        SubColumn(p, p, mean, temporary0, rows, cols, pitch);
        Mul(temporary0, p, p, count);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(spread, spread, temporary1, rows);
        a_againQueue.FreeTensor(a_again);
        b_againQueue.FreeTensor(b_again);
    }

    __aicore__ inline void AddSquares(int64_t rows_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(width);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(width, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<float> p = pBuffer.Get<float>();
        LocalTensor<float> mean = meanBuffer.Get<float>();
        LocalTensor<float> spread = spreadBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        SubColumn(p, p, mean, temporary0, rows, cols, pitch);
        Mul(temporary0, p, p, count);
        RowSum(spread, temporary0, temporary1, rows, cols, pitch);
    }

    __aicore__ inline void EndSpread(int64_t rows_, float epsilon) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        LocalTensor<float> spread = spreadBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        Muls(spread, spread, 1.0f / (static_cast<float>(d)), rows);
        Adds(spread, spread, epsilon, rows);
        Sqrt(spread, spread, rows);
        Duplicate(temporary0, 1.0f, rows);
        Div(spread, temporary0, spread, rows);
    }

    __aicore__ inline void ReadColumns(int64_t c, int64_t cols_) {
        LocalTensor<half> scale = scaleQueue.AllocTensor<half>();
        LocalTensor<half> offset = offsetQueue.AllocTensor<half>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(cols_ * sizeof(half)), 0, 0, 0};
        DataCopyPad(scale, gammaGlobal[c], copy, DataCopyPadExtParams<half>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(cols_ * sizeof(half)), 0, 0, 0};
        DataCopyPad(offset, betaGlobal[c], copy2, DataCopyPadExtParams<half>{false, 0, 0, 0});
        scaleQueue.EnQue(scale);
        offsetQueue.EnQue(offset);
    }

    __aicore__ inline void ReadLast(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<half> a_last = a_lastQueue.AllocTensor<half>();
        LocalTensor<half> b_last = b_lastQueue.AllocTensor<half>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(half)),
            static_cast<uint32_t>((d - cols_) * sizeof(half)), 0, 0};
        DataCopyPad(a_last, mul0_input0Global[first * d + c], copy, DataCopyPadExtParams<half>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(half), 32) - cols_ * sizeof(half)) / sizeof(half)), 0});
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(half)),
            static_cast<uint32_t>((d - cols_) * sizeof(half)), 0, 0};
        DataCopyPad(b_last, mul0_input1Global[first * d + c], copy2, DataCopyPadExtParams<half>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(half), 32) - cols_ * sizeof(half)) / sizeof(half)), 0});
        a_lastQueue.EnQue(a_last);
        b_lastQueue.EnQue(b_last);
    }

    __aicore__ inline void MultiplyLast(int64_t rows_, int64_t cols_, float factor) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<half> a_last = a_lastQueue.DeQue<half>();
        LocalTensor<half> b_last = b_lastQueue.DeQue<half>();
        LocalTensor<float> mean = meanBuffer.Get<float>();
        LocalTensor<float> p = pBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        Cast(p, a_last, RoundMode::CAST_NONE, count);
        Cast(temporary0, b_last, RoundMode::CAST_NONE, count);
        Mul(p, p, temporary0, count);
        Muls(p, p, factor, count);
        SubColumn(p, p, mean, temporary0, rows, cols, pitch);
        a_lastQueue.FreeTensor(a_last);
        b_lastQueue.FreeTensor(b_last);
    }

    __aicore__ inline void Normalise(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<float> p = pBuffer.Get<float>();
        LocalTensor<float> spread = spreadBuffer.Get<float>();
        LocalTensor<half> scale = scaleQueue.DeQue<half>();
        LocalTensor<half> offset = offsetQueue.DeQue<half>();
        LocalTensor<half> result = resultQueue.AllocTensor<half>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        MulColumn(temporary0, p, spread, temporary1, rows, cols, pitch);
        Cast(temporary1, scale, RoundMode::CAST_NONE, cols);
        MulRow(temporary0, temporary0, temporary1, rows, cols, pitch);
        Cast(temporary1, offset, RoundMode::CAST_NONE, cols);
        AddRow(temporary0, temporary0, temporary1, rows, cols, pitch);
        Cast(result, temporary0, RoundMode::CAST_RINT, count);
        resultQueue.EnQue(result);
        scaleQueue.FreeTensor(scale);
        offsetQueue.FreeTensor(offset);
    }

    __aicore__ inline void CopyOut(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<half> result = resultQueue.DeQue<half>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(half)), 0,
            static_cast<uint32_t>((d - cols_) * sizeof(half)), 0};
        DataCopyPad(outputGlobal[first * d + c], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<half> mul0_input0Global;
    GlobalTensor<half> mul0_input1Global;
    GlobalTensor<half> mul1_input0Global;
    GlobalTensor<half> add_yGlobal;
    GlobalTensor<half> gammaGlobal;
    GlobalTensor<half> betaGlobal;
    GlobalTensor<half> outputGlobal;
    TQue<TPosition::VECIN, 1> aQueue;
    TQue<TPosition::VECIN, 1> bQueue;
    TQue<TPosition::VECIN, 1> a_againQueue;
    TQue<TPosition::VECIN, 1> b_againQueue;
    TQue<TPosition::VECIN, 1> a_lastQueue;
    TQue<TPosition::VECIN, 1> b_lastQueue;
    TQue<TPosition::VECIN, 1> scaleQueue;
    TQue<TPosition::VECIN, 1> offsetQueue;
    TQue<TPosition::VECIN, 1> factor_inQueue;
    TQue<TPosition::VECIN, 1> epsilon_inQueue;
    TBuf<TPosition::VECCALC> wide_factorBuffer;
    TBuf<TPosition::VECCALC> wide_epsilonBuffer;
    TBuf<TPosition::VECCALC> pBuffer;
    TBuf<TPosition::VECCALC> meanBuffer;
    TBuf<TPosition::VECCALC> spreadBuffer;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    int64_t n;
    int64_t d;
    int64_t share;
    int64_t width;
    int64_t most;
    bool again;
};

extern "C" __global__ __aicore__ void mul_mul_reduce_mean_d_twice(GM_ADDR mul0_input0, GM_ADDR mul0_input1,
    GM_ADDR mul1_input0, GM_ADDR add_y, GM_ADDR gamma, GM_ADDR beta, GM_ADDR output, GM_ADDR workspace,
        GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelMulMulReduceMeanDTwice op;
    op.Init(&pipe, mul0_input0, mul0_input1, mul1_input0, add_y, gamma, beta, output, numbers);
    op.Process();
}
