// UnalignAdd: z = x + y for any number of elements.
#include "elementwise.h"

class Sum {
  public:
    using In = half;
    using Out = half;
    static constexpr uint32_t INPUTS = 2;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {}

    __aicore__ inline void Compute(const LocalTensor<half>& z, const LocalTensor<half> (&x)[INPUTS], uint32_t length) {
        Add(z, x[0], x[1], length);
    }
};

extern "C" __global__ __aicore__ void unalign_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    Sum op;
    RunElementwise(op, {x, y}, z, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
