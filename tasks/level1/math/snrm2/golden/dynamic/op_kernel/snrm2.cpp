// Snrm2: the Euclidean norm of a vector with a stride.
#include "strided_sum.h"

extern "C" __global__ __aicore__ void snrm2(GM_ADDR x, GM_ADDR result, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    RunStridedSum<DTYPE_X, true>(x, result, workspace, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
