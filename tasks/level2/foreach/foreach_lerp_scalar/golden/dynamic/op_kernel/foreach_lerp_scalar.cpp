// ForeachLerpScalar: y[k] = x1[k] + weight * (x2[k] - x1[k]) for every tensor k of two lists.
//
// From the nearer end, so that weight 0 gives x1 and weight 1 gives x2 exactly. In float for 16-bit types.
#include "foreach.h"

using namespace AscendC;

template <typename T, typename S>
struct KernelForeachLerpScalar : foreach::ScalarOperation<foreach::Wide<T>, S, 2, false> {
    using C = foreach::Wide<T>;
    __aicore__ inline void Compute(const LocalTensor<C>& y, const LocalTensor<C>& x1, const LocalTensor<C>& x2,
                                   const LocalTensor<C>& scratch, uint32_t length) {
        Sub(y, x2, x1, length);
        if (-0.5f < this->scalar && this->scalar < 0.5f) {
            Muls(y, y, this->scalar, length);
            Add(y, x1, y, length);
        } else {
            Muls(y, y, 1.0f - this->scalar, length);
            Sub(y, x2, y, length);
        }
    }
};

extern "C" __global__ __aicore__ void foreach_lerp_scalar(GM_ADDR x1, GM_ADDR x2, GM_ADDR weight, GM_ADDR y,
                                                          GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachLerpScalar<DTYPE_X1, DTYPE_WEIGHT> operation;
    operation.Init(weight);
    foreach::Apply<DTYPE_X1>(operation, sizes, y, x1, x2);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
