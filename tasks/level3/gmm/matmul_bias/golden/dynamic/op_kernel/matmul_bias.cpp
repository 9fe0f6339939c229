// MatmulBias: d = a @ b + bias for matrices of half, added up in float on top of the bias and rounded once.
//
// Cube cores only. The product is cut into a grid of rectangles, and every core multiplies one of them; its part of the
// bias goes through the bias table into the sums before the first product does.
#include "rectangles.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void matmul_bias(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR d, GM_ADDR workspace,
                                                  GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GET_TILING_DATA(tilingData, tiling);
    const TCubeTiling& cube = tilingData.cube;
    const Grid grid(cube.M, cube.N, cube.singleCoreM, cube.singleCoreN);
    if (GetBlockIdx() >= grid.Count()) {
        return;
    }
    const Rectangle part = grid.At(GetBlockIdx());
    TPipe pipe;
    RectangleProduct<half> product;
    product.Init(&pipe, cube);
    product.SetBias((__gm__ half*)bias, part);
    product.Multiply((__gm__ half*)a, (__gm__ half*)b, (__gm__ half*)d, part);
    product.End();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
