// Tril: the lower triangle of matrices, zeros elsewhere.
#include "triangle.h"

extern "C" __global__ __aicore__ void tril(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    Triangle<DTYPE_X, Side::LOWER> op(sizes);
    op.Init(&pipe, x, y);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
