// CraftCumsumReverse: sums from each place to the end of an axis.
//
// A row is scanned in tiles: the elements 1, 2, 4, ... places before are added in turn, and what the tiles before have
// come to is carried over. Where the axis is not the last one, tiles lie across it and one follows the other.
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

// y[i] = x[i - distance], and `fill` where there is no such element.
__aicore__ inline void Shift(const LocalTensor<float>& y, const LocalTensor<float>& x,
                             const LocalTensor<int32_t>& places, int64_t distance, float fill, uint32_t cols) {
    const int64_t far = distance < 0 ? -distance : distance;
    if (far >= cols) {
        Duplicate(y, fill, cols);
        return;
    }
    const uint32_t rest = cols - static_cast<uint32_t>(far);
    if (distance >= 0 && far % 8 == 0) {
        Adds(y[far], x, 0.0f, rest);
    } else if (far % 8 == 0) {
        Adds(y, x[far], 0.0f, rest);
    } else {
        CreateVecIndex(places, static_cast<int32_t>(-distance), cols);
        Maxs(places, places, static_cast<int32_t>(0), cols);
        Mins(places, places, static_cast<int32_t>(cols - 1), cols);
        Muls(places, places, static_cast<int32_t>(sizeof(float)), cols);
        Gather(y, x, places.ReinterpretCast<uint32_t>(), 0, cols);
    }
    if (distance > 0) {
        Duplicate(y, fill, static_cast<uint32_t>(far));
    } else if (distance < 0) {
        const uint32_t block = rest / 8 * 8;
        const uint32_t lanes = Least(cols - block, 64u);
        const uint64_t bits = (lanes == 64 ? ~0ull : (1ull << lanes) - 1) & ~((1ull << (rest - block)) - 1);
        uint64_t mask[2] = {bits, 0};
        Duplicate(y[block], fill, mask, 1, 1, 8);
        if (block + 64 < cols) {
            Duplicate(y[block + 64], fill, cols - block - 64);
        }
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

// y = x + column, where every row has one element of its own. `spread` holds 248 blocks.
__aicore__ inline void AddColumn(const LocalTensor<float>& y, const LocalTensor<float>& x,
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
                Add(y[at], x[at], spread, Least(cols - col, REPEAT), part, BinaryRepeatParams(1, 1, 0, next, next, 1));
            }
            continue;
        }
        for (uint32_t row = 0; row < part; ++row) {
            for (uint32_t col = 0; col < cols; col += MOST * REPEAT) {
                const uint32_t at = (first + row) * pitch + col;
                const uint32_t lanes = Least(cols - col, MOST * REPEAT);
                const uint32_t whole = lanes / REPEAT * REPEAT;
                if (whole > 0) {
                    Add(y[at], x[at], spread[row * 8], REPEAT, whole / REPEAT, BinaryRepeatParams(1, 1, 0, 8, 8, 0));
                }
                if (whole < lanes) {
                    Add(y[at + whole], x[at + whole], spread[row * 8], lanes - whole, 1, BinaryRepeatParams(1, 1, 0,
                        8, 8, 0));
                }
            }
        }
    }
}
}  // namespace

