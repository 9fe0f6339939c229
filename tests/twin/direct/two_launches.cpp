#include "kernel_operator.h"
#include "acl/acl.h"
using namespace AscendC;

struct Tiling { uint32_t length; float scale; };

extern "C" __global__ __aicore__ void scale_in(GM_ADDR x, GM_ADDR out, Tiling tiling, int64_t blocks)
{
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> in;
    TQue<QuePosition::VECOUT, 1> result;
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float*)x);
    to.SetGlobalBuffer((__gm__ float*)out);
    pipe.InitBuffer(in, 1, tiling.length * sizeof(float));
    pipe.InitBuffer(result, 1, tiling.length * sizeof(float));
    LocalTensor<float> a = in.AllocTensor<float>();
    DataCopy(a, from, tiling.length);
    in.EnQue(a);
    a = in.DeQue<float>();
    LocalTensor<float> b = result.AllocTensor<float>();
    Muls(b, a, tiling.scale, tiling.length);
    result.EnQue(b);
    b = result.DeQue<float>();
    DataCopy(to, b, tiling.length);
    in.FreeTensor(a);
    result.FreeTensor(b);
}

namespace mine {
template <typename T>
__global__ __aicore__ void add_up(GM_ADDR x, GM_ADDR y, GM_ADDR z, __gm__ Tiling* tiling)
{
    if (GetBlockIdx() != 0) return;
    const uint32_t n = tiling->length;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 2 * n * sizeof(T));
    LocalTensor<T> p = buffer.Get<T>(), r = p[n];
    GlobalTensor<T> a, b, c;
    a.SetGlobalBuffer((__gm__ T*)x);
    b.SetGlobalBuffer((__gm__ T*)y);
    c.SetGlobalBuffer((__gm__ T*)z);
    DataCopy(p, a, n);
    DataCopy(r, b, n);
    PipeBarrier<PIPE_ALL>();
    Add(r, p, r, n);
    PipeBarrier<PIPE_ALL>();
    DataCopy(c, r, n);
}
}  // namespace mine

extern "C" void add_custom_do(uint32_t blockDim, void* stream, uint8_t* x, uint8_t* y, uint8_t* z, uint32_t length)
{
    Tiling tiling{length, 2.0f};
    void *between = nullptr, *device = nullptr;
    aclrtMalloc(&between, length * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc(&device, sizeof tiling, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(device, sizeof tiling, &tiling, sizeof tiling, ACL_MEMCPY_HOST_TO_DEVICE);
    scale_in<<<1, nullptr, stream>>>(x, (uint8_t*)between, tiling, blockDim);
    mine::add_up<float><<<1, nullptr, stream>>>((uint8_t*)between, y, z, (Tiling*)device);
    aclrtSynchronizeStream(stream);
}
