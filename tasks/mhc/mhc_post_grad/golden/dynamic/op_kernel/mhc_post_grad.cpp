// MhcPostGrad: gradients of y_i = sum_j h_res_ij x_j + h_post_i h_out, four streams per token.
//
// A row of h_res is a column of a tile whose rows are streams; the gradients of coefficients are sums of rows, piece
// by piece.
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
class KernelMhcPostGrad {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR grad_y, GM_ADDR x, GM_ADDR h_res, GM_ADDR h_out, GM_ADDR h_post,
        GM_ADDR grad_x, GM_ADDR grad_h_res, GM_ADDR grad_h_out, GM_ADDR grad_h_post,
            const MhcPostGradTilingData& numbers) {
        n = numbers.n;
        d = numbers.d;
        share = numbers.share;
        width = numbers.width;
        grad_yGlobal.SetGlobalBuffer((__gm__ T*)grad_y);
        xGlobal.SetGlobalBuffer((__gm__ T*)x);
        h_resGlobal.SetGlobalBuffer((__gm__ float*)h_res);
        h_outGlobal.SetGlobalBuffer((__gm__ T*)h_out);
        h_postGlobal.SetGlobalBuffer((__gm__ float*)h_post);
        grad_xGlobal.SetGlobalBuffer((__gm__ T*)grad_x);
        grad_h_resGlobal.SetGlobalBuffer((__gm__ float*)grad_h_res);
        grad_h_outGlobal.SetGlobalBuffer((__gm__ T*)grad_h_out);
        grad_h_postGlobal.SetGlobalBuffer((__gm__ float*)grad_h_post);
        pipe->InitBuffer(streamsQueue, 2, Bytes<T>(4 * RoundUp(width, 16)));
        pipe->InitBuffer(gradientsQueue, 2, Bytes<T>(4 * RoundUp(width, 16)));
        pipe->InitBuffer(layerQueue, 2, Bytes<T>(width));
        pipe->InitBuffer(weightBuffer, Bytes<float>(4));
        pipe->InitBuffer(g0Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(g1Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(g2Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(g3Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(h0Buffer, Bytes<float>(4));
        pipe->InitBuffer(h1Buffer, Bytes<float>(4));
        pipe->InitBuffer(h2Buffer, Bytes<float>(4));
        pipe->InitBuffer(h3Buffer, Bytes<float>(4));
        pipe->InitBuffer(r0Buffer, Bytes<float>(4));
        pipe->InitBuffer(r1Buffer, Bytes<float>(4));
        pipe->InitBuffer(r2Buffer, Bytes<float>(4));
        pipe->InitBuffer(r3Buffer, Bytes<float>(4));
        pipe->InitBuffer(qBuffer, Bytes<float>(4));
        pipe->InitBuffer(wideBuffer, Bytes<float>(4 * RoundUp(width, 16)));
        pipe->InitBuffer(wide_xBuffer, Bytes<float>(4 * RoundUp(width, 16)));
        pipe->InitBuffer(totalBuffer, Bytes<float>(4 * RoundUp(width, 16)));
        pipe->InitBuffer(rowBuffer, Bytes<float>(width));
        pipe->InitBuffer(stream_outQueue, 2, Bytes<T>(4 * RoundUp(width, 16)));
        pipe->InitBuffer(layer_outQueue, 2, Bytes<T>(width));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(4 *
            RoundUp(width, 16))), Bytes<float>(width)));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(4 *
            RoundUp(width, 16))), Bytes<float>(4)));
        pipe->InitBuffer(temporary2Buffer, 4096u);
    }

    __aicore__ inline void Process() {
        const int64_t begin = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t t = begin; t < Least<int64_t>(begin + share, n); ++t) {
            ReadCoefficients(t);
            StartToken();
            for (int64_t c = 0; c < d; c += width) {
                const int64_t cols_ = Least<int64_t>(width, d - c);
                CopyIn(t, c, cols_);
                Differentiate(cols_);
                CopyOut(t, c, cols_);
            }
            StoreCoefficients(t);
        }
    }

  private:
    __aicore__ inline void ReadCoefficients(int64_t t) {
        Flag<HardEvent::V_MTE2>();
        Flag<HardEvent::MTE3_MTE2>();
        LocalTensor<float> weight = weightBuffer.template Get<float>();
        LocalTensor<float> h0 = h0Buffer.template Get<float>();
        LocalTensor<float> h1 = h1Buffer.template Get<float>();
        LocalTensor<float> h2 = h2Buffer.template Get<float>();
        LocalTensor<float> h3 = h3Buffer.template Get<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(4 * sizeof(float)), 0, 0, 0};
        DataCopyPad(weight, h_postGlobal[t * 4], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(4 * sizeof(float)), 0, 0, 0};
        DataCopyPad(h0, h_resGlobal[t * 16 + 0], copy2, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(4 * sizeof(float)), 0, 0, 0};
        DataCopyPad(h1, h_resGlobal[t * 16 + 4], copy3, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy4{1, static_cast<uint32_t>(4 * sizeof(float)), 0, 0, 0};
        DataCopyPad(h2, h_resGlobal[t * 16 + 8], copy4, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy5{1, static_cast<uint32_t>(4 * sizeof(float)), 0, 0, 0};
        DataCopyPad(h3, h_resGlobal[t * 16 + 12], copy5, DataCopyPadExtParams<float>{false, 0, 0, 0});
        Flag<HardEvent::MTE2_V>();
    }

    __aicore__ inline void StartToken() {
        const uint32_t rows = static_cast<uint32_t>(4);
        LocalTensor<float> r0 = r0Buffer.template Get<float>();
        LocalTensor<float> r1 = r1Buffer.template Get<float>();
        LocalTensor<float> r2 = r2Buffer.template Get<float>();
        LocalTensor<float> r3 = r3Buffer.template Get<float>();
        LocalTensor<float> q = qBuffer.template Get<float>();
        Duplicate(r0, 0.0f, rows);
        Duplicate(r1, 0.0f, rows);
        Duplicate(r2, 0.0f, rows);
        Duplicate(r3, 0.0f, rows);
        Duplicate(q, 0.0f, rows);
    }

    __aicore__ inline void CopyIn(int64_t t, int64_t c, int64_t cols_) {
        LocalTensor<T> streams = streamsQueue.template AllocTensor<T>();
        LocalTensor<T> gradients = gradientsQueue.template AllocTensor<T>();
        LocalTensor<T> layer = layerQueue.template AllocTensor<T>();
        LocalTensor<T> g0 = g0Queue.template AllocTensor<T>();
        LocalTensor<T> g1 = g1Queue.template AllocTensor<T>();
        LocalTensor<T> g2 = g2Queue.template AllocTensor<T>();
        LocalTensor<T> g3 = g3Queue.template AllocTensor<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(4), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(streams, xGlobal[t * 4 * d + c], copy, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        const DataCopyExtParams copy2{static_cast<uint16_t>(4), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((d - cols_) * sizeof(T)), static_cast<uint32_t>((RoundUp(cols_, 16) *
                sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32), 0};
        DataCopyPad(gradients, grad_yGlobal[t * 4 * d + c], copy2, DataCopyPadExtParams<T>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(T), 32) - cols_ * sizeof(T)) / sizeof(T)), 0});
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(layer, h_outGlobal[t * d + c], copy3, DataCopyPadExtParams<T>{false, 0, 0, 0});
        const DataCopyExtParams copy4{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(g0, grad_yGlobal[(t * 4 + 0) * d + c], copy4, DataCopyPadExtParams<T>{false, 0, 0, 0});
        const DataCopyExtParams copy5{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(g1, grad_yGlobal[(t * 4 + 1) * d + c], copy5, DataCopyPadExtParams<T>{false, 0, 0, 0});
        const DataCopyExtParams copy6{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(g2, grad_yGlobal[(t * 4 + 2) * d + c], copy6, DataCopyPadExtParams<T>{false, 0, 0, 0});
        const DataCopyExtParams copy7{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(g3, grad_yGlobal[(t * 4 + 3) * d + c], copy7, DataCopyPadExtParams<T>{false, 0, 0, 0});
        streamsQueue.EnQue(streams);
        gradientsQueue.EnQue(gradients);
        layerQueue.EnQue(layer);
        g0Queue.EnQue(g0);
        g1Queue.EnQue(g1);
        g2Queue.EnQue(g2);
        g3Queue.EnQue(g3);
    }

    __aicore__ inline void Differentiate(int64_t cols_) {
        const uint32_t rows = static_cast<uint32_t>(4);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<T> gradients = gradientsQueue.template DeQue<T>();
        LocalTensor<T> streams = streamsQueue.template DeQue<T>();
        LocalTensor<T> layer = layerQueue.template DeQue<T>();
        LocalTensor<float> q = qBuffer.template Get<float>();
        LocalTensor<float> wide = wideBuffer.template Get<float>();
        LocalTensor<float> row = rowBuffer.template Get<float>();
        LocalTensor<float> weight = weightBuffer.template Get<float>();
        LocalTensor<T> g0 = g0Queue.template DeQue<T>();
        LocalTensor<float> r0 = r0Buffer.template Get<float>();
        LocalTensor<float> wide_x = wide_xBuffer.template Get<float>();
        LocalTensor<float> h0 = h0Buffer.template Get<float>();
        LocalTensor<T> g1 = g1Queue.template DeQue<T>();
        LocalTensor<float> r1 = r1Buffer.template Get<float>();
        LocalTensor<float> total = totalBuffer.template Get<float>();
        LocalTensor<float> h1 = h1Buffer.template Get<float>();
        LocalTensor<T> g2 = g2Queue.template DeQue<T>();
        LocalTensor<float> r2 = r2Buffer.template Get<float>();
        LocalTensor<float> h2 = h2Buffer.template Get<float>();
        LocalTensor<T> g3 = g3Queue.template DeQue<T>();
        LocalTensor<float> r3 = r3Buffer.template Get<float>();
        LocalTensor<float> h3 = h3Buffer.template Get<float>();
        LocalTensor<T> layer_out = layer_outQueue.template AllocTensor<T>();
        LocalTensor<T> stream_out = stream_outQueue.template AllocTensor<T>();
        LocalTensor<float> temporary0 = temporary0Buffer.template Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.template Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.template Get<float>();
        Widen(wide, gradients, count);
        Widen(wide_x, streams, count);
        Widen(row, layer, cols);
        MulRow(temporary0, wide, row, rows, cols, pitch);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(q, q, temporary1, rows);
        MulColumn(temporary0, wide, weight, temporary1, rows, cols, pitch);
        ColSum(row, temporary0, temporary1, rows, cols, pitch);
        LocalTensor<float> layer_outWide = WideResult(temporary0Buffer.template Get<float>(), layer_out);
        Narrow(layer_out, row, cols);
        Duplicate(wide, 1.0f, count);
        Widen(row, g0, cols);
        MulRow(temporary0, wide_x, row, rows, cols, pitch);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(r0, r0, temporary1, rows);
        MulColumn(total, wide, h0, temporary0, rows, cols, pitch);
        MulRow(total, total, row, rows, cols, pitch);
        Widen(row, g1, cols);
        MulRow(temporary0, wide_x, row, rows, cols, pitch);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(r1, r1, temporary1, rows);
        MulColumn(temporary0, wide, h1, temporary1, rows, cols, pitch);
        MulRow(temporary0, temporary0, row, rows, cols, pitch);
        Add(total, total, temporary0, count);
        Widen(row, g2, cols);
        MulRow(temporary0, wide_x, row, rows, cols, pitch);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(r2, r2, temporary1, rows);
        MulColumn(temporary0, wide, h2, temporary1, rows, cols, pitch);
        MulRow(temporary0, temporary0, row, rows, cols, pitch);
        Add(total, total, temporary0, count);
        Widen(row, g3, cols);
        MulRow(temporary0, wide_x, row, rows, cols, pitch);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(r3, r3, temporary1, rows);
        MulColumn(temporary0, wide, h3, temporary1, rows, cols, pitch);
        MulRow(temporary0, temporary0, row, rows, cols, pitch);
        Add(total, total, temporary0, count);
        LocalTensor<float> stream_outWide = WideResult(temporary0Buffer.template Get<float>(), stream_out);
        Narrow(stream_out, total, count);
        layer_outQueue.EnQue(layer_out);
        stream_outQueue.EnQue(stream_out);
        gradientsQueue.FreeTensor(gradients);
        streamsQueue.FreeTensor(streams);
        layerQueue.FreeTensor(layer);
        g0Queue.FreeTensor(g0);
        g1Queue.FreeTensor(g1);
        g2Queue.FreeTensor(g2);
        g3Queue.FreeTensor(g3);
    }

    __aicore__ inline void CopyOut(int64_t t, int64_t c, int64_t cols_) {
        LocalTensor<T> stream_out = stream_outQueue.template DeQue<T>();
        LocalTensor<T> layer_out = layer_outQueue.template DeQue<T>();
        const DataCopyExtParams copy{static_cast<uint16_t>(4), static_cast<uint32_t>(cols_ * sizeof(T)),
            static_cast<uint32_t>((RoundUp(cols_, 16) * sizeof(T) - RoundUp(cols_ * sizeof(T), 32)) / 32),
                static_cast<uint32_t>((d - cols_) * sizeof(T)), 0};
        DataCopyPad(grad_xGlobal[t * 4 * d + c], stream_out, copy);
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(grad_h_outGlobal[t * d + c], layer_out, copy2);
        stream_outQueue.FreeTensor(stream_out);
        layer_outQueue.FreeTensor(layer_out);
    }

    __aicore__ inline void StoreCoefficients(int64_t t) {
        Flag<HardEvent::V_MTE3>();
        Flag<HardEvent::MTE2_MTE3>();
        LocalTensor<float> q = qBuffer.template Get<float>();
        LocalTensor<float> r0 = r0Buffer.template Get<float>();
        LocalTensor<float> r1 = r1Buffer.template Get<float>();
        LocalTensor<float> r2 = r2Buffer.template Get<float>();
        LocalTensor<float> r3 = r3Buffer.template Get<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(4 * sizeof(float)), 0, 0, 0};
        DataCopyPad(grad_h_postGlobal[t * 4], q, copy);
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(4 * sizeof(float)), 0, 0, 0};
        DataCopyPad(grad_h_resGlobal[t * 16 + 0], r0, copy2);
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(4 * sizeof(float)), 0, 0, 0};
        DataCopyPad(grad_h_resGlobal[t * 16 + 4], r1, copy3);
        const DataCopyExtParams copy4{1, static_cast<uint32_t>(4 * sizeof(float)), 0, 0, 0};
        DataCopyPad(grad_h_resGlobal[t * 16 + 8], r2, copy4);
        const DataCopyExtParams copy5{1, static_cast<uint32_t>(4 * sizeof(float)), 0, 0, 0};
        DataCopyPad(grad_h_resGlobal[t * 16 + 12], r3, copy5);
        Flag<HardEvent::MTE3_V>();
    }

    GlobalTensor<T> grad_yGlobal;
    GlobalTensor<T> xGlobal;
    GlobalTensor<float> h_resGlobal;
    GlobalTensor<T> h_outGlobal;
    GlobalTensor<float> h_postGlobal;
    GlobalTensor<T> grad_xGlobal;
    GlobalTensor<float> grad_h_resGlobal;
    GlobalTensor<T> grad_h_outGlobal;
    GlobalTensor<float> grad_h_postGlobal;
    TQue<TPosition::VECIN, 1> streamsQueue;
    TQue<TPosition::VECIN, 1> gradientsQueue;
    TQue<TPosition::VECIN, 1> layerQueue;
    TBuf<TPosition::VECCALC> weightBuffer;
    TQue<TPosition::VECIN, 1> g0Queue;
    TQue<TPosition::VECIN, 1> g1Queue;
    TQue<TPosition::VECIN, 1> g2Queue;
    TQue<TPosition::VECIN, 1> g3Queue;
    TBuf<TPosition::VECCALC> h0Buffer;
    TBuf<TPosition::VECCALC> h1Buffer;
    TBuf<TPosition::VECCALC> h2Buffer;
    TBuf<TPosition::VECCALC> h3Buffer;
    TBuf<TPosition::VECCALC> r0Buffer;
    TBuf<TPosition::VECCALC> r1Buffer;
    TBuf<TPosition::VECCALC> r2Buffer;
    TBuf<TPosition::VECCALC> r3Buffer;
    TBuf<TPosition::VECCALC> qBuffer;
    TBuf<TPosition::VECCALC> wideBuffer;
    TBuf<TPosition::VECCALC> wide_xBuffer;
    TBuf<TPosition::VECCALC> totalBuffer;
    TBuf<TPosition::VECCALC> rowBuffer;
    TQue<TPosition::VECOUT, 1> stream_outQueue;
    TQue<TPosition::VECOUT, 1> layer_outQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    int64_t n;
    int64_t d;
    int64_t share;
    int64_t width;
};

extern "C" __global__ __aicore__ void mhc_post_grad(GM_ADDR grad_y, GM_ADDR x, GM_ADDR h_res, GM_ADDR h_out,
    GM_ADDR h_post, GM_ADDR grad_x, GM_ADDR grad_h_res, GM_ADDR grad_h_out, GM_ADDR grad_h_post, GM_ADDR workspace,
        GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelMhcPostGrad<DTYPE_GRAD_Y> op;
    op.Init(&pipe, grad_y, x, h_res, h_out, h_post, grad_x, grad_h_res, grad_h_out, grad_h_post, numbers);
    op.Process();
}
