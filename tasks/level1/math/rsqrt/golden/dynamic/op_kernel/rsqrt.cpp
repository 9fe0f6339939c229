// Rsqrt: y = 1 / sqrt(x), in float for every element type.
//
// The instruction of that name is an approximation of some ten bits; a root and a quotient are exact to the last one.
#include "elementwise.h"

class ReciprocalRoot {
  public:
    static constexpr uint32_t INPUTS = 1;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {
        pipe->InitBuffer(onesBuffer, sizes.tile * sizeof(float));
        Duplicate(onesBuffer.Get<float>(), 1.0f, sizes.tile);
    }

    __aicore__ inline void Apply(const LocalTensor<float>& y, const LocalTensor<float> (&x)[INPUTS], uint32_t length) {
        Sqrt(y, x[0], length);
        Div(y, onesBuffer.Get<float>(), y, length);
    }

  private:
    TBuf<TPosition::VECCALC> onesBuffer;
};

extern "C" __global__ __aicore__ void rsqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    InFloat<DTYPE_X, ReciprocalRoot> op;
    RunElementwise(op, {x}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
