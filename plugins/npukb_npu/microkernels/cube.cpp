// One cube core does the same thing again and again, as loop.cpp does on a vector core. SIDE, DEPTH: of the matrices of
// a product; TYPE: of its operands; DST: of its sums. SETUP: what comes before. ROUNDS and COUNT come from the input
// `parameters`.
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void probe(GM_ADDR data, GM_ADDR parameters, GM_ADDR out, GM_ADDR workspace) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    if (GetBlockIdx() != 0) return;
    const int32_t rounds = ((__gm__ int32_t*)parameters)[0];
    const int32_t count = ((__gm__ int32_t*)parameters)[1];
    TPipe pipe;
    TBuf<TPosition::A1> first, second;
    TBuf<TPosition::A2> left;
    TBuf<TPosition::B2> right;
    TBuf<TPosition::CO1> sums;
    TBuf<TPosition::C2> table;
    pipe.InitBuffer(first, 131072);
    pipe.InitBuffer(second, 131072);
    pipe.InitBuffer(left, 65536);
    pipe.InitBuffer(right, 65536);
    pipe.InitBuffer(sums, 131072);
    pipe.InitBuffer(table, 1024);
    LocalTensor<TYPE> l1 = first.Get<TYPE>(), l0a = left.Get<TYPE>(), l0b = right.Get<TYPE>();
    LocalTensor<uint8_t> back = second.Get<uint8_t>();
    LocalTensor<DST> l0c = sums.Get<DST>();
    LocalTensor<float> bias = table.Get<float>();
    GlobalTensor<uint8_t> from;
    from.SetGlobalBuffer(data);
    GlobalTensor<float> result;
    result.SetGlobalBuffer((__gm__ float*)out);
    (void)count;
    MmadParams product;
    product.m = product.n = SIDE;
    product.k = DEPTH;
    LoadData2DParams fractal;
    fractal.repeatTimes = 1;
    SETUP;
    PipeBarrier<PIPE_ALL>();
    for (int32_t i = 0; i < rounds; ++i) {
        BODY;
    }
}
