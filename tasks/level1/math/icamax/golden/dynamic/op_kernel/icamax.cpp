// Icamax: the number of the element of largest |Re| + |Im|, the first of several, counted from one.
#include "strided_extreme.h"

extern "C" __global__ __aicore__ void icamax(GM_ADDR x, GM_ADDR result, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    RunStridedExtreme<2, false>(x, result, workspace, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
