// ForeachMinimumScalar: y[k] = min(x[k], scalar) for every tensor k of a list.
#include "foreach.h"

using namespace AscendC;

template <typename T, typename S>
struct KernelForeachMinimumScalar : foreach::ScalarOperation<foreach::Native<T>, S, 1, false> {
    using C = foreach::Native<T>;
    __aicore__ inline void Compute(const LocalTensor<C>& y, const LocalTensor<C>& x, const LocalTensor<C>& scratch,
                                   uint32_t length) {
        Mins(y, x, this->scalar, length);
    }
};

extern "C" __global__ __aicore__ void foreach_minimum_scalar(GM_ADDR x, GM_ADDR scalar, GM_ADDR y, GM_ADDR workspace,
                                                             GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachMinimumScalar<DTYPE_X, DTYPE_SCALAR> operation;
    operation.Init(scalar);
    foreach::Apply<DTYPE_X>(operation, sizes, y, x);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
