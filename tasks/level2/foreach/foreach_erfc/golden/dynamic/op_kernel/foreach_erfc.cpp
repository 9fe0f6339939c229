// ForeachErfc: y[k] = 1 - erf(x[k]) for every tensor k of a list.
//
// In float also for 16-bit types: the result is rounded once. The library takes its
// scratch from what is left of the core's memory.
#include "foreach.h"

using namespace AscendC;

template <typename T>
struct KernelForeachErfc : foreach::Operation<foreach::Wide<T>, 1> {
    using C = foreach::Wide<T>;
    __aicore__ inline void Compute(const LocalTensor<C>& y, const LocalTensor<C>& x, const LocalTensor<C>& scratch,
                                   uint32_t length) {
        Erfc(y, x, length);
    }
};

extern "C" __global__ __aicore__ void foreach_erfc(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachErfc<DTYPE_X> operation;
    foreach::Apply<DTYPE_X>(operation, sizes, y, x);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
