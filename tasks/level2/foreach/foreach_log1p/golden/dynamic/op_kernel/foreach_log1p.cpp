// ForeachLog1p: y[k] = ln(1 + x[k]) for every tensor k of a list.
//
// In float also for 16-bit types: the result is rounded once. Near zero the sum loses digits of x, but never more
// than 2^-24, half a unit in the last place of 1.
#include "foreach.h"

using namespace AscendC;

template <typename T>
struct KernelForeachLog1p : foreach::Operation<foreach::Wide<T>, 1> {
    using C = foreach::Wide<T>;
    __aicore__ inline void Compute(const LocalTensor<C>& y, const LocalTensor<C>& x, const LocalTensor<C>& scratch,
                                   uint32_t length) {
        Adds(x, x, 1.0f, length);
        Ln(y, x, length);
    }
};

extern "C" __global__ __aicore__ void foreach_log1p(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachLog1p<DTYPE_X> operation;
    foreach::Apply<DTYPE_X>(operation, sizes, y, x);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
