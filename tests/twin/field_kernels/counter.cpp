#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TBuf<> bx, by;
    pipe.InitBuffer(bx, 1200 * 2);
    pipe.InitBuffer(by, 1200 * 2);
    GlobalTensor<half> gx, gy;
    gx.SetGlobalBuffer((__gm__ half*)x);
    gy.SetGlobalBuffer((__gm__ half*)y);
    auto lx = bx.Get<half>(), ly = by.Get<half>();
    DataCopy(lx, gx, 1024);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Duplicate(ly, (half)0, 1024);
    PipeBarrier<PIPE_V>();
    SetMaskCount();
    SetVectorMask<half, MaskMode::COUNTER>(777);
    Add<half, false>(ly, lx, lx, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8});
    PipeBarrier<PIPE_V>();
    Muls<half, false>(ly, ly, (half)0.5, AscendC::MASK_PLACEHOLDER, 1, UnaryRepeatParams(1, 1, 8, 8));
    SetMaskNorm();
    ResetMask();
    PipeBarrier<PIPE_V>();
    uint64_t mask[2] = {0x5555555555555555, 0};
    Adds(ly, ly, (half)1, mask, 8, {1, 1, 8, 8});
    PipeBarrier<PIPE_V>();
    Relu(ly, ly, 128, 8, {1, 1, 8, 8});
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(gy, ly, 1024);
}
