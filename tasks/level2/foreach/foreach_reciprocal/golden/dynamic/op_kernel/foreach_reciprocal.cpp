// ForeachReciprocal: y[k] = 1 / x[k] for every tensor k of a list.
//
// In float also for 16-bit types: the result is rounded once. A division by way of Div: Reciprocal is an
// approximation of few digits on this core.
#include "foreach.h"

using namespace AscendC;

template <typename T>
struct KernelForeachReciprocal : foreach::Operation<foreach::Wide<T>, 1> {
    using C = foreach::Wide<T>;
    static constexpr uint32_t SCRATCH = 1;
    __aicore__ inline void Select(uint32_t k, const LocalTensor<C>& ones) {
        Duplicate(ones, 1.0f, ones.GetSize());
    }

    __aicore__ inline void Compute(const LocalTensor<C>& y, const LocalTensor<C>& x, const LocalTensor<C>& scratch,
                                   uint32_t length) {
        Div(y, scratch, x, length);
    }
};

extern "C" __global__ __aicore__ void foreach_reciprocal(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachReciprocal<DTYPE_X> operation;
    foreach::Apply<DTYPE_X>(operation, sizes, y, x);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
