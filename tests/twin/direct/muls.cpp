#include "kernel_operator.h"

extern "C" __global__ __aicore__ void probe_muls(GM_ADDR x, GM_ADDR y, GM_ADDR tiling, float factor)
{
    const uint32_t n = ((__gm__ uint32_t*)tiling)[0];
    AscendC::TPipe pipe;
    AscendC::TQue<AscendC::QuePosition::VECIN, 1> in;
    AscendC::TQue<AscendC::QuePosition::VECOUT, 1> out;
    AscendC::GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float*)x);
    to.SetGlobalBuffer((__gm__ float*)y);
    pipe.InitBuffer(in, 1, n * sizeof(float));
    pipe.InitBuffer(out, 1, n * sizeof(float));
    auto a = in.AllocTensor<float>();
    AscendC::DataCopy(a, from, n);
    in.EnQue(a);
    a = in.DeQue<float>();
    auto b = out.AllocTensor<float>();
    AscendC::Muls(b, a, factor, n);
    out.EnQue(b);
    b = out.DeQue<float>();
    AscendC::DataCopy(to, b, n);
    in.FreeTensor(a);
    out.FreeTensor(b);
}
