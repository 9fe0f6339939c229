// Sums of columns over the rows of all cores, in an order that does not change from run to run.
//
// Whole rows are added up lane by lane in the unified buffer, pieces of longer rows in the core's own row of the
// workspace, which is a matrix of a row per core. When all cores are done, each adds up some of its columns.
#ifndef COLUMN_SUMS_H
#define COLUMN_SUMS_H
#include "row_tensors.h"

// The sums of one core, or of one item of its work.
class LaneSums {
  public:
    // Tiles have `rows` rows, `pitch` floats apart; `whole`: all columns.
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR workspace, uint64_t columns, uint32_t rows, uint32_t pitch,
                                bool whole) {
        this->columns = columns;
        this->rows = rows;
        this->pitch = pitch;
        this->whole = whole;
        if (whole) {
            pipe->InitBuffer(lanesBuffer, rows * pitch * sizeof(float));
        }
        mine.Init(pipe, workspace, pitch);
    }

    // The sums will lie in the workspace from `place` on.
    __aicore__ inline void Begin(uint64_t place) {
        base = place;
        if (whole) {
            Duplicate(lanesBuffer.Get<float>(), 0.0f, rows * pitch);
        }
    }

    // Adds x, or x * y, whose tile begins at `column`; `first` in the first rows.
    __aicore__ inline void Plus(const LocalTensor<float>& x, uint64_t column, const Tile& tile, bool first) {
        if (whole) {
            Add(lanesBuffer.Get<float>(), lanesBuffer.Get<float>(), x, tile.Length());
        } else {
            Adds(mine.Begin(), x, 0.0f, tile.columns);
            StorePiece(column, tile, first);
        }
    }

    __aicore__ inline void PlusProduct(const LocalTensor<float>& x, const LocalTensor<float>& y, uint64_t column,
                                       const Tile& tile, bool first) {
        if (whole) {
            MulAddDst(lanesBuffer.Get<float>(), x, y, tile.Length());
        } else {
            Mul(mine.Begin(), x, y, tile.columns);
            StorePiece(column, tile, first);
        }
    }

    // After the last rows.
    __aicore__ inline void Publish() {
        if (whole) {
            FoldRows(lanesBuffer.Get<float>(), rows, pitch);
            const Tile row{1, static_cast<uint32_t>(columns), pitch};
            Adds(mine.Begin(), lanesBuffer.Get<float>(), 0.0f, row.columns);
            mine.Store({base, 0}, row);
        }
    }

  private:
    __aicore__ inline void StorePiece(uint64_t column, const Tile& tile, bool first) {
        if (!first) {
            SetAtomicAdd<float>();
        }
        mine.Store({base + column, 0}, tile);
        SetAtomicNone();
    }

    TBuf<TPosition::VECCALC> lanesBuffer;
    RowsOut<float> mine;
    uint64_t columns = 0, base = 0;
    uint32_t rows = 0, pitch = 0;
    bool whole = false;
};

// The sums of the first cores, as many as have rows: those of each lie in its own row of a matrix.
template <typename T>
class ColumnSums : public LaneSums {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR matrix, GM_ADDR sums, uint32_t cores, uint64_t columns,
                                uint32_t rows, uint32_t pitch, bool whole) {
        this->columns = columns;
        this->cores = cores;
        LaneSums::Init(pipe, matrix, columns, rows, pitch, whole);
        LaneSums::Begin(GetBlockIdx() * columns);
        all.Init(pipe, matrix, cores * CHUNK, 1);
        result.Init(pipe, sums, CHUNK);
    }

    // When all cores have published theirs.
    __aicore__ inline void Combine() {
        const uint64_t step = GetBlockNum() * CHUNK;
        for (uint64_t column = GetBlockIdx() * CHUNK; column < columns; column += step) {
            const uint32_t length = columns - column < CHUNK ? columns - column : CHUNK;
            LocalTensor<float> parts = all.Take({column, columns}, {cores, length, CHUNK});
            FoldRows(parts, cores, CHUNK);
            Adds(result.Begin(), parts, 0.0f, length);
            all.Drop();
            result.Store({column, 0}, {1, length, CHUNK});
        }
    }

  private:
    static constexpr uint32_t CHUNK = 32;  // columns that are added up at a time

    RowsIn<float> all;
    RowsOut<T> result;
    uint64_t columns = 0;
    uint32_t cores = 0;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
