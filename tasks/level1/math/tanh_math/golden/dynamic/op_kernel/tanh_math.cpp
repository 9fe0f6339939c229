// TanhMath: y = tanh(x), the library's function in float for every element type.
#include "elementwise.h"

class HyperbolicTangent {
  public:
    static constexpr uint32_t INPUTS = 1;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {
        pipe->InitBuffer(scratchBuffer, sizes.scratch);
    }

    __aicore__ inline void Apply(const LocalTensor<float>& y, const LocalTensor<float> (&x)[INPUTS], uint32_t length) {
        Tanh(y, x[0], scratchBuffer.Get<uint8_t>(), length);
    }

  private:
    TBuf<TPosition::VECCALC> scratchBuffer;
};

extern "C" __global__ __aicore__ void tanh_math(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    InFloat<DTYPE_X, HyperbolicTangent> op;
    RunElementwise(op, {x}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
