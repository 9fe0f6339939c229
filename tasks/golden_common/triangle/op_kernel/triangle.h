// Device side of Tril and Triu: tiles are copied in, cleared on one side of the diagonal, and copied out.
//
// Tiles are cleared in place, so that a tile has one buffer; two buffers let the copies of one tile run beside the
// clearing of another. Elements are written over, never multiplied: infinities and NaN vanish too.
#ifndef TRIANGLE_H
#define TRIANGLE_H
#include "kernel_operator.h"

using namespace AscendC;

enum class Side { LOWER, UPPER };  // what is kept

template <typename T, Side KEPT>
class Triangle {
  public:
    __aicore__ inline Triangle(const TriangleTilingData& sizes) : sizes(sizes) {}

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y) {
        xGlobal.SetGlobalBuffer((__gm__ T*)x, sizes.total * sizes.columns);
        yGlobal.SetGlobalBuffer((__gm__ T*)y, sizes.total * sizes.columns);
        pipe->InitBuffer(queue, 2, sizes.tileRows * sizes.pitch * sizeof(T));
    }

    __aicore__ inline void Process() {
        for (uint64_t tile = GetBlockIdx(); tile < sizes.tiles; tile += GetBlockNum()) {
            const uint64_t row = tile / sizes.pieces * sizes.tileRows;
            const uint64_t column = tile % sizes.pieces * sizes.tileColumns;
            const uint32_t rows = sizes.total - row < sizes.tileRows ? sizes.total - row : sizes.tileRows;
            const uint32_t columns =
                sizes.columns - column < sizes.tileColumns ? sizes.columns - column : sizes.tileColumns;
            CopyIn(row, column, rows, columns);
            Compute(row, column, rows, columns);
            CopyOut(row, column, rows, columns);
        }
    }

  private:
    // Rows of a tile follow each other in global memory, or there is only one.
    __aicore__ inline static DataCopyExtParams Copy(uint32_t rows, uint32_t columns) {
        return {static_cast<uint16_t>(rows), static_cast<uint32_t>(columns * sizeof(T)), 0, 0, 0};
    }

    __aicore__ inline void CopyIn(uint64_t row, uint64_t column, uint32_t rows, uint32_t columns) {
        LocalTensor<T> x = queue.template AllocTensor<T>();
        DataCopyPad(x, xGlobal[row * sizes.columns + column], Copy(rows, columns), DataCopyPadExtParams<T>());
        queue.template EnQue<TPosition::GM, TPosition::VECIN, T>(x);
    }

    __aicore__ inline void Compute(uint64_t row, uint64_t column, uint32_t rows, uint32_t columns) {
        LocalTensor<T> x = queue.template DeQue<TPosition::GM, TPosition::VECIN, T>();
        for (uint32_t i = 0; i < rows; ++i) {
            // The first column above the diagonal is that of the element after it; the first one not below, its own.
            const int64_t inside = (row + i) % sizes.rows + (KEPT == Side::LOWER ? 1 : 0);
            const int64_t edge = inside + sizes.diagonal - static_cast<int64_t>(column);
            const uint32_t border = edge < 0 ? 0 : edge < columns ? edge : columns;
            if constexpr (KEPT == Side::LOWER) {
                Clear(x[i * sizes.pitch], border, columns);
            } else {
                Clear(x[i * sizes.pitch], 0, border);
            }
        }
        queue.template EnQue<TPosition::VECOUT, TPosition::GM, T>(x);
    }

    // Zeros from element `from` to the one before `to`. The vector unit begins at whole blocks of 32 bytes: what lies
    // before and behind them is left out by a mask.
    __aicore__ inline static void Clear(const LocalTensor<T>& row, uint32_t from, uint32_t to) {
        const uint32_t head = from % BLOCK;
        if (from < to && head != 0) {
            const uint32_t block = from - head;
            const uint32_t end = to - block < BLOCK ? to - block : BLOCK;
            ClearLanes(row[block], head, end);
            from = block + end;
        }
        const uint32_t whole = (to - from) / BLOCK * BLOCK;
        if (from < to && whole != 0) {
            Duplicate(row[from], static_cast<T>(0), whole);
            from += whole;
        }
        if (from < to) {
            ClearLanes(row[from], 0, to - from);
        }
    }

    __aicore__ inline static void ClearLanes(const LocalTensor<T>& block, uint32_t from, uint32_t to) {
        uint64_t lanes[2] = {(uint64_t(1) << to) - (uint64_t(1) << from), 0};
        Duplicate(block, static_cast<T>(0), lanes, 1, 1, 8);
    }

    __aicore__ inline void CopyOut(uint64_t row, uint64_t column, uint32_t rows, uint32_t columns) {
        LocalTensor<T> y = queue.template DeQue<TPosition::VECOUT, TPosition::GM, T>();
        DataCopyPad(yGlobal[row * sizes.columns + column], y, Copy(rows, columns));
        queue.FreeTensor(y);
    }

    static constexpr uint32_t BLOCK = 32 / sizeof(T);
    const TriangleTilingData& sizes;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    GlobalTensor<T> xGlobal, yGlobal;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
