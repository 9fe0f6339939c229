#include "kernel_operator.h"
#include "acl/acl.h"
using namespace AscendC;

struct Tiling { uint32_t length; float scale; };

extern "C" __global__ __aicore__ void scale_in(GM_ADDR x, GM_ADDR out, Tiling tiling, int64_t blocks)
{
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TBuf<TPosition::VECCALC> room;
    pipe.InitBuffer(room, tiling.length * sizeof(float));
    LocalTensor<float> a = room.Get<float>();
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float*)x);
    to.SetGlobalBuffer((__gm__ float*)out);
    DataCopy(a, from, tiling.length);
    PipeBarrier<PIPE_ALL>();
    Muls(a, a, tiling.scale, tiling.length);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, a, tiling.length);
}

namespace mine {
template <typename T>
__global__ __aicore__ void add_up(GM_ADDR x, GM_ADDR y, GM_ADDR z, __gm__ Tiling* tiling)
{
    if (GetBlockIdx() != 0) return;
    const uint32_t n = tiling->length;
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> in;
    TQue<QuePosition::VECOUT, 1> result;
    GlobalTensor<T> a, b, c;
    a.SetGlobalBuffer((__gm__ T*)x);
    b.SetGlobalBuffer((__gm__ T*)y);
    c.SetGlobalBuffer((__gm__ T*)z);
    pipe.InitBuffer(in, 2, n * sizeof(T));
    pipe.InitBuffer(result, 1, n * sizeof(T));
    LocalTensor<T> p = in.AllocTensor<T>(), q = in.AllocTensor<T>(), r = result.AllocTensor<T>();
    DataCopy(p, a, n);
    DataCopy(q, b, n);
    in.EnQue(p);
    in.EnQue(q);
    p = in.DeQue<T>();
    q = in.DeQue<T>();
    Add(r, p, q, n);
    result.EnQue(r);
    r = result.DeQue<T>();
    DataCopy(c, r, n);
    in.FreeTensor(p);
    in.FreeTensor(q);
    result.FreeTensor(r);
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
