// Vector cores do the same thing again and again: what the time grows by, from one number of rounds to another, is what
// it costs. BODY: statements; SETUP: what comes before them. Rounds and count come from the input `parameters`. CORES
// cores do it, one unless said otherwise, each with SHARE bytes of the tensors to itself.
#include "kernel_operator.h"
using namespace AscendC;

#ifndef CORES
#define CORES 1
#define SHARE 0
#endif

extern "C" __global__ __aicore__ void probe(GM_ADDR data, GM_ADDR parameters, GM_ADDR out, GM_ADDR workspace) {
    if (GetBlockIdx() >= CORES) return;
    const int32_t rounds = ((__gm__ int32_t*)parameters)[0];
    const int32_t count = ((__gm__ int32_t*)parameters)[1];
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, UB_BYTES);
    GlobalTensor<TYPE> from, to;
    from.SetGlobalBuffer((__gm__ TYPE*)(data + GetBlockIdx() * SHARE));
    to.SetGlobalBuffer((__gm__ TYPE*)(out + GetBlockIdx() * SHARE));
    LocalTensor<uint8_t> ub = buffer.Get<uint8_t>();
    LocalTensor<TYPE> x = ub[X].ReinterpretCast<TYPE>(), y = ub[Y].ReinterpretCast<TYPE>();
    LocalTensor<DST> z = ub[Z].ReinterpretCast<DST>();
    (void)count;
    SETUP;
    PipeBarrier<PIPE_ALL>();
    for (int32_t i = 0; i < rounds; ++i) {
        BODY;
    }
}
