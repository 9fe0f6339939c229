// c = (a @ b) * scale * per_token_scale for products of int8, a scale per column and one per row.
#ifndef DEQUANTISED_PRODUCTS_H
#define DEQUANTISED_PRODUCTS_H
#include "handover.h"
#include "row_math.h"

// What a vector core does with sums of int32: it multiplies them in float and rounds once, to T.
template <typename T>
class Dequantisation {
  public:
    __aicore__ inline Dequantisation(AscendC::TPipe* pipe, GM_ADDR scale, GM_ADDR perToken, GM_ADDR c)
        : scale((__gm__ T*)scale), perToken((__gm__ T*)perToken), c((__gm__ T*)c) {
        pipe->InitBuffer(sumsQueue, 2, TILE * sizeof(int32_t));
        pipe->InitBuffer(outQueue, 2, TILE * sizeof(T));
        pipe->InitBuffer(scaleQueue, 2, MOST * sizeof(T));
        pipe->InitBuffer(perTokenQueue, 2, MOST * sizeof(T));
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
        pipe->InitBuffer(scaleBuffer, MOST * sizeof(float));
        pipe->InitBuffer(perTokenBuffer, MOST * sizeof(float));
        pipe->InitBuffer(blocksBuffer, MOST * 8 * sizeof(float));
    }

    // The factors of a rectangle: those of `width` columns and `height` rows from the given elements on.
    __aicore__ inline void SetFactors(uint64_t column, uint32_t width, uint64_t row, uint32_t height) {
        Load(scaleQueue, scale + column, width, scaleBuffer);
        Load(perTokenQueue, perToken + row, height, perTokenBuffer);
        AscendC::Brcb(blocksBuffer.template Get<float>(), perTokenBuffer.template Get<float>(), (height + 7) / 8,
                      {1, 8});
    }

    // Rows of `width` elements from element `begin` on, whose distance is `columns`.
    __aicore__ inline void Multiply(const AscendC::GlobalTensor<int32_t>& sums, uint64_t begin, uint64_t columns,
                                    uint32_t height, uint32_t width) {
        const uint32_t pitch = RowPitch(width), most = TILE / pitch;
        AscendC::GlobalTensor<T> out;
        for (uint32_t row = 0; row < height; row += most) {
            const uint32_t rows = height - row < most ? height - row : most;
            out.SetGlobalBuffer(c + begin + row * columns, (rows - 1) * columns + width);
            CopyRowsIn(sumsQueue, sums[row * pitch], rows, width, pitch);
            Compute(row, rows, width);
            CopyRowsOut(out, outQueue, rows, width, columns);
        }
    }

  private:
    static constexpr uint32_t TILE = 4096;  // elements that are multiplied at a time
    static constexpr uint32_t MOST = 512;   // rows, and columns, of a rectangle

    __aicore__ inline void Load(AscendC::TQue<AscendC::TPosition::VECIN, 1>& queue, __gm__ T* from, uint32_t count,
                                AscendC::TBuf<AscendC::TPosition::VECCALC>& to) {
        AscendC::GlobalTensor<T> factors;
        factors.SetGlobalBuffer(from, count);
        CopyRowsIn(queue, factors, 1, count, count);
        AscendC::LocalTensor<T> narrow = queue.template DeQue<T>();
        AscendC::Cast(to.template Get<float>(), narrow, AscendC::RoundMode::CAST_NONE, count);
        queue.FreeTensor(narrow);
    }

    __aicore__ inline void Compute(uint32_t row, uint32_t rows, uint32_t width) {
        const uint32_t pitch = RowPitch(width);
        const AscendC::LocalTensor<float> wide = wideBuffer.template Get<float>();
        AscendC::LocalTensor<int32_t> sums = sumsQueue.template DeQue<int32_t>();
        AscendC::Cast(wide, sums, AscendC::RoundMode::CAST_RINT, rows * pitch);
        sumsQueue.FreeTensor(sums);
        MulColumns(wide, wide, scaleBuffer.template Get<float>(), rows, width, pitch);
        MulRows(wide, wide, blocksBuffer.template Get<float>()[row * 8], rows, width, pitch);
        AscendC::LocalTensor<T> out = outQueue.template AllocTensor<T>();
        AscendC::Cast(out, wide, AscendC::RoundMode::CAST_RINT, rows * pitch);
        outQueue.EnQue(out);
    }

    AscendC::TQue<AscendC::TPosition::VECIN, 1> sumsQueue, scaleQueue, perTokenQueue;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> outQueue;
    AscendC::TBuf<AscendC::TPosition::VECCALC> wideBuffer, scaleBuffer, perTokenBuffer, blocksBuffer;
    __gm__ T* scale;
    __gm__ T* perToken;
    __gm__ T* c;
};

// The way of one block of cores. `Products` are those of Walk, and tell where their scales begin. If TURNED, a lies
// column by column.
template <typename T, bool TURNED, typename Products>
__aicore__ inline void DequantisedProducts(GM_ADDR a, GM_ADDR b, GM_ADDR scale, GM_ADDR perToken, GM_ADDR c,
                                           GM_ADDR workspace, const TCubeTiling& tiling, const Products& products) {
    AscendC::TPipe pipe;
    Handover<int32_t> handover(workspace, tiling);
    Walk<Products> walk(products, tiling);
    if ASCEND_IS_AIC {
        MultiplyAll<TURNED>(&pipe, tiling, (__gm__ int8_t*)a, (__gm__ int8_t*)b, walk, handover);
    }
    if ASCEND_IS_AIV {
        Dequantisation<T> dequantisation(&pipe, scale, perToken, c);
        for (; !walk.Done(); walk.Next()) {
            const Matrices& matrices = walk.Product().Here();
            const Rectangle part = walk.Here();
            const Half own = OwnRows(part);
            const uint64_t row = part.row + own.first;
            if (own.height > 0) {
                dequantisation.SetFactors(walk.Product().Scale() + part.column, part.width,
                                          walk.Product().PerToken() + row, own.height);
            }
            dequantisation.Multiply(handover.Take()[own.first * RowPitch(part.width)],
                                    matrices.c + row * matrices.n + part.column, matrices.n, own.height, part.width);
            handover.Return();
        }
    }
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
