// PreLayerNorm: layer normalization of x + y over the last axis.
#include "layer_norm.h"

extern "C" __global__ __aicore__ void pre_layer_norm(GM_ADDR x, GM_ADDR y, GM_ADDR gamma, GM_ADDR beta, GM_ADDR resOut,
                                                     GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    RunLayerNorm<DTYPE_X>({x, y, nullptr, gamma, beta, resOut, nullptr, nullptr, nullptr}, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
