// MatmulAdd: d = a @ b + c for matrices of half, added up in float and rounded once.
//
// Blocks of one cube core and two vector cores. The cube core leaves a rectangle of the product in the workspace, and
// multiplies the next one while the vector cores, each of which has half of the rows, add c.
#include "scaled_products.h"

extern "C" __global__ __aicore__ void matmul_add(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR d, GM_ADDR workspace,
                                                 GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA(tilingData, tiling);
    const OneProduct product(tilingData.cube, 1.0f, 1.0f);
    ScaledProducts<half>(a, b, c, d, AscendC::GetUserWorkspace(workspace), tilingData.cube, product);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
