// AddSigmoidMulReduceSumD: sum over r of sigmoid((a + bias) * factor) * weight of the row * weight of the element.
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

class KernelAddSigmoidMulReduceSumD {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR add_0_input0, GM_ADDR add_0_input1, GM_ADDR mul_0_input1,
        GM_ADDR mult_1_input1, GM_ADDR mult_2_input1, GM_ADDR out, const AddSigmoidMulReduceSumDTilingData& numbers) {
        r = numbers.r;
        c = numbers.c;
        items = numbers.items;
        share = numbers.share;
        strips = numbers.strips;
        width = numbers.width;
        tall = numbers.tall;
        add_0_input0Global.SetGlobalBuffer((__gm__ half*)add_0_input0);
        add_0_input1Global.SetGlobalBuffer((__gm__ half*)add_0_input1);
        mul_0_input1Global.SetGlobalBuffer((__gm__ half*)mul_0_input1);
        mult_1_input1Global.SetGlobalBuffer((__gm__ half*)mult_1_input1);
        mult_2_input1Global.SetGlobalBuffer((__gm__ half*)mult_2_input1);
        outGlobal.SetGlobalBuffer((__gm__ half*)out);
        pipe->InitBuffer(gate_inQueue, 2, Bytes<half>(tall * RoundUp(width, 16)));
        pipe->InitBuffer(weightQueue, 2, Bytes<half>(tall * RoundUp(width, 16)));
        pipe->InitBuffer(row_weightQueue, 2, Bytes<half>(tall));
        pipe->InitBuffer(biasQueue, 2, Bytes<half>(width));
        pipe->InitBuffer(factor_inQueue, 1, Bytes<half>(1));
        pipe->InitBuffer(negativeBuffer, Bytes<float>(1));
        pipe->InitBuffer(gateBuffer, Bytes<float>(tall * RoundUp(width, 16)));
        pipe->InitBuffer(totalBuffer, Bytes<float>(width));
        pipe->InitBuffer(resultQueue, 2, Bytes<half>(width));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(Bytes<float>(tall * RoundUp(width,
            16)), Bytes<float>(tall)), Bytes<float>(width)));
        pipe->InitBuffer(temporary1Buffer, Greatest<uint32_t>(7936u, Bytes<float>(tall * RoundUp(width, 16))));
    }

    __aicore__ inline void Process() {
        ReadFactor();
        NegateFactor();
        Flag<HardEvent::V_S>();
        Flag<HardEvent::MTE2_S>();
        const float factor = negativeBuffer.Get<float>().GetValue(0);
        const int64_t begin = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t item = begin; item < Least<int64_t>(begin + share, items); ++item) {
            const int64_t at = item % strips * width;
            const int64_t cols_ = Least<int64_t>(width, c - at);
            const int64_t matrix = item / strips * r;
            StartSums(cols_);
            for (int64_t first = 0; first < r; first += tall) {
                const int64_t rows_ = Least<int64_t>(tall, r - first);
                CopyIn(matrix, first, at, rows_, cols_);
                AddRows(rows_, cols_, factor);
            }
            RoundSums(cols_);
            CopyOut(item, at, cols_);
        }
    }

  private:
    __aicore__ inline void ReadFactor() {
        LocalTensor<half> factor_in = factor_inQueue.AllocTensor<half>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(1 * sizeof(half)), 0, 0, 0};
        DataCopyPad(factor_in, mul_0_input1Global[0], copy, DataCopyPadExtParams<half>{false, 0, 0, 0});
        factor_inQueue.EnQue(factor_in);
    }

    __aicore__ inline void NegateFactor() {
        const uint32_t rows = 1;
        LocalTensor<half> factor_in = factor_inQueue.DeQue<half>();
        LocalTensor<float> negative = negativeBuffer.Get<float>();
        Cast(negative, factor_in, RoundMode::CAST_NONE, rows);
        Muls(negative, negative, -1.0f, rows);
        factor_inQueue.FreeTensor(factor_in);
    }

    __aicore__ inline void StartSums(int64_t cols_) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<float> total = totalBuffer.Get<float>();
        Duplicate(total, 0.0f, count);
    }

    __aicore__ inline void CopyIn(int64_t matrix, int64_t first, int64_t at, int64_t rows_, int64_t cols_) {
        LocalTensor<half> gate_in = gate_inQueue.AllocTensor<half>();
        LocalTensor<half> weight = weightQueue.AllocTensor<half>();
        LocalTensor<half> row_weight = row_weightQueue.AllocTensor<half>();
        LocalTensor<half> bias = biasQueue.AllocTensor<half>();
        const DataCopyExtParams copy{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(half)),
            static_cast<uint32_t>((c - cols_) * sizeof(half)), 0, 0};
        DataCopyPad(gate_in, add_0_input0Global[(matrix + first) * c + at], copy, DataCopyPadExtParams<half>{true, 0,
            static_cast<uint8_t>((RoundUp(cols_ * sizeof(half), 32) - cols_ * sizeof(half)) / sizeof(half)), 0});
        const DataCopyExtParams copy2{static_cast<uint16_t>(rows_), static_cast<uint32_t>(cols_ * sizeof(half)),
            static_cast<uint32_t>((c - cols_) * sizeof(half)), 0, 0};
        DataCopyPad(weight, mult_2_input1Global[(matrix + first) * c + at], copy2, DataCopyPadExtParams<half>{true,
            0, static_cast<uint8_t>((RoundUp(cols_ * sizeof(half), 32) - cols_ * sizeof(half)) / sizeof(half)), 0});
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(rows_ * sizeof(half)), 0, 0, 0};
        DataCopyPad(row_weight, mult_1_input1Global[matrix + first], copy3, DataCopyPadExtParams<half>{false, 0, 0, 0});
        const DataCopyExtParams copy4{1, static_cast<uint32_t>(cols_ * sizeof(half)), 0, 0, 0};
        DataCopyPad(bias, add_0_input1Global[at], copy4, DataCopyPadExtParams<half>{false, 0, 0, 0});
        gate_inQueue.EnQue(gate_in);
        weightQueue.EnQue(weight);
        row_weightQueue.EnQue(row_weight);
        biasQueue.EnQue(bias);
    }

    __aicore__ inline void AddRows(int64_t rows_, int64_t cols_, float factor) {
        const uint32_t rows = static_cast<uint32_t>(rows_);
        const uint32_t cols = static_cast<uint32_t>(cols_);
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(cols_, 16));
        const uint32_t count = rows * pitch;
        LocalTensor<half> gate_in = gate_inQueue.DeQue<half>();
        LocalTensor<half> bias = biasQueue.DeQue<half>();
        LocalTensor<float> gate = gateBuffer.Get<float>();
        LocalTensor<half> weight = weightQueue.DeQue<half>();
        LocalTensor<half> row_weight = row_weightQueue.DeQue<half>();
        LocalTensor<float> total = totalBuffer.Get<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        Cast(gate, gate_in, RoundMode::CAST_NONE, count);
        Cast(temporary0, bias, RoundMode::CAST_NONE, cols);
        AddRow(gate, gate, temporary0, rows, cols, pitch);
        Muls(gate, gate, factor, count);
        Exp(gate, gate, count);
        Adds(gate, gate, 1.0f, count);
        Duplicate(temporary0, 1.0f, count);
        Div(gate, temporary0, gate, count);
        Cast(temporary0, weight, RoundMode::CAST_NONE, count);
        Mul(gate, gate, temporary0, count);
        Cast(temporary0, row_weight, RoundMode::CAST_NONE, rows);
        MulColumn(gate, gate, temporary0, temporary1, rows, cols, pitch);
        ColSum(temporary0, gate, temporary1, rows, cols, pitch);
        Add(total, total, temporary0, cols);
        gate_inQueue.FreeTensor(gate_in);
        biasQueue.FreeTensor(bias);
        weightQueue.FreeTensor(weight);
        row_weightQueue.FreeTensor(row_weight);
    }

    __aicore__ inline void RoundSums(int64_t cols_) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<float> total = totalBuffer.Get<float>();
        LocalTensor<half> result = resultQueue.AllocTensor<half>();
        Cast(result, total, RoundMode::CAST_RINT, count);
        resultQueue.EnQue(result);
    }

    __aicore__ inline void CopyOut(int64_t item, int64_t at, int64_t cols_) {
        LocalTensor<half> result = resultQueue.DeQue<half>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(cols_ * sizeof(half)), 0, 0, 0};
        DataCopyPad(outGlobal[item / strips * c + at], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<half> add_0_input0Global;
    GlobalTensor<half> add_0_input1Global;
    GlobalTensor<half> mul_0_input1Global;
    GlobalTensor<half> mult_1_input1Global;
    GlobalTensor<half> mult_2_input1Global;
    GlobalTensor<half> outGlobal;
    TQue<TPosition::VECIN, 1> gate_inQueue;
    TQue<TPosition::VECIN, 1> weightQueue;
    TQue<TPosition::VECIN, 1> row_weightQueue;
    TQue<TPosition::VECIN, 1> biasQueue;
    TQue<TPosition::VECIN, 1> factor_inQueue;
    TBuf<TPosition::VECCALC> negativeBuffer;
    TBuf<TPosition::VECCALC> gateBuffer;
    TBuf<TPosition::VECCALC> totalBuffer;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    int64_t r;
    int64_t c;
    int64_t items;
    int64_t share;
    int64_t strips;
    int64_t width;
    int64_t tall;
};

extern "C" __global__ __aicore__ void add_sigmoid_mul_reduce_sum_d(GM_ADDR add_0_input0, GM_ADDR add_0_input1,
    GM_ADDR mul_0_input1, GM_ADDR mult_1_input1, GM_ADDR mult_2_input1, GM_ADDR out, GM_ADDR workspace,
        GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelAddSigmoidMulReduceSumD op;
    op.Init(&pipe, add_0_input0, add_0_input1, mul_0_input1, mult_1_input1, mult_2_input1, out, numbers);
    op.Process();
}