class KernelCraftCumsumReverse {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const CraftCumsumReverseTilingData& numbers) {
        dim = numbers.dim;
        items = numbers.items;
        share = numbers.share;
        n = numbers.n;
        inner = numbers.inner;
        strips = numbers.strips;
        width = numbers.width;
        run = numbers.run;
        xGlobal.SetGlobalBuffer((__gm__ float*)x);
        yGlobal.SetGlobalBuffer((__gm__ float*)y);
        pipe->InitBuffer(x_runQueue, 2, Bytes<float>(run));
        pipe->InitBuffer(sumsBuffer, Bytes<float>(run));
        pipe->InitBuffer(shiftedBuffer, Bytes<float>(run));
        pipe->InitBuffer(y_runQueue, 2, Bytes<float>(run));
        pipe->InitBuffer(carryBuffer, Bytes<float>(1));
        pipe->InitBuffer(x_tileQueue, 2, Bytes<float>(width));
        pipe->InitBuffer(y_tileQueue, 2, Bytes<float>(width));
        pipe->InitBuffer(carriesBuffer, Bytes<float>(width));
        pipe->InitBuffer(temporary0Buffer, Greatest<uint32_t>(Greatest<uint32_t>(7936u, Bytes<float>(1)),
            Bytes<int32_t>(run)));
        pipe->InitBuffer(temporary1Buffer, Bytes<float>(run));
        pipe->InitBuffer(temporary2Buffer, 4096u);
    }

    __aicore__ inline void Process() {
        const int64_t first = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t item = first; item < Least<int64_t>(first + share, items); ++item) {
            int64_t at = 0;
            int64_t cols_ = 0;
            int64_t column = 0;
            int64_t length = 0;
            if (inner == 1) {
                StartRow();
                for (int64_t offset = 0; offset < n; offset += run) {
                    length = Least<int64_t>(run, n - offset);
                    at = item * n + n - offset - length;
                    ReadRun(at, length);
                    ScanRun(length);
                    StoreRun(at, length);
                }
            } else {
                column = item % strips * width;
                cols_ = Least<int64_t>(width, inner - column);
                StartColumns(cols_);
                for (int64_t k = 0; k < n; ++k) {
                    at = (item / strips * n + n - 1 - k) * inner + column;
                    ReadTile(at, cols_);
                    ScanTile(cols_);
                    StoreTile(at, cols_);
                }
            }
        }
    }

  private:
    __aicore__ inline void StartRow() {
        const uint32_t rows = 1;
        LocalTensor<float> carry = carryBuffer.Get<float>();
        Duplicate(carry, 0.0f, rows);
    }

    __aicore__ inline void ReadRun(int64_t at, int64_t length) {
        LocalTensor<float> x_run = x_runQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(x_run, xGlobal[at], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        x_runQueue.EnQue(x_run);
    }

    __aicore__ inline void ScanRun(int64_t length) {
        const uint32_t rows = 1;
        const uint32_t cols = static_cast<uint32_t>(length);
        const uint32_t pitch = cols;
        const uint32_t count = cols;
        LocalTensor<float> x_run = x_runQueue.DeQue<float>();
        LocalTensor<float> sums = sumsBuffer.Get<float>();
        LocalTensor<float> shifted = shiftedBuffer.Get<float>();
        LocalTensor<float> carry = carryBuffer.Get<float>();
        LocalTensor<float> y_run = y_runQueue.AllocTensor<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<int32_t> temporary0Int = temporary0Buffer.Get<int32_t>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        LocalTensor<float> temporary2 = temporary2Buffer.Get<float>();
        Adds(sums, x_run, 0.0f, count);
        int64_t distance = 1;
        for (int64_t step = 0; step < 12; ++step) {
            if (distance < length) {
                Shift(shifted, sums, temporary0Int, -distance, 0.0f, count);
                Add(sums, sums, shifted, count);
                distance = distance * 2;
            }
        }
        AddColumn(y_run, sums, carry, temporary0, rows, cols, pitch);
        CreateVecIndex(temporary0Int, static_cast<int32_t>(0), count);
        Muls(temporary0Int, temporary0Int, static_cast<int32_t>(0), count);
        Adds(temporary0Int, temporary0Int, static_cast<int32_t>(0), count);
        Muls(temporary0Int, temporary0Int, static_cast<int32_t>(4), count);
        Gather(temporary1, sums, temporary0Int.ReinterpretCast<uint32_t>(), 0, count);
        RowMax(temporary0, temporary1, temporary2, rows, cols, pitch);
        Add(carry, carry, temporary0, rows);
        y_runQueue.EnQue(y_run);
        x_runQueue.FreeTensor(x_run);
    }

    __aicore__ inline void StoreRun(int64_t at, int64_t length) {
        LocalTensor<float> y_run = y_runQueue.DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGlobal[at], y_run, copy);
        y_runQueue.FreeTensor(y_run);
    }

    __aicore__ inline void StartColumns(int64_t cols_) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<float> carries = carriesBuffer.Get<float>();
        Duplicate(carries, 0.0f, count);
    }

    __aicore__ inline void ReadTile(int64_t at, int64_t cols_) {
        LocalTensor<float> x_tile = x_tileQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(cols_ * sizeof(float)), 0, 0, 0};
        DataCopyPad(x_tile, xGlobal[at], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        x_tileQueue.EnQue(x_tile);
    }

    __aicore__ inline void ScanTile(int64_t cols_) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<float> carries = carriesBuffer.Get<float>();
        LocalTensor<float> x_tile = x_tileQueue.DeQue<float>();
        LocalTensor<float> y_tile = y_tileQueue.AllocTensor<float>();
        Add(carries, carries, x_tile, count);
        Adds(y_tile, carries, 0.0f, count);
        y_tileQueue.EnQue(y_tile);
        x_tileQueue.FreeTensor(x_tile);
    }

    __aicore__ inline void StoreTile(int64_t at, int64_t cols_) {
        LocalTensor<float> y_tile = y_tileQueue.DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(cols_ * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGlobal[at], y_tile, copy);
        y_tileQueue.FreeTensor(y_tile);
    }

    GlobalTensor<float> xGlobal;
    GlobalTensor<float> yGlobal;
    TQue<TPosition::VECIN, 1> x_runQueue;
    TBuf<TPosition::VECCALC> sumsBuffer;
    TBuf<TPosition::VECCALC> shiftedBuffer;
    TQue<TPosition::VECOUT, 1> y_runQueue;
    TBuf<TPosition::VECCALC> carryBuffer;
    TQue<TPosition::VECIN, 1> x_tileQueue;
    TQue<TPosition::VECOUT, 1> y_tileQueue;
    TBuf<TPosition::VECCALC> carriesBuffer;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    TBuf<TPosition::VECCALC> temporary2Buffer;
    int64_t dim;
    int64_t items;
    int64_t share;
    int64_t n;
    int64_t inner;
    int64_t strips;
    int64_t width;
    int64_t run;
};

extern "C" __global__ __aicore__ void craft_cumsum_reverse(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftCumsumReverse op;
    op.Init(&pipe, x, y, numbers);
    op.Process();
}
