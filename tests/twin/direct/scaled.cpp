#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;

template <typename T, int32_t Times>
__global__ __aicore__ void scaled(GM_ADDR x, GM_ADDR y, uint32_t length)
{
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, length * sizeof(T));
    LocalTensor<T> a = buffer.Get<T>();
    GlobalTensor<T> from, to;
    from.SetGlobalBuffer((__gm__ T*)x);
    to.SetGlobalBuffer((__gm__ T*)y);
    DataCopy(a, from, length);
    PipeBarrier<PIPE_ALL>();
    Muls(a, a, (T)Times, length);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, a, length);
}

