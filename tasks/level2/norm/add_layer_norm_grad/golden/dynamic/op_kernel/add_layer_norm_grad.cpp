// AddLayerNormGrad: gradients of the layer normalization of x1 + x2; dsum may be absent.
#include "norm_grad.h"

extern "C" __global__ __aicore__ void add_layer_norm_grad(GM_ADDR dy, GM_ADDR x1, GM_ADDR x2, GM_ADDR rstd,
                                                          GM_ADDR mean, GM_ADDR gamma, GM_ADDR dsum, GM_ADDR dx,
                                                          GM_ADDR dgamma, GM_ADDR dbeta, GM_ADDR workspace,
                                                          GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    const NormGradTensors tensors{dy, x1, x2, mean, rstd, gamma, dsum, dx, nullptr, dgamma, dbeta};
    RunNormGrad<DTYPE_DY, DTYPE_DY>(tensors, GetUserWorkspace(workspace), sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
