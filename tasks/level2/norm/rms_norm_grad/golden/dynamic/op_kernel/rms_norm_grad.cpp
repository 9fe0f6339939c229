// RmsNormGrad: gradients of root-mean-square normalization.
#include "norm_grad.h"

extern "C" __global__ __aicore__ void rms_norm_grad(GM_ADDR dy, GM_ADDR x, GM_ADDR rstd, GM_ADDR gamma, GM_ADDR dx,
                                                    GM_ADDR dgamma, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    const NormGradTensors tensors{dy, x, nullptr, nullptr, rstd, gamma, nullptr, dx, nullptr, dgamma, nullptr};
    RunNormGrad<DTYPE_DY, DTYPE_GAMMA>(tensors, GetUserWorkspace(workspace), sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
