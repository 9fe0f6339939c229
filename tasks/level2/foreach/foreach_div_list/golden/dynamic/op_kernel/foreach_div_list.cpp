// ForeachDivList: y[k] = x1[k] / x2[k] for every tensor k of two lists.
//
// In float also for 16-bit types: the result is rounded once.
#include "foreach.h"

using namespace AscendC;

template <typename T>
struct KernelForeachDivList : foreach::Operation<foreach::Wide<T>, 2> {
    using C = foreach::Wide<T>;
    __aicore__ inline void Compute(const LocalTensor<C>& y, const LocalTensor<C>& x1, const LocalTensor<C>& x2,
                                   const LocalTensor<C>& scratch, uint32_t length) {
        Div(y, x1, x2, length);
    }
};

extern "C" __global__ __aicore__ void foreach_div_list(GM_ADDR x1, GM_ADDR x2, GM_ADDR y, GM_ADDR workspace,
                                                       GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachDivList<DTYPE_X1> operation;
    foreach::Apply<DTYPE_X1>(operation, sizes, y, x1, x2);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
