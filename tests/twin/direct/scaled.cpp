#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;

template <typename T, int32_t Times>
__global__ __aicore__ void scaled(GM_ADDR x, GM_ADDR y, uint32_t length)
{
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> in;
    TQue<QuePosition::VECOUT, 1> out;
    GlobalTensor<T> from, to;
    from.SetGlobalBuffer((__gm__ T*)x);
    to.SetGlobalBuffer((__gm__ T*)y);
    pipe.InitBuffer(in, 1, length * sizeof(T));
    pipe.InitBuffer(out, 1, length * sizeof(T));
    LocalTensor<T> a = in.AllocTensor<T>();
    DataCopy(a, from, length);
    in.EnQue(a);
    a = in.DeQue<T>();
    LocalTensor<T> b = out.AllocTensor<T>();
    Muls(b, a, (T)Times, length);
    out.EnQue(b);
    b = out.DeQue<T>();
    DataCopy(to, b, length);
    in.FreeTensor(a);
    out.FreeTensor(b);
}

