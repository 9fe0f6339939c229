// CraftL1Norm: rows divided by the mean magnitude of their elements.
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

class KernelCraftL1Norm {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const CraftL1NormTilingData& numbers) {
        rows_ = numbers.rows;
        n = numbers.n;
        share = numbers.share;
        tile = numbers.tile;
        xGlobal.SetGlobalBuffer((__gm__ float*)x);
        yGlobal.SetGlobalBuffer((__gm__ float*)y);
        pipe->InitBuffer(x_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(againQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(resultQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(factorBuffer, Bytes<float>(1));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(1)),
            Bytes<float>(tile)));
        pipe->InitBuffer(temporary1Buffer, Bytes<float>(1));
        pipe->InitBuffer(temporary2Buffer, 4096u);
    }

    __aicore__ inline void Process() {
        const int64_t first = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t row = first; row < Least<int64_t>(first + share, rows_); ++row) {
            StartRow();
            int64_t length = 0;
            for (int64_t offset = 0; offset < n; offset += tile) {
                length = Least<int64_t>(tile, n - offset);
                Read(row, offset, length);
                AddStage(length);
            }
            EndRow();
            for (int64_t offset = 0; offset < n; offset += tile) {
                length = Least<int64_t>(tile, n - offset);
                ReadAgain(row, offset, length);
                Scale(length);
                CopyOut(row, offset, length);
            }
        }
    }

  private:
    __aicore__ inline void StartRow() {
        const uint32_t rows = 1;
        LocalTensor<float> factor = factorBuffer.Get<float>();
        Duplicate(factor, 0.0f, rows);
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
        const uint32_t count = cols;
        LocalTensor<float> factor = factorBuffer.Get<float>();
        LocalTensor<float> x_tile = x_tileQueue.DeQue<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.Get<float>();
        Abs(temporary0, x_tile, count);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(factor, factor, temporary1, rows);
        x_tileQueue.FreeTensor(x_tile);
    }

    __aicore__ inline void EndRow() {
        const uint32_t rows = 1;
        LocalTensor<float> factor = factorBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        Duplicate(temporary0, static_cast<float>(n), rows);
        Div(factor, temporary0, factor, rows);
    }

    __aicore__ inline void ReadAgain(int64_t row, int64_t offset, int64_t length) {
        LocalTensor<float> again = againQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(again, xGlobal[row * n + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        againQueue.EnQue(again);
    }

    __aicore__ inline void Scale(int64_t length) {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(length);
        const uint32_t pitch = cols;
        LocalTensor<float> again = againQueue.DeQue<float>();
        LocalTensor<float> factor = factorBuffer.Get<float>();
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        MulColumn(result, again, factor, temporary0, rows, cols, pitch);
        resultQueue.EnQue(result);
        againQueue.FreeTensor(again);
    }

    __aicore__ inline void CopyOut(int64_t row, int64_t offset, int64_t length) {
        LocalTensor<float> result = resultQueue.DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGlobal[row * n + offset], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<float> xGlobal;
    GlobalTensor<float> yGlobal;
    TQue<TPosition::VECIN, 1> x_tileQueue;
    TQue<TPosition::VECIN, 1> againQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> factorBuffer;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    int64_t rows_;
    int64_t n;
    int64_t share;
    int64_t tile;
};

extern "C" __global__ __aicore__ void craft_l1_norm(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftL1Norm op;
    op.Init(&pipe, x, y, numbers);
    op.Process();
}
