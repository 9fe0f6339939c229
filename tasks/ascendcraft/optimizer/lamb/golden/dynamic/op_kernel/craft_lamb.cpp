// CraftLamb: param - lr * |param| / (|r| + eps) * r with r = m / (sqrt(v) + eps).
//
// Every core sums the squares of its share; when all have met, every core adds the sums and takes its share of the
// step.
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

class KernelCraftLamb {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR param, GM_ADDR m, GM_ADDR v, GM_ADDR param_out, GM_ADDR sums,
        const CraftLambTilingData& numbers) {
        lr = numbers.lr;
        eps = numbers.eps;
        total = numbers.total;
        share = numbers.share;
        tile = numbers.tile;
        parts = numbers.parts;
        paramGlobal.SetGlobalBuffer((__gm__ float*)param);
        mGlobal.SetGlobalBuffer((__gm__ float*)m);
        vGlobal.SetGlobalBuffer((__gm__ float*)v);
        param_outGlobal.SetGlobalBuffer((__gm__ float*)param_out);
        sumsGlobal.SetGlobalBuffer((__gm__ float*)sums);
        pipe->InitBuffer(p_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(m_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(v_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(p_againQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(m_againQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(v_againQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(resultQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(rBuffer, Bytes<float>(tile));
        pipe->InitBuffer(p_sumBuffer, Bytes<float>(1));
        pipe->InitBuffer(r_sumBuffer, Bytes<float>(1));
        pipe->InitBuffer(stepBuffer, Bytes<float>(1));
        pipe->InitBuffer(p_sumsQueue, 1, Bytes<float>(parts));
        pipe->InitBuffer(r_sumsQueue, 1, Bytes<float>(parts));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(1)),
            Bytes<float>(tile)));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(4096u, Bytes<float>(1)));
        pipe->InitBuffer(temporary2Buffer, 4096u);
    }

    __aicore__ inline void Process() {
        const int64_t begin = static_cast<int64_t>(GetBlockIdx()) * share;
        const int64_t count_ = Least<int64_t>(share, total - begin);
        Clear();
        int64_t length = 0;
        for (int64_t offset = 0; offset < count_; offset += tile) {
            length = Least<int64_t>(tile, count_ - offset);
            Read(begin, offset, length);
            AddStage(length);
        }
        StoreSums();
        PipeBarrier<PIPE_ALL>();
        SyncAll();
        LoadSums();
        FindStep();
        for (int64_t offset = 0; offset < count_; offset += tile) {
            length = Least<int64_t>(tile, count_ - offset);
            ReadAgain(begin, offset, length);
            Update(length);
            CopyOut(begin, offset, length);
        }
    }

  private:
    __aicore__ inline void Clear() {
        const uint32_t rows = 1;
        LocalTensor<float> p_sum = p_sumBuffer.Get<float>();
        LocalTensor<float> r_sum = r_sumBuffer.Get<float>();
        Duplicate(p_sum, 0.0f, rows);
        Duplicate(r_sum, 0.0f, rows);
    }

    __aicore__ inline void Read(int64_t begin, int64_t offset, int64_t length) {
        LocalTensor<float> p_tile = p_tileQueue.AllocTensor<float>();
        LocalTensor<float> m_tile = m_tileQueue.AllocTensor<float>();
        LocalTensor<float> v_tile = v_tileQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(p_tile, paramGlobal[begin + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(m_tile, mGlobal[begin + offset], copy2, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(v_tile, vGlobal[begin + offset], copy3, DataCopyPadExtParams<float>{false, 0, 0, 0});
        p_tileQueue.EnQue(p_tile);
        m_tileQueue.EnQue(m_tile);
        v_tileQueue.EnQue(v_tile);
    }

    __aicore__ inline void AddStage(int64_t length) {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(length);
        const uint32_t pitch = cols;
        const uint32_t count = cols;
        LocalTensor<float> m_tile = m_tileQueue.DeQue<float>();
        LocalTensor<float> v_tile = v_tileQueue.DeQue<float>();
        LocalTensor<float> p_sum = p_sumBuffer.Get<float>();
        LocalTensor<float> p_tile = p_tileQueue.DeQue<float>();
        LocalTensor<float> r_sum = r_sumBuffer.Get<float>();
        LocalTensor<float> r = rBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.Get<float>();
        Sqrt(r, v_tile, count);
        Adds(r, r, eps, count);
        Div(r, m_tile, r, count);
        Mul(temporary0, p_tile, p_tile, count);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(p_sum, p_sum, temporary1, rows);
        Mul(temporary0, r, r, count);
        RowSum(temporary1, temporary0, temporary2, rows, cols, pitch);
        Add(r_sum, r_sum, temporary1, rows);
        m_tileQueue.FreeTensor(m_tile);
        v_tileQueue.FreeTensor(v_tile);
        p_tileQueue.FreeTensor(p_tile);
    }

    __aicore__ inline void StoreSums() {
        Flag<HardEvent::V_MTE3>();
        Flag<HardEvent::MTE2_MTE3>();
        LocalTensor<float> p_sum = p_sumBuffer.Get<float>();
        LocalTensor<float> r_sum = r_sumBuffer.Get<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(1 * sizeof(float)), 0, 0, 0};
        DataCopyPad(sumsGlobal[static_cast<int64_t>(GetBlockIdx())], p_sum, copy);
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(1 * sizeof(float)), 0, 0, 0};
        DataCopyPad(sumsGlobal[parts + static_cast<int64_t>(GetBlockIdx())], r_sum, copy2);
        Flag<HardEvent::MTE3_V>();
    }

    __aicore__ inline void LoadSums() {
        LocalTensor<float> p_sums = p_sumsQueue.AllocTensor<float>();
        LocalTensor<float> r_sums = r_sumsQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(parts * sizeof(float)), 0, 0, 0};
        DataCopyPad(p_sums, sumsGlobal[0], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(parts * sizeof(float)), 0, 0, 0};
        DataCopyPad(r_sums, sumsGlobal[parts], copy2, DataCopyPadExtParams<float>{false, 0, 0, 0});
        p_sumsQueue.EnQue(p_sums);
        r_sumsQueue.EnQue(r_sums);
    }

    __aicore__ inline void FindStep() {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(parts);
        const uint32_t pitch = cols;
        LocalTensor<float> p_sums = p_sumsQueue.DeQue<float>();
        LocalTensor<float> r_sums = r_sumsQueue.DeQue<float>();
        LocalTensor<float> step = stepBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        RowSum(step, p_sums, temporary0, rows, cols, pitch);
        Sqrt(step, step, rows);
        RowSum(temporary0, r_sums, temporary1, rows, cols, pitch);
        Sqrt(temporary0, temporary0, rows);
        Adds(temporary0, temporary0, eps, rows);
        Div(step, step, temporary0, rows);
        Muls(step, step, lr, rows);
        p_sumsQueue.FreeTensor(p_sums);
        r_sumsQueue.FreeTensor(r_sums);
    }

    __aicore__ inline void ReadAgain(int64_t begin, int64_t offset, int64_t length) {
        LocalTensor<float> p_again = p_againQueue.AllocTensor<float>();
        LocalTensor<float> m_again = m_againQueue.AllocTensor<float>();
        LocalTensor<float> v_again = v_againQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(p_again, paramGlobal[begin + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(m_again, mGlobal[begin + offset], copy2, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(v_again, vGlobal[begin + offset], copy3, DataCopyPadExtParams<float>{false, 0, 0, 0});
        p_againQueue.EnQue(p_again);
        m_againQueue.EnQue(m_again);
        v_againQueue.EnQue(v_again);
    }

    __aicore__ inline void Update(int64_t length) {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(length);
        const uint32_t pitch = cols;
        const uint32_t count = cols;
        LocalTensor<float> p_again = p_againQueue.DeQue<float>();
        LocalTensor<float> m_again = m_againQueue.DeQue<float>();
        LocalTensor<float> v_again = v_againQueue.DeQue<float>();
        LocalTensor<float> step = stepBuffer.Get<float>();
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        Sqrt(result, v_again, count);
        Adds(result, result, eps, count);
        Div(result, m_again, result, count);
        MulColumn(result, result, step, temporary0, rows, cols, pitch);
        Sub(result, p_again, result, count);
        resultQueue.EnQue(result);
        p_againQueue.FreeTensor(p_again);
        m_againQueue.FreeTensor(m_again);
        v_againQueue.FreeTensor(v_again);
    }

    __aicore__ inline void CopyOut(int64_t begin, int64_t offset, int64_t length) {
        LocalTensor<float> result = resultQueue.DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(param_outGlobal[begin + offset], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<float> paramGlobal;
    GlobalTensor<float> mGlobal;
    GlobalTensor<float> vGlobal;
    GlobalTensor<float> param_outGlobal;
    GlobalTensor<float> sumsGlobal;
    TQue<TPosition::VECIN, 1> p_tileQueue;
    TQue<TPosition::VECIN, 1> m_tileQueue;
    TQue<TPosition::VECIN, 1> v_tileQueue;
    TQue<TPosition::VECIN, 1> p_againQueue;
    TQue<TPosition::VECIN, 1> m_againQueue;
    TQue<TPosition::VECIN, 1> v_againQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> rBuffer;
    TBuf<TPosition::VECCALC> p_sumBuffer;
    TBuf<TPosition::VECCALC> r_sumBuffer;
    TBuf<TPosition::VECCALC> stepBuffer;
    TQue<TPosition::VECIN, 1> p_sumsQueue;
    TQue<TPosition::VECIN, 1> r_sumsQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    float lr;
    float eps;
    int64_t total;
    int64_t share;
    int64_t tile;
    int64_t parts;
};

extern "C" __global__ __aicore__ void craft_lamb(GM_ADDR param, GM_ADDR m, GM_ADDR v, GM_ADDR param_out,
    GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftLamb op;
    op.Init(&pipe, param, m, v, param_out, GetUserWorkspace(workspace), numbers);
    op.Process();
}
