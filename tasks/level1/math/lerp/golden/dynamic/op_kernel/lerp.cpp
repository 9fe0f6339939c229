// Lerp: y = start + weight * (end - start), in float for every element type.
#include "elementwise.h"

class Interpolation {
  public:
    static constexpr uint32_t INPUTS = 3;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {}

    // x holds start, end and weight.
    __aicore__ inline void Apply(const LocalTensor<float>& y, const LocalTensor<float> (&x)[INPUTS], uint32_t length) {
        Sub(y, x[1], x[0], length);
        Mul(y, y, x[2], length);
        Add(y, y, x[0], length);
    }
};

extern "C" __global__ __aicore__ void lerp(GM_ADDR start, GM_ADDR end, GM_ADDR weight, GM_ADDR y, GM_ADDR workspace,
                                           GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    InFloat<DTYPE_START, Interpolation> op;
    RunElementwise(op, {start, end, weight}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
