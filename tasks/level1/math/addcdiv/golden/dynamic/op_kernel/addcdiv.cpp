// Addcdiv: y = input_data + value * x1 / x2, in float for every element type, the scalar read from global memory.
#include "elementwise.h"

class Addend {
  public:
    static constexpr uint32_t INPUTS = 3;

    __aicore__ inline Addend(float value) : value(value) {}

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {}

    // x holds input_data, x1 and x2.
    __aicore__ inline void Apply(const LocalTensor<float>& y, const LocalTensor<float> (&x)[INPUTS], uint32_t length) {
        Div(y, x[1], x[2], length);
        Muls(y, y, value, length);
        Add(y, y, x[0], length);
    }

  private:
    float value;
};

extern "C" __global__ __aicore__ void addcdiv(GM_ADDR input_data, GM_ADDR x1, GM_ADDR x2, GM_ADDR value, GM_ADDR y,
                                              GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    InFloat<DTYPE_X1, Addend> op(Addend(NumberAt<DTYPE_X1>(value)));
    RunElementwise(op, {input_data, x1, x2}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
