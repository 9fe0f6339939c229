// GroupedMatmulSliceK: for every group of inner indices, those columns of a times those rows of b, in half, added up in
// float and rounded once. a lies column by column.
//
// Cube cores only. Every group's result lies under the same grid of rectangles; the rectangles of all groups go to the
// cores in turn. The result of a group without inner indices stays as it was filled before the launch, with zeros.
#include "rectangles.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void grouped_matmul_slice_k(GM_ADDR a, GM_ADDR b, GM_ADDR groupList, GM_ADDR c,
                                                             GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GET_TILING_DATA(tilingData, tiling);
    const TCubeTiling& cube = tilingData.cube;
    const uint64_t m = cube.M, n = cube.N, cores = GetBlockNum();
    GlobalTensor<int64_t> ends;
    ends.SetGlobalBuffer((__gm__ int64_t*)groupList, tilingData.groups);
    const Grid grid(m, n, cube.singleCoreM, cube.singleCoreN);
    TPipe pipe;
    RectangleProduct<half, half, true> product;
    product.Init(&pipe, cube);
    uint64_t begin = 0, next = GetBlockIdx();  // the next rectangle of this core, counted from the group's first one
    for (uint64_t group = 0; group < tilingData.groups; ++group) {
        const uint64_t end = ends.GetValue(group);
        if (end == begin) {
            continue;
        }
        product.SetMatrices(m, end - begin, n, n);
        for (; next < grid.Count(); next += cores) {
            product.Multiply((__gm__ half*)a + begin * m, (__gm__ half*)b + begin * n, (__gm__ half*)c + group * m * n,
                             grid.At(next));
        }
        next -= grid.Count();
        begin = end;
    }
    product.End();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
