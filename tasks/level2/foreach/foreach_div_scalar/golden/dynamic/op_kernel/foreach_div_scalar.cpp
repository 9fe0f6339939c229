// ForeachDivScalar: y[k] = x[k] / scalar for every tensor k of a list.
//
// A tile of divisors is filled once for each tensor: a multiplication by the reciprocal would round twice.
#include "foreach.h"

using namespace AscendC;

template <typename T, typename S>
struct KernelForeachDivScalar : foreach::ScalarOperation<foreach::Wide<T>, S, 1, false> {
    using C = foreach::Wide<T>;
    static constexpr uint32_t SCRATCH = 1;
    __aicore__ inline void Select(uint32_t k, const LocalTensor<C>& divisors) {
        foreach::ScalarOperation<C, S, 1, false>::Select(k, divisors);
        Duplicate(divisors, this->scalar, divisors.GetSize());
    }

    __aicore__ inline void Compute(const LocalTensor<C>& y, const LocalTensor<C>& x, const LocalTensor<C>& scratch,
                                   uint32_t length) {
        Div(y, x, scratch, length);
    }
};

extern "C" __global__ __aicore__ void foreach_div_scalar(GM_ADDR x, GM_ADDR scalar, GM_ADDR y, GM_ADDR workspace,
                                                         GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachDivScalar<DTYPE_X, DTYPE_SCALAR> operation;
    operation.Init(scalar);
    foreach::Apply<DTYPE_X>(operation, sizes, y, x);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
