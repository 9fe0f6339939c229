// BatchedMatmul: c[i] = a[i] @ b[i] for matrices of half, added up in float and rounded once.
//
// Cube cores only. Every product is cut into a grid of rectangles; those of all products go to the cores in turn.
#include "rectangles.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void batched_matmul(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace,
                                                     GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GET_TILING_DATA(tilingData, tiling);
    const TCubeTiling& cube = tilingData.cube;
    const uint64_t m = cube.M, n = cube.N, k = cube.Ka;
    const Grid grid(m, n, cube.singleCoreM, cube.singleCoreN);
    const uint64_t parts = grid.Count();
    TPipe pipe;
    RectangleProduct<half> product;
    product.Init(&pipe, cube);
    for (uint64_t i = GetBlockIdx(); i < tilingData.batches * parts; i += GetBlockNum()) {
        const uint64_t batch = i / parts;
        product.Multiply((__gm__ half*)a + batch * m * k, (__gm__ half*)b + batch * k * n,
                         (__gm__ half*)c + batch * m * n, grid.At(i % parts));
    }
    product.End();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
