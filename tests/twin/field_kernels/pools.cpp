#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TBufPool<TPosition::VECCALC> p1, p2;
    TQue<QuePosition::VECIN, 1> qi;
    TQue<QuePosition::VECOUT, 1> qo;
    TQue<QuePosition::VECIN, 1> qi2;
    TQue<QuePosition::VECOUT, 1> qo2;
    pipe.InitBufPool(p1, 65536);
    pipe.InitBufPool(p2, 65536, p1);
    GlobalTensor<float> gx, gy;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gy.SetGlobalBuffer((__gm__ float*)y);
    p1.InitBuffer(qi, 1, 4096);
    p1.InitBuffer(qo, 1, 4096);
    {
        auto a = qi.AllocTensor<float>();
        DataCopy(a, gx, 1024);
        qi.EnQue(a);
        a = qi.DeQue<float>();
        auto b = qo.AllocTensor<float>();
        Abs(b, a, 1024);
        qo.EnQue(b);
        qi.FreeTensor(a);
        b = qo.DeQue<float>();
        DataCopy(gy, b, 1024);
        qo.FreeTensor(b);
    }
    p1.Reset();
    p2.InitBuffer(qi2, 1, 4096);
    p2.InitBuffer(qo2, 1, 4096);
    {
        auto a = qi2.AllocTensor<float>();
        DataCopy(a, gx[1024], 1024);
        qi2.EnQue(a);
        a = qi2.DeQue<float>();
        auto b = qo2.AllocTensor<float>();
        Sqrt(b, a, 1024);
        qo2.EnQue(b);
        qi2.FreeTensor(a);
        b = qo2.DeQue<float>();
        DataCopy(gy[1024], b, 1024);
        qo2.FreeTensor(b);
    }
    p2.Reset();
}
