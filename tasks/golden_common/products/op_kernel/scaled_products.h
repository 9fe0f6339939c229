// d = alpha * (a @ b) + beta * c for one product or several, added up in float and rounded once.
#ifndef SCALED_PRODUCTS_H
#define SCALED_PRODUCTS_H
#include "handover.h"
#include "wide.h"

// What a vector core does with sums of products.
template <typename T>
class ScaledSum {
  public:
    __aicore__ inline ScaledSum(AscendC::TPipe* pipe, GM_ADDR c, GM_ADDR d) : c((__gm__ T*)c), d((__gm__ T*)d) {
        pipe->InitBuffer(sumsQueue, 2, TILE * sizeof(float));
        pipe->InitBuffer(addendQueue, 2, TILE * sizeof(T));
        pipe->InitBuffer(outQueue, 2, TILE * sizeof(T));
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
    }

    // Rows of `width` elements from element `begin` on, whose distance is `columns`.
    __aicore__ inline void Combine(const AscendC::GlobalTensor<float>& sums, uint64_t begin, uint64_t columns,
                                   uint32_t height, uint32_t width, float alpha, float beta) {
        const uint32_t pitch = RowPitch(width), most = TILE / pitch;
        AscendC::GlobalTensor<T> addend, out;
        for (uint32_t row = 0; row < height; row += most) {
            const uint32_t rows = height - row < most ? height - row : most;
            const uint64_t place = begin + row * columns, extent = (rows - 1) * columns + width;
            addend.SetGlobalBuffer(c + place, extent);
            out.SetGlobalBuffer(d + place, extent);
            CopyRowsIn(sumsQueue, sums[row * pitch], rows, width, pitch);
            CopyRowsIn(addendQueue, addend, rows, width, columns);
            Compute(rows * pitch, alpha, beta);
            CopyRowsOut(out, outQueue, rows, width, columns);
        }
    }

  private:
    static constexpr uint32_t TILE = 4096;  // elements that are combined at a time

    __aicore__ inline void Compute(uint32_t count, float alpha, float beta) {
        AscendC::LocalTensor<float> sums = sumsQueue.template DeQue<float>();
        AscendC::LocalTensor<T> addend = addendQueue.template DeQue<T>();
        AscendC::LocalTensor<T> out = outQueue.template AllocTensor<T>();
        const AscendC::LocalTensor<float> result = WideResult(out, wideBuffer);
        AscendC::Muls(result, Widen(addend, wideBuffer, count), beta, count);
        AscendC::Axpy(result, sums, alpha, count);
        Narrow(out, result, count);
        sumsQueue.FreeTensor(sums);
        addendQueue.FreeTensor(addend);
        outQueue.EnQue(out);
    }

    AscendC::TQue<AscendC::TPosition::VECIN, 1> sumsQueue, addendQueue;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> outQueue;
    AscendC::TBuf<AscendC::TPosition::VECCALC> wideBuffer;
    __gm__ T* c;
    __gm__ T* d;
};

// A product alone, and its factors.
class OneProduct {
  public:
    __aicore__ inline OneProduct(const TCubeTiling& tiling, float alpha, float beta)
        : matrices{uint64_t(tiling.M), uint64_t(tiling.Ka), uint64_t(tiling.N), 0, 0, 0}, alpha(alpha), beta(beta) {}

    __aicore__ inline bool Done() const { return done; }
    __aicore__ inline void Next() { done = true; }
    __aicore__ inline const Matrices& Here() const { return matrices; }
    __aicore__ inline float Alpha() const { return alpha; }
    __aicore__ inline float Beta() const { return beta; }

  private:
    Matrices matrices;
    float alpha, beta;
    bool done = false;
};

// The way of one block of cores. `Products` are those of Walk, and have factors.
template <typename T, typename Products>
__aicore__ inline void ScaledProducts(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR d, GM_ADDR workspace,
                                      const TCubeTiling& tiling, const Products& products) {
    AscendC::TPipe pipe;
    Handover<float> handover(workspace, tiling);
    Walk<Products> walk(products, tiling);
    if ASCEND_IS_AIC {
        MultiplyAll<false>(&pipe, tiling, (__gm__ T*)a, (__gm__ T*)b, walk, handover);
    }
    if ASCEND_IS_AIV {
        ScaledSum<T> sum(&pipe, c, d);
        for (; !walk.Done(); walk.Next()) {
            const uint64_t columns = walk.Product().Here().n;
            const Rectangle part = walk.Here();
            const Half own = OwnRows(part);
            const uint64_t begin = walk.Product().Here().c + (part.row + own.first) * columns + part.column;
            sum.Combine(handover.Take()[own.first * RowPitch(part.width)], begin, columns, own.height, part.width,
                        walk.Product().Alpha(), walk.Product().Beta());
            handover.Return();
        }
    }
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
