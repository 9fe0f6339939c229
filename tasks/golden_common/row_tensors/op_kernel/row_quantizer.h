// Rows of floats on their way to bytes, each with a scale of its own taken from its largest magnitude, or with none.
//
// An operator computes tiles of a row in Values. For scales of their own, Observe every tile of the rows, Settle, and
// then Emit every tile; without, Emit is enough.
#ifndef ROW_QUANTIZER_H
#define ROW_QUANTIZER_H
#include "row_tensors.h"

// to[0] = the largest of `columns` numbers in x, block by block; x is overwritten, `work` has room for an eighth of it.
__aicore__ inline void MaxRow(const LocalTensor<float>& to, LocalTensor<float> x, LocalTensor<float> work,
                              uint32_t columns) {
    while (columns > REPEAT) {
        const uint32_t whole = columns / REPEAT, left = columns % REPEAT;
        BlockReduceMax(work, x, whole, REPEAT, 1, 1, 8);
        if (left > 0) {
            BlockReduceMax(work[whole * 8], x[whole * REPEAT], 1, left, 1, 1, 8);
        }
        columns = whole * 8 + (left + 7) / 8;
        const LocalTensor<float> blocks = work;
        work = x;
        x = blocks;
    }
    ReduceMax(to, x, work, columns);
}

// largest[r] = the largest element of row r; x is overwritten, `work` has room for an eighth of a row.
__aicore__ inline void MaxTile(const LocalTensor<float>& largest, const LocalTensor<float>& x,
                               const LocalTensor<float>& work, const Tile& tile) {
    if (tile.pitch > MAX_PITCH || tile.rows == 1) {
        for (uint32_t row = 0; row < tile.rows; ++row) {
            MaxRow(largest[row], x[row * tile.pitch], work, tile.columns);
        }
        return;
    }
    const uint8_t distance = tile.pitch / 8;
    const BinaryRepeatParams fold(1, 1, 1, distance, distance, distance);
    for (uint32_t column = REPEAT; column < tile.columns; column += REPEAT) {
        const uint32_t left = tile.columns - column < REPEAT ? tile.columns - column : REPEAT;
        Max(x, x, x[column], left, tile.rows, fold);
    }
    const uint32_t lanes = tile.columns < REPEAT ? tile.columns : REPEAT;
    WholeReduceMax(largest, x, lanes, tile.rows, 1, 1, distance, ReduceOrder::ORDER_ONLY_VALUE);
}

class RowQuantizer {
  public:
    // `kept` floats hold a whole row, or are 0: then rows are computed twice.
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR y, GM_ADDR scale, uint32_t rows, uint32_t pitch, uint32_t kept) {
        const uint32_t elements = rows * pitch;
        const uint32_t numbers = (rows + 7) / 8 * 8;
        this->kept = kept != 0;
        yOut.Init(pipe, y, elements);
        scaleOut.Init(pipe, scale, numbers);
        pipe->InitBuffer(valueBuffer, (kept < elements ? elements : kept) * sizeof(float));
        pipe->InitBuffer(workBuffer, (elements / 8 + REPEAT) * sizeof(float));
        pipe->InitBuffer(largestBuffer, numbers * sizeof(float));
        pipe->InitBuffer(partBuffer, numbers * sizeof(float));
        pipe->InitBuffer(blockBuffer, numbers * 32);
    }

    // Where the floats of a tile that begins at `column` belong.
    __aicore__ inline LocalTensor<float> Values(uint64_t column) { return valueBuffer.Get<float>()[kept ? column : 0]; }

    __aicore__ inline void Observe(uint64_t column, const Tile& tile) {
        LocalTensor<float> magnitude = yOut.Begin();  // nothing is on its way out yet
        LocalTensor<float> largest = largestBuffer.Get<float>();
        LocalTensor<float> part = partBuffer.Get<float>();
        Abs(magnitude, Values(column), tile.Length());
        MaxTile(column == 0 ? largest : part, magnitude, workBuffer.Get<float>(), tile);
        if (column != 0) {
            Max(largest, largest, part, tile.rows);
        }
    }

    // A row of zeros has the scale zero and stays zero.
    __aicore__ inline void Settle(uint64_t row, uint32_t rows) {
        LocalTensor<float> largest = largestBuffer.Get<float>();
        LocalTensor<float> part = partBuffer.Get<float>();
        LocalTensor<float> scale = scaleOut.Begin();
        Duplicate(part, 127.0f, rows);
        Div(scale, largest, part, rows);
        Maxs(largest, scale, 1.17549435e-38f, rows);
        Duplicate(part, 1.0f, rows);
        Div(largest, part, largest, rows);
        scaleOut.Store({row, 0}, {1, rows, (rows + 7) / 8 * 8});
        Spread(blockBuffer.Get<float>(), largest, rows);
    }

    __aicore__ inline void Emit(uint64_t column, const Place& place, const Tile& tile, bool scaled) {
        if (scaled) {
            WithRows<Times>(yOut.Begin(), Values(column), blockBuffer.Get<float>(), tile.rows, tile.columns,
                            tile.pitch);
        } else {
            Adds(yOut.Begin(), Values(column), 0.0f, tile.Length());
        }
        yOut.Store(place, tile);
    }

  private:
    RowsOut<int8_t> yOut;
    RowsOut<float> scaleOut;
    TBuf<TPosition::VECCALC> valueBuffer, workBuffer;
    TBuf<TPosition::VECCALC> largestBuffer, partBuffer, blockBuffer;  // numbers per row
    bool kept = false;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
