// CraftLayerNorm: (x - mean) / sqrt(variance + eps) * gamma + beta over all axes but the first.
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

class KernelCraftLayerNorm {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y,
        const CraftLayerNormTilingData& numbers) {
        eps = numbers.eps;
        rows_ = numbers.rows;
        n = numbers.n;
        share = numbers.share;
        tile = numbers.tile;
        xGlobal.SetGlobalBuffer((__gm__ float*)x);
        gammaGlobal.SetGlobalBuffer((__gm__ float*)gamma);
        betaGlobal.SetGlobalBuffer((__gm__ float*)beta);
        yGlobal.SetGlobalBuffer((__gm__ float*)y);
        pipe->InitBuffer(x_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(againQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(lastQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(resultQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(meanBuffer, Bytes<float>(1));
        pipe->InitBuffer(spreadBuffer, Bytes<float>(1));
        pipe->InitBuffer(g_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(b_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(1)),
            Bytes<float>(tile)));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(1)),
            Bytes<float>(tile)));
        pipe->InitBuffer(temporary2Buffer, 7936u);
    }

    __aicore__ inline void Process() {
        const int64_t first = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t row = first; row < Least<int64_t>(first + share, rows_); ++row) {
            StartMean();
            int64_t length = 0;
            for (int64_t offset = 0; offset < n; offset += tile) {
                length = Least<int64_t>(tile, n - offset);
                Read(row, offset, length);
                AddStage(length);
            }
            EndMean();
            for (int64_t offset = 0; offset < n; offset += tile) {
                length = Least<int64_t>(tile, n - offset);
                ReadAgain(row, offset, length);
                AddSquares(length);
            }
            EndSpread();
            for (int64_t offset = 0; offset < n; offset += tile) {
                length = Least<int64_t>(tile, n - offset);
                ReadLast(row, offset, length);
                Scale(length);
                CopyOut(row, offset, length);
            }
        }
    }

  private:
    __aicore__ inline void StartMean() {
        const uint32_t rows = 1;
        LocalTensor<float> mean = meanBuffer.Get<float>();
        LocalTensor<float> spread = spreadBuffer.Get<float>();
        Duplicate(mean, 0.0f, rows);
        Duplicate(spread, 0.0f, rows);
    }

    __aicore__ inline void Read(int64_t row, int64_t offset, int64_t length) {
        LocalTensor<float> x_tile = x_tileQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(x_tile, xGlobal[row * n + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        x_tileQueue.EnQue(x_tile);
    }

    __aicore__ inline void AddStage(int64_t length) {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(length);
        const uint32_t pitch = cols;
        LocalTensor<float> mean = meanBuffer.Get<float>();
        LocalTensor<float> x_tile = x_tileQueue.DeQue<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        RowSum(temporary0, x_tile, temporary1, rows, cols, pitch);
        Add(mean, mean, temporary0, rows);
        x_tileQueue.FreeTensor(x_tile);
    }

    __aicore__ inline void EndMean() {
        const uint32_t rows = 1;
        LocalTensor<float> mean = meanBuffer.Get<float>();
        Muls(mean, mean, 1.0f / (static_cast<float>(n)), rows);
    }

    __aicore__ inline void ReadAgain(int64_t row, int64_t offset, int64_t length) {
        LocalTensor<float> again = againQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(again, xGlobal[row * n + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        againQueue.EnQue(again);
    }

    __aicore__ inline void AddSquares(int64_t length) {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(length);
        const uint32_t pitch = cols;
        const uint32_t count = cols;
        LocalTensor<float> spread = spreadBuffer.Get<float>();
        LocalTensor<float> again = againQueue.DeQue<float>();
        LocalTensor<float> mean = meanBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.Get<float>();
        SubColumn(temporary0, again, mean, temporary1, rows, cols, pitch);
        SubColumn(temporary1, again, mean, temporary2, rows, cols, pitch);
        Mul(temporary0, temporary0, temporary1, count);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(spread, spread, temporary1, rows);
        againQueue.FreeTensor(again);
    }

    __aicore__ inline void EndSpread() {
        const uint32_t rows = 1;
        LocalTensor<float> spread = spreadBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        Muls(spread, spread, 1.0f / (static_cast<float>(n)), rows);
        Adds(spread, spread, eps, rows);
        Sqrt(spread, spread, rows);
        Duplicate(temporary0, 1.0f, rows);
        Div(spread, temporary0, spread, rows);
    }

    __aicore__ inline void ReadLast(int64_t row, int64_t offset, int64_t length) {
        LocalTensor<float> last = lastQueue.AllocTensor<float>();
        LocalTensor<float> g_tile = g_tileQueue.AllocTensor<float>();
        LocalTensor<float> b_tile = b_tileQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(last, xGlobal[row * n + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(g_tile, gammaGlobal[offset], copy2, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(b_tile, betaGlobal[offset], copy3, DataCopyPadExtParams<float>{false, 0, 0, 0});
        lastQueue.EnQue(last);
        g_tileQueue.EnQue(g_tile);
        b_tileQueue.EnQue(b_tile);
    }

    __aicore__ inline void Scale(int64_t length) {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(length);
        const uint32_t pitch = cols;
        const uint32_t count = cols;
        LocalTensor<float> last = lastQueue.DeQue<float>();
        LocalTensor<float> mean = meanBuffer.Get<float>();
        LocalTensor<float> spread = spreadBuffer.Get<float>();
        LocalTensor<float> g_tile = g_tileQueue.DeQue<float>();
        LocalTensor<float> b_tile = b_tileQueue.DeQue<float>();
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        SubColumn(result, last, mean, temporary0, rows, cols, pitch);
        MulColumn(result, result, spread, temporary0, rows, cols, pitch);
        Mul(result, result, g_tile, count);
        Add(result, result, b_tile, count);
        resultQueue.EnQue(result);
        lastQueue.FreeTensor(last);
        g_tileQueue.FreeTensor(g_tile);
        b_tileQueue.FreeTensor(b_tile);
    }

    __aicore__ inline void CopyOut(int64_t row, int64_t offset, int64_t length) {
        LocalTensor<float> result = resultQueue.DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGlobal[row * n + offset], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<float> xGlobal;
    GlobalTensor<float> gammaGlobal;
    GlobalTensor<float> betaGlobal;
    GlobalTensor<float> yGlobal;
    TQue<TPosition::VECIN, 1> x_tileQueue;
    TQue<TPosition::VECIN, 1> againQueue;
    TQue<TPosition::VECIN, 1> lastQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> meanBuffer;
    TBuf<TPosition::VECCALC> spreadBuffer;
    TQue<TPosition::VECIN, 1> g_tileQueue;
    TQue<TPosition::VECIN, 1> b_tileQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    float eps;
    int64_t rows_;
    int64_t n;
    int64_t share;
    int64_t tile;
};

extern "C" __global__ __aicore__ void craft_layer_norm(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y,
    GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftLayerNorm op;
    op.Init(&pipe, x, gamma, beta, y, numbers);
    op.Process();
}
