// DeepNormGrad: gradients of the layer normalization of alpha * x + gx.
#include "norm_grad.h"

extern "C" __global__ __aicore__ void deep_norm_grad(GM_ADDR dy, GM_ADDR x, GM_ADDR gx, GM_ADDR gamma, GM_ADDR mean,
                                                     GM_ADDR rstd, GM_ADDR dx, GM_ADDR dgx, GM_ADDR dbeta,
                                                     GM_ADDR dgamma, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    const NormGradTensors tensors{dy, x, gx, mean, rstd, gamma, nullptr, dgx, dx, dgamma, dbeta};
    RunNormGrad<DTYPE_DY, DTYPE_DY>(tensors, GetUserWorkspace(workspace), sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
