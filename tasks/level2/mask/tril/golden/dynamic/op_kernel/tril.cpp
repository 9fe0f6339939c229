// Tril: the lower triangle of matrices, zeros elsewhere.
#include "triangle.h"

extern "C" __global__ __aicore__ void tril(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    Triangle<DTYPE_X, Side::LOWER> op(sizes);
    op.Init(&pipe, x, y);
    op.Process();
}
