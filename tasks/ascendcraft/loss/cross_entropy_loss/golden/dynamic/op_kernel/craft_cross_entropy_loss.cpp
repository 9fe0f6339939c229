// CraftCrossEntropyLoss: the mean over rows of ln(sum exp(p)) - p[target].
//
// The largest logit and the sum of a row are found together: where a tile has a larger one, the sum so far is scaled.
//
// Every core sums over its rows; when all have met, the first one adds the sums.
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
}  // namespace

class KernelCraftCrossEntropyLoss {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR predictions, GM_ADDR targets, GM_ADDR y, GM_ADDR sums,
        const CraftCrossEntropyLossTilingData& numbers) {
        n = numbers.n;
        d = numbers.d;
        share = numbers.share;
        tile = numbers.tile;
        parts = numbers.parts;
        scale = numbers.scale;
        predictionsGlobal.SetGlobalBuffer((__gm__ float*)predictions);
        targetsGlobal.SetGlobalBuffer((__gm__ int64_t*)targets);
        yGlobal.SetGlobalBuffer((__gm__ float*)y);
        sumsGlobal.SetGlobalBuffer((__gm__ float*)sums);
        pipe->InitBuffer(logitsQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(topBuffer, Bytes<float>(1));
        pipe->InitBuffer(higherBuffer, Bytes<float>(1));
        pipe->InitBuffer(totalBuffer, Bytes<float>(1));
        pipe->InitBuffer(ownBuffer, Bytes<float>(1));
        pipe->InitBuffer(all_sumsQueue, 1, Bytes<float>(parts));
        pipe->InitBuffer(resultQueue, 1, Bytes<float>(1));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(4096u, Bytes<float>(1)),
            Bytes<float>(tile)));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(7936u, Bytes<float>(1)));
        pipe->InitBuffer(temporary2Buffer, 4096u);
    }

    __aicore__ inline void Process() {
        const int64_t first = static_cast<int64_t>(GetBlockIdx()) * share;
        Clear();
        for (int64_t row = first; row < Least<int64_t>(first + share, n); ++row) {
            const float picked = predictionsGlobal.GetValue(row * d + targetsGlobal.GetValue(row));
            StartRow();
            for (int64_t offset = 0; offset < d; offset += tile) {
                const int64_t length = Least<int64_t>(tile, d - offset);
                CopyIn(row, offset, length);
                AddStage(length);
            }
            EndRow(picked);
        }
        StoreSum();
        PipeBarrier<PIPE_ALL>();
        SyncAll();
        if (static_cast<int64_t>(GetBlockIdx()) == 0) {
            LoadSums();
            Finish();
            StoreLoss();
        }
    }

  private:
    __aicore__ inline void Clear() {
        const uint32_t rows = 1;
        LocalTensor<float> own = ownBuffer.Get<float>();
        Duplicate(own, 0.0f, rows);
    }

    __aicore__ inline void StartRow() {
        const uint32_t rows = 1;
        LocalTensor<float> top = topBuffer.Get<float>();
        LocalTensor<float> total = totalBuffer.Get<float>();
        Duplicate(top, -3e+38f, rows);
        Duplicate(total, 0.0f, rows);
    }

    __aicore__ inline void CopyIn(int64_t row, int64_t offset, int64_t length) {
        LocalTensor<float> logits = logitsQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(logits, predictionsGlobal[row * d + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        logitsQueue.EnQue(logits);
    }

    __aicore__ inline void AddStage(int64_t length) {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(length);
        const uint32_t pitch = cols;
        const uint32_t count = cols;
        LocalTensor<float> top = topBuffer.Get<float>();
        LocalTensor<float> logits = logitsQueue.DeQue<float>();
        LocalTensor<float> total = totalBuffer.Get<float>();
        LocalTensor<float> higher = higherBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.Get<float>();
        RowMax(higher, logits, temporary0, rows, cols, pitch);
        Max(higher, top, higher, rows);
        Sub(temporary0, top, higher, rows);
        Exp(temporary0, temporary0, rows);
        Mul(total, total, temporary0, rows);
        SubColumn(temporary0, logits, higher, temporary1, rows, cols, pitch);
        Exp(temporary0, temporary0, count);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(total, total, temporary1, rows);
        Adds(top, higher, 0.0f, rows);
        logitsQueue.FreeTensor(logits);
    }

    __aicore__ inline void EndRow(float picked) {
        const uint32_t rows = 1;
        LocalTensor<float> own = ownBuffer.Get<float>();
        LocalTensor<float> total = totalBuffer.Get<float>();
        LocalTensor<float> top = topBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        Ln(temporary0, total, rows);
        Add(temporary0, temporary0, top, rows);
        Adds(temporary0, temporary0, -(picked), rows);
        Add(own, own, temporary0, rows);
    }

    __aicore__ inline void StoreSum() {
        Flag<HardEvent::V_MTE3>();
        Flag<HardEvent::MTE2_MTE3>();
        LocalTensor<float> own = ownBuffer.Get<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(1 * sizeof(float)), 0, 0, 0};
        DataCopyPad(sumsGlobal[static_cast<int64_t>(GetBlockIdx())], own, copy);
        Flag<HardEvent::MTE3_V>();
    }

    __aicore__ inline void LoadSums() {
        LocalTensor<float> all_sums = all_sumsQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(parts * sizeof(float)), 0, 0, 0};
        DataCopyPad(all_sums, sumsGlobal[0], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        all_sumsQueue.EnQue(all_sums);
    }

    __aicore__ inline void Finish() {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(parts);
        const uint32_t pitch = cols;
        LocalTensor<float> all_sums = all_sumsQueue.DeQue<float>();
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        RowSum(result, all_sums, temporary0, rows, cols, pitch);
        Muls(result, result, scale, rows);
        resultQueue.EnQue(result);
        all_sumsQueue.FreeTensor(all_sums);
    }

    __aicore__ inline void StoreLoss() {
        LocalTensor<float> result = resultQueue.DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(1 * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGlobal[0], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<float> predictionsGlobal;
    GlobalTensor<int64_t> targetsGlobal;
    GlobalTensor<float> yGlobal;
    GlobalTensor<float> sumsGlobal;
    TQue<TPosition::VECIN, 1> logitsQueue;
    TBuf<TPosition::VECCALC> topBuffer;
    TBuf<TPosition::VECCALC> higherBuffer;
    TBuf<TPosition::VECCALC> totalBuffer;
    TBuf<TPosition::VECCALC> ownBuffer;
    TQue<TPosition::VECIN, 1> all_sumsQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    int64_t n;
    int64_t d;
    int64_t share;
    int64_t tile;
    int64_t parts;
    float scale;
};

extern "C" __global__ __aicore__ void craft_cross_entropy_loss(GM_ADDR predictions, GM_ADDR targets, GM_ADDR y,
    GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftCrossEntropyLoss op;
    op.Init(&pipe, predictions, targets, y, GetUserWorkspace(workspace), numbers);
    op.Process();
}
