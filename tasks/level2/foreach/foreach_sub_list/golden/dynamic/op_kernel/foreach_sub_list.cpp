// ForeachSubList: y[k] = x1[k] - alpha * x2[k] for every tensor k of two lists.
//
// In float for 16-bit types: product and sum are rounded once together.
#include "foreach.h"

using namespace AscendC;

template <typename T, typename S>
struct KernelForeachSubList : foreach::ScalarOperation<foreach::Wide<T>, S, 2, false> {
    using C = foreach::Wide<T>;
    __aicore__ inline void Compute(const LocalTensor<C>& y, const LocalTensor<C>& x1, const LocalTensor<C>& x2,
                                   const LocalTensor<C>& scratch, uint32_t length) {
        Muls(x2, x2, this->scalar, length);
        Sub(y, x1, x2, length);
    }
};

extern "C" __global__ __aicore__ void foreach_sub_list(GM_ADDR x1, GM_ADDR x2, GM_ADDR alpha, GM_ADDR y,
                                                       GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachSubList<DTYPE_X1, DTYPE_ALPHA> operation;
    operation.Init(alpha);
    foreach::Apply<DTYPE_X1>(operation, sizes, y, x1, x2);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
