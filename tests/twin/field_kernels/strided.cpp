#include "kernel_operator.h"
using namespace AscendC;

// take columns 3..13 (11 floats) of a 37 x 45 matrix
extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 2> q;
    pipe.InitBuffer(q, 2, 37 * 64);
    GlobalTensor<float> gx, gy;
    gx.SetGlobalBuffer((__gm__ float*)x, 37 * 45);
    gy.SetGlobalBuffer((__gm__ float*)y, 37 * 11);
    auto t = q.AllocTensor<float>();
    DataCopyExtParams in{37, 44, (45 - 11) * 4, 0, 0};
    DataCopyPadExtParams<float> pad{false, 0, 0, 0};
    DataCopyPad(t, gx[3], in, pad);
    q.EnQue(t);
    t = q.DeQue<float>();
    DataCopyExtParams out{37, 44, 0, 0, 0};
    DataCopyPad(gy, t, out);
    q.FreeTensor(t);
}
