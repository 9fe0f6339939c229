#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR m, GM_ADDR workspace) {
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q;
    pipe.InitBuffer(q, 2, 256 * 4);
    GlobalTensor<float> gx, gy;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gy.SetGlobalBuffer((__gm__ float*)y);
    GlobalTensor<float> gm;
    gm.SetGlobalBuffer((__gm__ float*)m);
    if (GetBlockIdx() == 0) {
        InitGlobalMemory(gy, 256, 0.0f);
        InitGlobalMemory(gm, 256, -1e30f);
    }
    SyncAll();
    auto t = q.AllocTensor<float>();
    DataCopy(t, gx[GetBlockIdx() * 256], 256);
    q.EnQue(t);
    t = q.DeQue<float>();
    SetAtomicAdd<float>();
    DataCopy(gy, t, 256);
    SetAtomicNone();
    PipeBarrier<PIPE_MTE3>();
    SetAtomicMax<float>();
    DataCopy(gm, t, 256);
    SetAtomicNone();
    q.FreeTensor(t);
}
