#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t kShare = 48 * 128 * 512 / 48;  // elements of one core
constexpr uint32_t kTile = 512;

extern "C" __global__ __aicore__ void sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, kTile * sizeof(half));
    pipe.InitBuffer(out, 1, kTile * sizeof(half));
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer((__gm__ half*)x + GetBlockIdx() * kShare, kShare);
    to.SetGlobalBuffer((__gm__ half*)y + GetBlockIdx() * kShare, kShare);
    for (uint32_t at = 0; at < kShare; at += kTile) {
        LocalTensor<half> a = in.AllocTensor<half>();
        DataCopy(a, from[at], kTile);
        in.EnQue(a);
        a = in.DeQue<half>();
        LocalTensor<half> b = out.AllocTensor<half>();
        Sqrt(b, a, kTile);
        out.EnQue(b);
        in.FreeTensor(a);
        b = out.DeQue<half>();
        DataCopy(to[at], b, kTile);
        out.FreeTensor(b);
    }
}
