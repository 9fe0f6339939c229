// Task Sqrt, case smoke (2107 halfs), for Ascend 310P: no DataCopyPad there, so every transfer is whole blocks of 32
// bytes. The cores' parts are equally long; the last begins early enough to end with the tensor, and computes what the
// one before it has, too: both write the same values.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t LENGTH = 7 * 301, BLOCK = 32 / sizeof(half), CORES = 8;
constexpr uint32_t PART = (LENGTH / CORES + BLOCK) / BLOCK * BLOCK;
static_assert(PART * CORES >= LENGTH && PART <= LENGTH, "the parts cover the tensor");

extern "C" __global__ __aicore__ void sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
#if __NPU_ARCH__ != 2002
#error "written for Ascend 310P; on Atlas A2 use DataCopyPad for the tail"
#endif
    if (GetBlockIdx() >= CORES) return;
    const uint32_t begin = GetBlockIdx() * PART, last = LENGTH - PART, offset = begin < last ? begin : last;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, PART * sizeof(half));
    pipe.InitBuffer(out, 1, PART * sizeof(half));
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x), LENGTH);
    to.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y), LENGTH);
    LocalTensor<half> a = in.AllocTensor<half>();
    DataCopy(a, from[offset], PART);
    in.EnQue(a);
    a = in.DeQue<half>();
    LocalTensor<half> b = out.AllocTensor<half>();
    Sqrt(b, a, PART);
    in.FreeTensor(a);
    out.EnQue(b);
    b = out.DeQue<half>();
    DataCopy(to[offset], b, PART);
    out.FreeTensor(b);
}
