#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t N = 512;
extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR v, GM_ADDR i, GM_ADDR workspace) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TBuf<> bx, bi, bc, bt, bs, bv, bo;
    pipe.InitBuffer(bx, N * 4);
    pipe.InitBuffer(bi, N * 4);
    pipe.InitBuffer(bc, N * 8);
    pipe.InitBuffer(bt, N * 8);
    pipe.InitBuffer(bs, N * 8);
    pipe.InitBuffer(bv, N * 4);
    pipe.InitBuffer(bo, N * 4);
    GlobalTensor<float> gx, gv;
    GlobalTensor<int32_t> gi;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gv.SetGlobalBuffer((__gm__ float*)v);
    gi.SetGlobalBuffer((__gm__ int32_t*)i);
    auto lx = bx.Get<float>();
    auto li = bi.Get<uint32_t>();
    auto lc = bc.Get<float>();
    auto lt = bt.Get<float>();
    auto ls = bs.Get<float>();
    auto lv = bv.Get<float>();
    auto lo = bo.Get<uint32_t>();
    DataCopy(lx, gx, N);
    ArithProgression<int32_t>(li.ReinterpretCast<int32_t>(), 0, 1, N);
    int32_t id = static_cast<int32_t>(GetTPipePtr()->FetchEventID(HardEvent::MTE2_V));
    SetFlag<HardEvent::MTE2_V>(id);
    WaitFlag<HardEvent::MTE2_V>(id);
    LocalTensor<float> conc;
    Concat(conc, lx, lt, N / 16);
    Sort<float, true>(ls, conc, li, lt, N / 32);
    Extract(lv, lo, ls, N / 32);
    int32_t id2 = static_cast<int32_t>(GetTPipePtr()->FetchEventID(HardEvent::V_MTE3));
    SetFlag<HardEvent::V_MTE3>(id2);
    WaitFlag<HardEvent::V_MTE3>(id2);
    DataCopy(gv, lv, 64);
    DataCopy(gi, lo.ReinterpretCast<int32_t>(), 64);
}
