#include "kernel_operator.h"
using namespace AscendC;

// ping-pong by hand with static tensors and flags
extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TBuf<TPosition::VECCALC> in, out;
    constexpr uint32_t T = 1024;
    pipe.InitBuffer(in, 2 * T * 4);
    pipe.InitBuffer(out, 2 * T * 4);
    GlobalTensor<float> gx, gy;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gy.SetGlobalBuffer((__gm__ float*)y);
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::V_MTE2>(EVENT_ID1);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (int i = 0; i < 8; ++i) {
        int b = i & 1;
        event_t id = b ? EVENT_ID1 : EVENT_ID0;
        LocalTensor<float> a = in.Get<float>()[b * T], c = out.GetWithOffset<float>(T, b * T * sizeof(float));
        WaitFlag<HardEvent::V_MTE2>(id);
        DataCopy(a, gx[i * T], T);
        SetFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE3_V>(id);
        Ln(c, a, T);
        PipeBarrier<PIPE_V>();
        Muls(c, c, 2.0f, T);
        SetFlag<HardEvent::V_MTE2>(id);
        SetFlag<HardEvent::V_MTE3>(id);
        WaitFlag<HardEvent::V_MTE3>(id);
        DataCopy(gy[i * T], c, T);
        SetFlag<HardEvent::MTE3_V>(id);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID1);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}
