// The product of two matrices of 16 × 16 halfs, on one cube core: what `npukb doctor --npu` builds and runs.
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void trial_cube(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    if (GetBlockIdx() != 0) return;
    constexpr uint16_t kSide = 16;
    TPipe pipe;
    TBuf<TPosition::A1> a1;
    TBuf<TPosition::B1> b1;
    TBuf<TPosition::A2> a2;
    TBuf<TPosition::B2> b2;
    TBuf<TPosition::CO1> co1;
    pipe.InitBuffer(a1, kSide * kSide * sizeof(half));
    pipe.InitBuffer(b1, kSide * kSide * sizeof(half));
    pipe.InitBuffer(a2, kSide * kSide * sizeof(half));
    pipe.InitBuffer(b2, kSide * kSide * sizeof(half));
    pipe.InitBuffer(co1, kSide * kSide * sizeof(float));
    LocalTensor<half> inA = a1.Get<half>(), inB = b1.Get<half>(), left = a2.Get<half>(), right = b2.Get<half>();
    LocalTensor<float> sums = co1.Get<float>();
    GlobalTensor<half> first, second;
    GlobalTensor<float> out;
    first.SetGlobalBuffer((__gm__ half*)x, kSide * kSide);
    second.SetGlobalBuffer((__gm__ half*)y, kSide * kSide);
    out.SetGlobalBuffer((__gm__ float*)z, kSide * kSide);
    Nd2NzParams fractals(1, kSide, kSide, 0, kSide, kSide, 1, 0);
    DataCopy(inA, first, fractals);
    DataCopy(inB, second, fractals);
    PipeBarrier<PIPE_ALL>();
    LoadData2DParams one;
    one.repeatTimes = 1;
    LoadData(left, inA, one);
    one.ifTranspose = true;
    LoadData(right, inB, one);
    PipeBarrier<PIPE_ALL>();
    MmadParams product;
    product.m = product.n = product.k = kSide;
    Mmad(sums, left, right, product);
    PipeBarrier<PIPE_ALL>();
    FixpipeParamsV220 whole(kSide, kSide, kSide, kSide, false);
    Fixpipe(out, sums, whole);
}
