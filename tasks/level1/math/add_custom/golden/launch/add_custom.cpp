// The sum of two tensors: one kernel, which gets its numbers by value.
#include "pieces.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, Vectors vectors) {
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> first, second;
    TQue<QuePosition::VECOUT, 2> sums;
    pipe.InitBuffer(first, 2, vectors.tile * sizeof(half));
    pipe.InitBuffer(second, 2, vectors.tile * sizeof(half));
    pipe.InitBuffer(sums, 2, vectors.tile * sizeof(half));
    GlobalTensor<half> a, b, c;
    a.SetGlobalBuffer((__gm__ half*)x, vectors.count);
    b.SetGlobalBuffer((__gm__ half*)y, vectors.count);
    c.SetGlobalBuffer((__gm__ half*)z, vectors.count);
    ForTiles<half>(vectors, [&](int64_t at, uint32_t count) {
        Load<half>(first, a[at], count);
        Load<half>(second, b[at], count);
        LocalTensor<half> p = first.DeQue<half>(), q = second.DeQue<half>(), sum = sums.AllocTensor<half>();
        Add(sum, p, q, count);
        sums.EnQue(sum);
        first.FreeTensor(p);
        second.FreeTensor(q);
        Store<half>(sums, c[at], count);
    });
}

extern "C" void add_custom_do(uint32_t blocks, void* stream, uint8_t* x, uint8_t* y, uint8_t* z, int64_t size) {
    add_custom<<<blocks, nullptr, stream>>>(x, y, z, Vectors{size, 8192});
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
