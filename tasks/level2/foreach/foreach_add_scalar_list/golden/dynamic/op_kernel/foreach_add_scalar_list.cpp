// ForeachAddScalarList: y[k] = x[k] + scalars[k] for every tensor k of a list.
//
// Scalars are float, so that half tensors are computed in float too.
#include "foreach.h"

using namespace AscendC;

template <typename T, typename S>
struct KernelForeachAddScalarList : foreach::ScalarOperation<foreach::Wide<T>, S, 1, true> {
    using C = foreach::Wide<T>;
    __aicore__ inline void Compute(const LocalTensor<C>& y, const LocalTensor<C>& x, const LocalTensor<C>& scratch,
                                   uint32_t length) {
        Adds(y, x, this->scalar, length);
    }
};

extern "C" __global__ __aicore__ void foreach_add_scalar_list(GM_ADDR x, GM_ADDR scalars, GM_ADDR y, GM_ADDR workspace,
                                                              GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachAddScalarList<DTYPE_X, DTYPE_SCALARS> operation;
    operation.Init(scalars);
    foreach::Apply<DTYPE_X>(operation, sizes, y, x);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
