// QuantMatmul: d = (a @ b) * scale * per_token_scale for matrices of int8, a scale per column and one per row.
//
// Blocks of one cube core and two vector cores. The product lies under a grid of rectangles, which go to the blocks in
// turn: the cube core leaves sums of int32 in the workspace, and multiplies the next rectangle while the vector cores
// scale, in float, and round once.
#include "dequantised_products.h"

// The product alone; its scales begin where those of the operator do.
class OneProduct {
  public:
    __aicore__ inline explicit OneProduct(const TCubeTiling& tiling)
        : matrices{uint64_t(tiling.M), uint64_t(tiling.Ka), uint64_t(tiling.N), 0, 0, 0} {}

    __aicore__ inline bool Done() const { return done; }
    __aicore__ inline void Next() { done = true; }
    __aicore__ inline const Matrices& Here() const { return matrices; }
    __aicore__ inline uint64_t Scale() const { return 0; }
    __aicore__ inline uint64_t PerToken() const { return 0; }

  private:
    Matrices matrices;
    bool done = false;
};

extern "C" __global__ __aicore__ void quant_matmul(GM_ADDR a, GM_ADDR b, GM_ADDR scale, GM_ADDR per_token_scale,
                                                   GM_ADDR d, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA(tilingData, tiling);
    DequantisedProducts<half, false>(a, b, scale, per_token_scale, d, AscendC::GetUserWorkspace(workspace),
                                     tilingData.cube, OneProduct(tilingData.cube));
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
