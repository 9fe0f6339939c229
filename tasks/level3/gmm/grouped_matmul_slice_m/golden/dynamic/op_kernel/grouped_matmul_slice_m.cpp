// GroupedMatmulSliceM: rows of a, group by group, times the matrix of their group, in half, added up in float and
// rounded once.
//
// Cube cores only. The rows of every group lie under a grid of rectangles of one size; the rectangles of all groups go
// to the cores in turn. A group without rows has no rectangle.
#include "rectangles.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void grouped_matmul_slice_m(GM_ADDR a, GM_ADDR b, GM_ADDR groupList, GM_ADDR c,
                                                             GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GET_TILING_DATA(tilingData, tiling);
    const TCubeTiling& cube = tilingData.cube;
    const uint64_t n = cube.N, k = cube.Ka, cores = GetBlockNum();
    GlobalTensor<int64_t> ends;
    ends.SetGlobalBuffer((__gm__ int64_t*)groupList, tilingData.groups);
    TPipe pipe;
    RectangleProduct<half> product;
    product.Init(&pipe, cube);
    uint64_t begin = 0, next = GetBlockIdx();  // the next rectangle of this core, counted from the group's first one
    for (uint64_t group = 0; group < tilingData.groups; ++group) {
        const uint64_t end = ends.GetValue(group);
        const Grid grid(end - begin, n, cube.singleCoreM, cube.singleCoreN);
        for (; next < grid.Count(); next += cores) {
            product.Multiply((__gm__ half*)a + begin * k, (__gm__ half*)b + group * k * n,
                             (__gm__ half*)c + begin * n, grid.At(next));
        }
        next -= grid.Count();
        begin = end;
    }
    product.End();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
