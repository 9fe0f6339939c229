// AddRmsNormCast: x = x1 + x2, rstd = 1 / sqrt(mean(x^2) + epsilon), y1 = y2 = x * rstd * gamma.
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

// y = x, rounded to the element type of y.
template <typename T>
__aicore__ inline void Narrow(const LocalTensor<T>& y, const LocalTensor<float>& x, uint32_t count) {
    if constexpr (std::is_same<T, float>::value) {
        Adds(y, x, 0.0f, count);
    } else {
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
class KernelAddRmsNormCast {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x1, GM_ADDR x2, GM_ADDR gamma, GM_ADDR y1, GM_ADDR y2,
        GM_ADDR rstd, GM_ADDR x, const AddRmsNormCastTilingData& numbers) {
        epsilon = numbers.epsilon;
        n = numbers.n;
        d = numbers.d;
        share = numbers.share;
        width = numbers.width;
        most = numbers.most;
        x1Global.SetGlobalBuffer((__gm__ T*)x1);
        x2Global.SetGlobalBuffer((__gm__ T*)x2);
        gammaGlobal.SetGlobalBuffer((__gm__ T*)gamma);
        y1Global.SetGlobalBuffer((__gm__ float*)y1);
        y2Global.SetGlobalBuffer((__gm__ T*)y2);
        rstdGlobal.SetGlobalBuffer((__gm__ float*)rstd);
        xGlobal.SetGlobalBuffer((__gm__ T*)x);
        pipe->InitBuffer(aQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(bQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(a_againQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(b_againQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(scaleQueue, 2, Bytes<T>(width));
        pipe->InitBuffer(totalBuffer, Bytes<float>(most * RoundUp(width, 16)));
        pipe->InitBuffer(factorBuffer, Bytes<float>(most));
        pipe->InitBuffer(resultQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(sum_outQueue, 2, Bytes<T>(most * RoundUp(width, 16)));
        pipe->InitBuffer(wide_outQueue, 2, Bytes<float>(most * RoundUp(width, 16)));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(Greatest<uint32_t>(7936u,
            Bytes<float>(most * RoundUp(width, 16))), Bytes<float>(most)), Bytes<float>(width)));
        pipe->InitBuffer(temporary1Buffer, Bytes<float>(most));
        pipe->InitBuffer(temporary2Buffer, 4096u);
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
                AddSquares(rows_, cols_);
            }
            EndRows(rows_);
            StoreFactor(first, rows_);
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
        LocalTensor<float> factor = factorBuffer.template Get<float>();
        Duplicate(factor, 0.0f, rows);
    }

    __aicore__ inline void Read(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> a = aQueue.template AllocTensor<T>();
        LocalTensor<T> b = bQueue.template AllocTensor<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(a, x1Global[first * d + c], copy, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(b, x2Global[first * d + c], copy2, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        aQueue.EnQue(a);
        bQueue.EnQue(b);
    }

    __aicore__ inline void AddSquares(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<T> a = aQueue.template DeQue<T>();
        LocalTensor<T> b = bQueue.template DeQue<T>();
        LocalTensor<float> factor = factorBuffer.template Get<float>();
        LocalTensor<float> total = totalBuffer.template Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.template Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.template Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.template Get<float>();
        Widen(total, a, count);
        LocalTensor<float> bWide = Widened(temporary0Buffer.template Get<float>(), b, count);
        Add(total, total, bWide, count);
        Mul(temporary0, total, total, count);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(factor, factor, temporary1, rows);
        aQueue.FreeTensor(a);
        bQueue.FreeTensor(b);
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

    __aicore__ inline void StoreFactor(int64_t first, int64_t rows_) {
        Flag<HardEvent::V_MTE3>();
        Flag<HardEvent::MTE2_MTE3>();
        LocalTensor<float> factor = factorBuffer.template Get<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(rows_ * sizeof(float)), 0, 0, 0};
        DataCopyPad(rstdGlobal[first], factor, copy);
        Flag<HardEvent::MTE3_V>();
    }

    __aicore__ inline void ReadAgain(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<T> a_again = a_againQueue.template AllocTensor<T>();
        LocalTensor<T> b_again = b_againQueue.template AllocTensor<T>();
        LocalTensor<T> scale = scaleQueue.template AllocTensor<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(a_again, x1Global[first * d + c], copy, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(b_again, x2Global[first * d + c], copy2, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(scale, gammaGlobal[c], copy3, DataCopyPadExtParams<T>{false, 0, 0, 0});
        a_againQueue.EnQue(a_again);
        b_againQueue.EnQue(b_again);
        scaleQueue.EnQue(scale);
    }

    __aicore__ inline void Normalise(int64_t rows_, int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<T> a_again = a_againQueue.template DeQue<T>();
        LocalTensor<T> b_again = b_againQueue.template DeQue<T>();
        LocalTensor<float> total = totalBuffer.template Get<float>();
        LocalTensor<float> factor = factorBuffer.template Get<float>();
        LocalTensor<T> scale = scaleQueue.template DeQue<T>();
        LocalTensor<float> wide_out = wide_outQueue.template AllocTensor<float>();
        LocalTensor<T> sum_out = sum_outQueue.template AllocTensor<T>();
        LocalTensor<T> result = resultQueue.template AllocTensor<T>();
        LocalTensor<float> temporary0 = temporary0Buffer.template Get<float>();
        Widen(total, a_again, count);
        LocalTensor<float> b_againWide = Widened(temporary0Buffer.template Get<float>(), b_again, count);
        Add(total, total, b_againWide, count);
        LocalTensor<float> sum_outWide = WideResult(temporary0Buffer.template Get<float>(), sum_out);
        Narrow(sum_out, total, count);
        MulColumn(wide_out, total, factor, temporary0, rows, cols, pitch);
        LocalTensor<float> scaleWide = Widened(temporary0Buffer.template Get<float>(), scale, cols);
        MulRow(wide_out, wide_out, scaleWide, rows, cols, pitch);
        LocalTensor<float> resultWide = WideResult(temporary0Buffer.template Get<float>(), result);
        Narrow(result, wide_out, count);
        sum_outQueue.EnQue(sum_out);
        wide_outQueue.EnQue(wide_out);
        resultQueue.EnQue(result);
        a_againQueue.FreeTensor(a_again);
        b_againQueue.FreeTensor(b_again);
        scaleQueue.FreeTensor(scale);
    }

    __aicore__ inline void CopyOut(int64_t first, int64_t c, int64_t rows_, int64_t cols_) {
        LocalTensor<float> wide_out = wide_outQueue.template DeQue<float>();
        LocalTensor<T> result = resultQueue.template DeQue<T>();
        LocalTensor<T> sum_out = sum_outQueue.template DeQue<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(float)),
            static_cast<uint32_t>((RoundUp(cols_, 16) * sizeof(float) - RoundUp(cols_ * sizeof(float), 32)) / 32),
                static_cast<uint32_t>((d - cols_) * sizeof(float)), 0};
        DataCopyPad(y1Global[first * d + c], wide_out, copy);
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((RoundUp(cols_, 16) * sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32),
                static_cast<uint32_t>((d - cols_) * sizeof(T)), 0};
        DataCopyPad(y2Global[first * d + c], result, copy2);
        const DataCopyExtParams copy3{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((RoundUp(cols_, 16) * sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32),
                static_cast<uint32_t>((d - cols_) * sizeof(T)), 0};
        DataCopyPad(xGlobal[first * d + c], sum_out, copy3);
        wide_outQueue.FreeTensor(wide_out);
        resultQueue.FreeTensor(result);
        sum_outQueue.FreeTensor(sum_out);
    }

    GlobalTensor<T> x1Global;
    GlobalTensor<T> x2Global;
    GlobalTensor<T> gammaGlobal;
    GlobalTensor<float> y1Global;
    GlobalTensor<T> y2Global;
    GlobalTensor<float> rstdGlobal;
    GlobalTensor<T> xGlobal;
    TQue<TPosition::VECIN, 1> aQueue;
    TQue<TPosition::VECIN, 1> bQueue;
    TQue<TPosition::VECIN, 1> a_againQueue;
    TQue<TPosition::VECIN, 1> b_againQueue;
    TQue<TPosition::VECIN, 1> scaleQueue;
    TBuf<TPosition::VECCALC> totalBuffer;
    TBuf<TPosition::VECCALC> factorBuffer;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TQue<TPosition::VECOUT, 1> sum_outQueue;
    TQue<TPosition::VECOUT, 1> wide_outQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    float epsilon;
    int64_t n;
    int64_t d;
    int64_t share;
    int64_t width;
    int64_t most;
};

extern "C" __global__ __aicore__ void add_rms_norm_cast(GM_ADDR x1, GM_ADDR x2, GM_ADDR gamma, GM_ADDR y1,
    GM_ADDR y2, GM_ADDR rstd, GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelAddRmsNormCast<DTYPE_X1> op;
    op.Init(&pipe, x1, x2, gamma, y1, y2, rstd, x, numbers);
    op.Process();
}
