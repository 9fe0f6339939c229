// MseLossGradV2: y = factor * (predict - label) * dout, in float for every element type.
//
// Every core takes one contiguous share of the tensors and walks through it in tiles.
#include "row_tensors.h"

template <typename T>
class KernelMseLossGradV2 {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR predict, GM_ADDR label, GM_ADDR dout, GM_ADDR y,
                                const MseLossGradV2TilingData& tiling) {
        const uint64_t first = GetBlockIdx() * tiling.share;
        begin = first < tiling.total ? first : tiling.total;
        end = tiling.total - begin < tiling.share ? tiling.total : begin + tiling.share;
        tileLength = tiling.tile;
        factor = tiling.factor;
        predictIn.Init(pipe, predict, tileLength);
        labelIn.Init(pipe, label, tileLength);
        doutIn.Init(pipe, dout, tileLength);
        yOut.Init(pipe, y, tileLength);
    }

    __aicore__ inline void Process() {
        for (uint64_t offset = begin; offset < end; offset += tileLength) {
            const uint32_t length = end - offset < tileLength ? end - offset : tileLength;
            const Tile tile{1, length, tileLength};
            LocalTensor<float> y = yOut.Begin();
            LocalTensor<float> predict = predictIn.Take({offset, 0}, tile);
            Sub(y, predict, labelIn.Take({offset, 0}, tile), length);
            predictIn.Drop();
            labelIn.Drop();
            Muls(y, y, factor, length);
            Mul(y, y, doutIn.Take({offset, 0}, tile), length);
            doutIn.Drop();
            yOut.Store({offset, 0}, tile);
        }
    }

  private:
    RowsIn<T> predictIn, labelIn, doutIn;
    RowsOut<T> yOut;
    uint64_t begin = 0, end = 0;
    uint32_t tileLength = 0;
    float factor = 0.0f;
};

extern "C" __global__ __aicore__ void mse_loss_grad_v2(GM_ADDR predict, GM_ADDR label, GM_ADDR dout, GM_ADDR y,
                                                       GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelMseLossGradV2<DTYPE_PREDICT> op;
    op.Init(&pipe, predict, label, dout, y, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
