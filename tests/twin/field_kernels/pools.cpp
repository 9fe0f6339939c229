#include "kernel_operator.h"
using namespace AscendC;

// A tile from memory, through a queue of each kind, and back.
template <bool root>
__aicore__ inline void Through(TQue<QuePosition::VECIN, 1>& in, TQue<QuePosition::VECOUT, 1>& out,
                               const GlobalTensor<float>& from, const GlobalTensor<float>& to) {
    auto a = in.AllocTensor<float>();
    DataCopy(a, from, 1024);
    in.EnQue(a);
    a = in.DeQue<float>();
    auto b = out.AllocTensor<float>();
    if constexpr (root) {
        Sqrt(b, a, 1024);
    } else {
        Abs(b, a, 1024);
    }
    out.EnQue(b);
    in.FreeTensor(a);
    b = out.DeQue<float>();
    DataCopy(to, b, 1024);
    out.FreeTensor(b);
}

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
    Through<false>(qi, qo, gx, gy);
    p1.Reset();
    p2.InitBuffer(qi2, 1, 4096);
    p2.InitBuffer(qo2, 1, 4096);
    Through<true>(qi2, qo2, gx[1024], gy[1024]);
    p2.Reset();
}
