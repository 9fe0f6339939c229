// The sum of 1024 floats with 1024 others, on one vector core: what `npukb doctor --npu` builds and runs.
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void trial_vector(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    if (GetBlockIdx() != 0) return;
    constexpr int32_t kCount = 1024;
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> first, second;
    TQue<QuePosition::VECOUT, 1> sums;
    pipe.InitBuffer(first, 1, kCount * sizeof(float));
    pipe.InitBuffer(second, 1, kCount * sizeof(float));
    pipe.InitBuffer(sums, 1, kCount * sizeof(float));
    GlobalTensor<float> left, right, out;
    left.SetGlobalBuffer((__gm__ float*)x, kCount);
    right.SetGlobalBuffer((__gm__ float*)y, kCount);
    out.SetGlobalBuffer((__gm__ float*)z, kCount);
    LocalTensor<float> a = first.AllocTensor<float>(), b = second.AllocTensor<float>();
    DataCopy(a, left, kCount);
    DataCopy(b, right, kCount);
    first.EnQue(a);
    second.EnQue(b);
    a = first.DeQue<float>();
    b = second.DeQue<float>();
    LocalTensor<float> c = sums.AllocTensor<float>();
    Add(c, a, b, kCount);
    sums.EnQue(c);
    first.FreeTensor(a);
    second.FreeTensor(b);
    c = sums.DeQue<float>();
    DataCopy(out, c, kCount);
    sums.FreeTensor(c);
}
