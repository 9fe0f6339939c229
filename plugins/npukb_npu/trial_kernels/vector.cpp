// The sum of 1024 floats with 1024 others, on one vector core: what `npukb doctor --npu` builds and runs.
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void trial_vector(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    if (GetBlockIdx() != 0) return;
    constexpr int32_t kCount = 1024;
    TPipe pipe;
    TBuf<TPosition::VECCALC> room;
    pipe.InitBuffer(room, 2 * kCount * sizeof(float));
    LocalTensor<float> a = room.Get<float>(), b = a[kCount];
    GlobalTensor<float> left, right, out;
    left.SetGlobalBuffer((__gm__ float*)x, kCount);
    right.SetGlobalBuffer((__gm__ float*)y, kCount);
    out.SetGlobalBuffer((__gm__ float*)z, kCount);
    DataCopy(a, left, kCount);
    DataCopy(b, right, kCount);
    PipeBarrier<PIPE_ALL>();
    Add(a, a, b, kCount);
    PipeBarrier<PIPE_ALL>();
    DataCopy(out, a, kCount);
}
