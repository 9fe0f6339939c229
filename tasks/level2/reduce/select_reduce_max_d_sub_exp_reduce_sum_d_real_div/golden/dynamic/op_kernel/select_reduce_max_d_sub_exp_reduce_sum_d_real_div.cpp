// SelectReduceMaxDSubExpReduceSumDRealDiv: softmax over the last axis of what sel chooses from two tensors.
//
//     x = input1 where sel is 1, else input2
//     ouput = exp(x - max(x)) / sum(exp(x - max(x)))
//
// Every core takes a contiguous share of the rows and works on as many whole rows at a time as fit a tile. All rows of
// a tile are folded to 64 floats each at once, and reduced from there. A row that is longer than a tile is read three
// times, piece by piece: for its maximum, for the sum, and for the result. All arithmetic is in float.
#include "row_math.h"
#include "wide.h"

using namespace AscendC;

template <typename T>
class KernelSelectedSoftmax {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR sel, GM_ADDR input1, GM_ADDR input2, GM_ADDR ouput,
                                const SelectReduceMaxDSubExpReduceSumDRealDivTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.share;
        if (begin < tiling.rows) {
            count = tiling.rows - begin < tiling.share ? tiling.rows - begin : tiling.share;
        }
        columns = tiling.columns;
        tile = tiling.tile;
        tileRows = tiling.tileRows;
        pitch = tiling.pitch;
        selGlobal.SetGlobalBuffer((__gm__ uint8_t*)sel + begin * columns, count * columns);
        firstGlobal.SetGlobalBuffer((__gm__ T*)input1 + begin * columns, count * columns);
        secondGlobal.SetGlobalBuffer((__gm__ T*)input2 + begin * columns, count * columns);
        ouputGlobal.SetGlobalBuffer((__gm__ T*)ouput + begin * columns, count * columns);
        pipe->InitBuffer(selQueue, 2, tile);
        pipe->InitBuffer(firstQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(secondQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(ouputQueue, 2, tile * sizeof(T));
        pipe->InitBuffer(xBuffer, tile * sizeof(float));
        pipe->InitBuffer(otherBuffer, tile * sizeof(float));
        pipe->InitBuffer(halfBuffer, tile * sizeof(half));
        pipe->InitBuffer(bitsBuffer, tile / 8);
        pipe->InitBuffer(foldBuffer, tile * sizeof(float));
        pipe->InitBuffer(rowBuffer, MAX_ROWS * sizeof(float));
        pipe->InitBuffer(maxBuffer, MAX_ROWS * 32);
        pipe->InitBuffer(sumBuffer, MAX_ROWS * 32);
    }

    __aicore__ inline void Process() {
        if (tileRows == 0) {
            for (uint64_t row = 0; row < count; ++row) {
                NormalizeLong(row * columns);
            }
            return;
        }
        for (uint64_t row = 0; row < count; row += tileRows) {
            const uint32_t rows = count - row < tileRows ? count - row : tileRows;
            CopyIn(row * columns, rows, columns);
            LocalTensor<float> x = Choose(rows * pitch);
            ReduceRows<true>(x, rows);
            Power(x, rows, columns);
            ReduceRows<false>(x, rows);
            Share(x, rows, columns);
            CopyOut(row * columns, rows, columns);
        }
    }

  private:
    // Rows of all three tensors have the same pitch in elements: gaps make up for the smaller blocks of wider elements.
    __aicore__ inline uint32_t Gap(uint32_t length, uint32_t bytes) {
        const uint32_t block = 32 / bytes;
        return tileRows == 0 ? 0 : (pitch - (length + block - 1) / block * block) / block;
    }

    __aicore__ inline void CopyIn(uint64_t offset, uint32_t rows, uint32_t length) {
        const DataCopyExtParams copy(rows, length * sizeof(T), 0, Gap(length, sizeof(T)), 0);
        LocalTensor<uint8_t> sel = selQueue.AllocTensor<uint8_t>();
        LocalTensor<T> first = firstQueue.AllocTensor<T>();
        LocalTensor<T> second = secondQueue.AllocTensor<T>();
        DataCopyPad(sel, selGlobal[offset], DataCopyExtParams(rows, length, 0, Gap(length, 1), 0),
                    DataCopyPadExtParams<uint8_t>());
        DataCopyPad(first, firstGlobal[offset], copy, DataCopyPadExtParams<T>());
        DataCopyPad(second, secondGlobal[offset], copy, DataCopyPadExtParams<T>());
        selQueue.EnQue(sel);
        firstQueue.EnQue(first);
        secondQueue.EnQue(second);
    }

    // Select wants bits, and Compare makes them of 256 bytes at a time: of 128 halves.
    __aicore__ inline LocalTensor<float> Choose(uint32_t length) {
        LocalTensor<uint8_t> sel = selQueue.DeQue<uint8_t>();
        LocalTensor<T> first = firstQueue.DeQue<T>();
        LocalTensor<T> second = secondQueue.DeQue<T>();
        LocalTensor<half> numbers = halfBuffer.Get<half>();
        LocalTensor<uint8_t> bits = bitsBuffer.Get<uint8_t>();
        LocalTensor<float> x = xBuffer.Get<float>();
        Cast(numbers, sel, RoundMode::CAST_NONE, length);
        CompareScalar(bits, numbers, static_cast<half>(0.0f), CMPMODE::GT, (length + 127) / 128 * 128);
        LocalTensor<float> wide = Widen(first, xBuffer, length);
        Select(x, bits, wide, Widen(second, otherBuffer, length), SELMODE::VSEL_TENSOR_TENSOR_MODE, length);
        selQueue.FreeTensor(sel);
        firstQueue.FreeTensor(first);
        secondQueue.FreeTensor(second);
        return x;
    }

    // The maximum or sum of every row, spread over a block of 32 bytes.
    template <bool MAXIMUM>
    __aicore__ inline void ReduceRows(const LocalTensor<float>& x, uint32_t rows) {
        LocalTensor<float> fold = foldBuffer.Get<float>();
        if (columns <= REPEAT) {
            Finish<MAXIMUM>(x, rows, columns, pitch / 8);
            return;
        }
        Adds(fold, x, 0.0f, REPEAT, rows, UnaryRepeatParams(1, 1, 8, Distance(rows)));
        Fold<MAXIMUM>(x, rows, REPEAT, columns);
        Finish<MAXIMUM>(fold, rows, REPEAT, 8);
    }

    // Columns from `column` on into the 64 floats of each row.
    template <bool MAXIMUM>
    __aicore__ inline void Fold(const LocalTensor<float>& x, uint32_t rows, uint32_t column, uint32_t length) {
        LocalTensor<float> fold = foldBuffer.Get<float>();
        const BinaryRepeatParams down(1, 1, 1, 8, 8, Distance(rows));
        for (; column < length; column += REPEAT) {
            const uint32_t lanes = length - column < REPEAT ? length - column : REPEAT;
            if constexpr (MAXIMUM) {
                Max(fold, fold, x[column], lanes, rows, down);
            } else {
                Add(fold, fold, x[column], lanes, rows, down);
            }
        }
    }

    template <bool MAXIMUM>
    __aicore__ inline void Finish(const LocalTensor<float>& x, uint32_t rows, uint32_t lanes, uint32_t distance) {
        LocalTensor<float> result = rowBuffer.Get<float>();
        LocalTensor<float> blocks = MAXIMUM ? maxBuffer.Get<float>() : sumBuffer.Get<float>();
        if constexpr (MAXIMUM) {
            WholeReduceMax(result, x, lanes, rows, 1, 1, distance, ReduceOrder::ORDER_ONLY_VALUE);
        } else {
            WholeReduceSum(result, x, lanes, rows, 1, 1, distance);
        }
        Brcb(blocks, result, (rows + 7) / 8, BrcbRepeatParams(1, 8));
    }

    // Blocks from row to row. With one row there is no such distance, and it may be longer than an instruction can say.
    __aicore__ inline uint8_t Distance(uint32_t rows) {
        return rows == 1 ? 0 : pitch / 8;
    }

    // x = exp(x - max)
    __aicore__ inline void Power(const LocalTensor<float>& x, uint32_t rows, uint32_t length) {
        LocalTensor<float> blocks = maxBuffer.Get<float>();
        const BinaryRepeatParams down(1, 1, 0, Distance(rows), Distance(rows), 1);
        for (uint32_t column = 0; column < length; column += REPEAT) {
            const uint32_t lanes = length - column < REPEAT ? length - column : REPEAT;
            Sub(x[column], x[column], blocks, lanes, rows, down);
        }
        Exp(x, x, rows == 1 ? length : rows * pitch);
    }

    // ouput = x / sum
    __aicore__ inline void Share(const LocalTensor<float>& x, uint32_t rows, uint32_t length) {
        LocalTensor<T> ouput = ouputQueue.AllocTensor<T>();
        LocalTensor<float> result = WideResult(ouput, xBuffer);
        LocalTensor<float> blocks = sumBuffer.Get<float>();
        const BinaryRepeatParams down(1, 1, 0, Distance(rows), Distance(rows), 1);
        for (uint32_t column = 0; column < length; column += REPEAT) {
            const uint32_t lanes = length - column < REPEAT ? length - column : REPEAT;
            Div(result[column], x[column], blocks, lanes, rows, down);
        }
        Narrow(ouput, result, rows == 1 ? length : rows * pitch);
        ouputQueue.EnQue(ouput);
    }

    __aicore__ inline void NormalizeLong(uint64_t begin) {
        LocalTensor<float> fold = foldBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += tile) {
            const uint32_t length = columns - column < tile ? columns - column : tile;
            CopyIn(begin + column, 1, length);
            LocalTensor<float> x = Choose(length);
            if (column == 0) {
                Adds(fold, x, 0.0f, REPEAT);  // the first piece is a whole tile
            }
            Fold<true>(x, 1, 0, length);
        }
        Finish<true>(fold, 1, REPEAT, 8);
        Duplicate(fold, 0.0f, REPEAT);
        for (uint64_t column = 0; column < columns; column += tile) {
            const uint32_t length = columns - column < tile ? columns - column : tile;
            CopyIn(begin + column, 1, length);
            LocalTensor<float> x = Choose(length);
            Power(x, 1, length);
            Fold<false>(x, 1, 0, length);
        }
        Finish<false>(fold, 1, REPEAT, 8);
        for (uint64_t column = 0; column < columns; column += tile) {
            const uint32_t length = columns - column < tile ? columns - column : tile;
            CopyIn(begin + column, 1, length);
            LocalTensor<float> x = Choose(length);
            Power(x, 1, length);
            Share(x, 1, length);
            CopyOut(begin + column, 1, length);
        }
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t rows, uint32_t length) {
        const DataCopyExtParams copy(rows, length * sizeof(T), Gap(length, sizeof(T)), 0, 0);
        LocalTensor<T> ouput = ouputQueue.DeQue<T>();
        DataCopyPad(ouputGlobal[offset], ouput, copy);
        ouputQueue.FreeTensor(ouput);
    }

    TQue<TPosition::VECIN, 1> selQueue, firstQueue, secondQueue;
    TQue<TPosition::VECOUT, 1> ouputQueue;
    TBuf<TPosition::VECCALC> xBuffer, otherBuffer, halfBuffer, bitsBuffer, foldBuffer, rowBuffer, maxBuffer, sumBuffer;
    GlobalTensor<uint8_t> selGlobal;
    GlobalTensor<T> firstGlobal, secondGlobal, ouputGlobal;
    uint64_t count = 0, columns = 0;  // rows of this core, elements of a row
    uint32_t tile = 0, tileRows = 0, pitch = 0;
};

extern "C" __global__ __aicore__ void select_reduce_max_d_sub_exp_reduce_sum_d_real_div(GM_ADDR sel, GM_ADDR input1,
                                                                                        GM_ADDR input2, GM_ADDR ouput,
                                                                                        GM_ADDR workspace,
                                                                                        GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelSelectedSoftmax<DTYPE_INPUT1> op;
    op.Init(&pipe, sel, input1, input2, ouput, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
