// Products of row-major matrices on cube cores, one rectangle of the result after the other.
#ifndef RECTANGLES_H
#define RECTANGLES_H
#define ASCENDC_CUBE_ONLY
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

// Part of a result.
struct Rectangle {
    uint64_t row, column;
    uint32_t height, width;
};

// How a result of rows by columns lies under a grid of rectangles, which are counted column of rectangles by column.
// Those at the lower and right edges are smaller than the others.
class Grid {
  public:
    __aicore__ inline Grid(uint64_t rows, uint64_t columns, uint32_t height, uint32_t width)
        : rows(rows),
          columns(columns),
          height(height),
          width(width),
          down((rows + height - 1) / height),
          across((columns + width - 1) / width) {}

    __aicore__ inline uint64_t Count() const { return down * across; }

    __aicore__ inline Rectangle At(uint64_t index) const { return Part(index % down, index / down); }

    // Counted diagonal by diagonal: cores with consecutive ones read different rows of a and different columns of b,
    // and do not wait for each other in L2.
    __aicore__ inline Rectangle OnDiagonal(uint64_t index) const {
        return Part(index % down, (index / down + index % down) % across);
    }

  private:
    __aicore__ inline Rectangle Part(uint64_t place, uint64_t next) const {
        const uint64_t row = place * height, column = next * width;
        const uint32_t tall = rows - row < height ? rows - row : height;
        const uint32_t wide = columns - column < width ? columns - column : width;
        return {row, column, tall, wide};
    }

    uint64_t rows, columns;
    uint32_t height, width;
    uint64_t down, across;
};

// Multiplies rectangles of c = a @ b, with or without a row that is added to every row of c. If TURNED, a lies column
// by column. The tiling tells the extents of the matrices until SetMatrices does.
template <typename T, typename Result = T, bool TURNED = false, const MatmulConfig& CONFIG = CFG_NORM>
class RectangleProduct {
  public:
    __aicore__ inline void Init(AscendC::TPipe* pipe, const TCubeTiling& tiling) {
        rows = tiling.M;
        inner = depth = tiling.Ka;
        columns = pitch = tiling.N;
        product.SetSubBlockIdx(0);
        product.Init(&tiling, pipe);
    }

    // Rows of c begin at multiples of `distance`.
    __aicore__ inline void SetMatrices(uint64_t m, uint64_t k, uint64_t n, uint64_t distance) {
        rows = m;
        inner = k;
        columns = n;
        pitch = distance;
        product.SetOrgShape(m, n, k, k, distance);
        SetDepth(k);
    }

    // How many columns of a and rows of b are multiplied: those from where a and b begin.
    __aicore__ inline void SetDepth(uint64_t count) {
        depth = count;
        product.SetTail(-1, -1, count);
    }

    __aicore__ inline void Multiply(__gm__ T* a, __gm__ T* b, __gm__ Result* c, const Rectangle& part) {
        AscendC::GlobalTensor<Result> cGlobal;
        cGlobal.SetGlobalBuffer(c + part.row * pitch + part.column, (part.height - 1) * pitch + part.width);
        MultiplyInto(cGlobal, a, b, part);
    }

    // The rectangle begins where the tensor does, wherever it lies in c.
    __aicore__ inline void MultiplyInto(const AscendC::GlobalTensor<Result>& to, __gm__ T* a, __gm__ T* b,
                                        const Rectangle& part) {
        AscendC::GlobalTensor<T> aGlobal, bGlobal;
        if constexpr (TURNED) {
            aGlobal.SetGlobalBuffer(a + part.row, (depth - 1) * rows + part.height);
        } else {
            aGlobal.SetGlobalBuffer(a + part.row * inner, (part.height - 1) * inner + depth);
        }
        bGlobal.SetGlobalBuffer(b + part.column, (depth - 1) * columns + part.width);
        product.SetTensorA(aGlobal, TURNED);
        product.SetTensorB(bGlobal);
        product.SetTail(part.height, part.width);
        product.IterateAll(to);
    }

    __aicore__ inline void SetBias(__gm__ T* bias, const Rectangle& part) {
        AscendC::GlobalTensor<T> biasGlobal;
        biasGlobal.SetGlobalBuffer(bias + part.column, part.width);
        product.SetBias(biasGlobal);
    }

    __aicore__ inline void End() { product.End(); }

  private:
    using Left = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, T, TURNED>;
    using Right = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, T>;
    using Product = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, Result>;

    matmul::MatmulImpl<Left, Right, Product, Right, CONFIG> product;
    uint64_t rows = 0, inner = 0, columns = 0, depth = 0, pitch = 0;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
