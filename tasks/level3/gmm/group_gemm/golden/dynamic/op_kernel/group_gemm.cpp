// GroupGemm: D = alpha * (A @ B) + beta * C group by group, matrices of half whose extents are those of their group,
// added up in float and rounded once, in the memory of C.
//
// Blocks of one cube core and two vector cores. The rectangles of all groups go to the blocks in turn: the cube core
// leaves one in the workspace, and multiplies the next while the vector cores scale and add.
#include "scaled_products.h"

class Groups {
  public:
    __aicore__ inline Groups(const GroupGemmTilingData& sizes, GM_ADDR alpha, GM_ADDR beta) : sizes(sizes) {
        alphas.SetGlobalBuffer((__gm__ float*)alpha, sizes.groups);
        betas.SetGlobalBuffer((__gm__ float*)beta, sizes.groups);
        matrices = {sizes.m[0], sizes.k[0], sizes.n[0], 0, 0, 0};
    }

    __aicore__ inline bool Done() const { return group >= sizes.groups; }

    __aicore__ inline void Next() {
        matrices.a += matrices.m * matrices.k;
        matrices.b += matrices.k * matrices.n;
        matrices.c += matrices.m * matrices.n;
        if (++group < sizes.groups) {
            matrices.m = sizes.m[group];
            matrices.k = sizes.k[group];
            matrices.n = sizes.n[group];
        }
    }

    __aicore__ inline const Matrices& Here() const { return matrices; }
    __aicore__ inline float Alpha() const { return alphas.GetValue(group); }
    __aicore__ inline float Beta() const { return betas.GetValue(group); }

  private:
    const GroupGemmTilingData& sizes;
    AscendC::GlobalTensor<float> alphas, betas;
    Matrices matrices;
    uint32_t group = 0;
};

extern "C" __global__ __aicore__ void group_gemm(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR alpha, GM_ADDR beta,
                                                 GM_ADDR d, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA(tilingData, tiling);
    const Groups groups(tilingData, alpha, beta);
    ScaledProducts<half>(a, b, c, d, AscendC::GetUserWorkspace(workspace), tilingData.cube, groups);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
