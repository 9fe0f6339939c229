// BasicMatmul: c = a @ b for matrices of half, added up in float and rounded once.
//
// Cube cores only. The product is cut into a grid of rectangles, and every core multiplies one of them.
#include "rectangles.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void basic_matmul(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace,
                                                   GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GET_TILING_DATA(tilingData, tiling);
    const TCubeTiling& cube = tilingData.cube;
    const Grid grid(cube.M, cube.N, cube.singleCoreM, cube.singleCoreN);
    if (GetBlockIdx() >= grid.Count()) {
        return;
    }
    TPipe pipe;
    RectangleProduct<half> product;
    product.Init(&pipe, cube);
    product.Multiply((__gm__ half*)a, (__gm__ half*)b, (__gm__ half*)c, grid.At(GetBlockIdx()));
    product.End();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
