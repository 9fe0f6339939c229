// ForeachAddcmulScalar: y[k] = x1[k] + scalar * x2[k] * x3[k] for every tensor k of three lists.
//
// In float for 16-bit types: all three operations are rounded once together.
#include "foreach.h"

using namespace AscendC;

template <typename T, typename S>
struct KernelForeachAddcmulScalar : foreach::ScalarOperation<foreach::Wide<T>, S, 3, false> {
    using C = foreach::Wide<T>;
    __aicore__ inline void Compute(const LocalTensor<C>& y, const LocalTensor<C>& x1, const LocalTensor<C>& x2,
                                   const LocalTensor<C>& x3, const LocalTensor<C>& scratch, uint32_t length) {
        Muls(x2, x2, this->scalar, length);
        Mul(x2, x2, x3, length);
        Add(y, x1, x2, length);
    }
};

extern "C" __global__ __aicore__ void foreach_addcmul_scalar(GM_ADDR x1, GM_ADDR x2, GM_ADDR x3, GM_ADDR scalar,
                                                             GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachAddcmulScalar<DTYPE_X1, DTYPE_SCALAR> operation;
    operation.Init(scalar);
    foreach::Apply<DTYPE_X1>(operation, sizes, y, x1, x2, x3);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
