// GroupedMatmulSliceMPerTokenDequant: rows of a, group by group, times the matrix of their group, in int8, summed in
// int32, multiplied by a scale per column and one per row in float and rounded once to bfloat16.
//
// Blocks of one cube core and two vector cores. The rows of every group lie under a grid of rectangles, which go to the
// blocks in turn: the cube core leaves one in the workspace, and multiplies the next while the vector cores scale. A
// group without rows has no rectangle.
#include "dequantised_products.h"

class Groups {
  public:
    __aicore__ inline Groups(const TCubeTiling& tiling, uint32_t groups, GM_ADDR groupList) : groups(groups) {
        ends.SetGlobalBuffer((__gm__ int64_t*)groupList, groups);
        matrices = {uint64_t(ends.GetValue(0)), uint64_t(tiling.Ka), uint64_t(tiling.N), 0, 0, 0};
    }

    __aicore__ inline bool Done() const { return group >= groups; }

    __aicore__ inline void Next() {
        const uint64_t begin = ends.GetValue(group);
        matrices.a = begin * matrices.k;
        matrices.b += matrices.k * matrices.n;
        matrices.c = begin * matrices.n;
        row = begin;
        if (++group < groups) {
            matrices.m = ends.GetValue(group) - begin;
        }
    }

    __aicore__ inline const Matrices& Here() const { return matrices; }
    __aicore__ inline uint64_t Scale() const { return group * matrices.n; }
    __aicore__ inline uint64_t PerToken() const { return row; }

  private:
    AscendC::GlobalTensor<int64_t> ends;
    Matrices matrices;
    uint64_t row = 0;  // first of the group
    uint32_t groups, group = 0;
};

extern "C" __global__ __aicore__ void grouped_matmul_slice_m_per_token_dequant(GM_ADDR a, GM_ADDR b, GM_ADDR scale,
                                                                               GM_ADDR per_token_scale,
                                                                               GM_ADDR groupList, GM_ADDR c,
                                                                               GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA(tilingData, tiling);
    const Groups groups(tilingData.cube, tilingData.groups, groupList);
    DequantisedProducts<bfloat16_t, false>(a, b, scale, per_token_scale, c, AscendC::GetUserWorkspace(workspace),
                                           tilingData.cube, groups);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
