// Spence: f(x) = Li2(1 - x), in float for every element type.
//
// With t = -ln(x), f is a series that converges fast for small t: f = t - t^2 / 4 + t^3 / 36 - t^5 / 3600 + t^7 /
// 211680, off by 4e-9 for 1/2 <= x <= 1. Two identities bring every x there: f(x) = -f(1/x) - ln(x)^2 / 2 for x above
// 1, and f(z) = pi^2 / 6 - ln(z) * ln(1 - z) - f(1 - z) for z below 1/2.
#include "elementwise.h"
#include "truth.h"

class Dilogarithm {
  public:
    static constexpr uint32_t INPUTS = 1;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {
        pipe->InitBuffer(onesBuffer, sizes.tile * sizeof(float));
        pipe->InitBuffer(zBuffer, sizes.tile * sizeof(float));
        pipe->InitBuffer(logBuffer, sizes.tile * sizeof(float));
        pipe->InitBuffer(tBuffer, sizes.tile * sizeof(float));
        pipe->InitBuffer(squareBuffer, sizes.tile * sizeof(float));
        pipe->InitBuffer(reflectedBuffer, sizes.tile / 8);
        pipe->InitBuffer(invertedBuffer, sizes.tile / 8);
        Duplicate(onesBuffer.Get<float>(), 1.0f, sizes.tile);
    }

    __aicore__ inline void Apply(const LocalTensor<float>& y, const LocalTensor<float> (&x)[INPUTS], uint32_t length) {
        LocalTensor<float> ones = onesBuffer.Get<float>();
        LocalTensor<float> z = zBuffer.Get<float>();
        LocalTensor<float> log = logBuffer.Get<float>();
        LocalTensor<float> t = tBuffer.Get<float>();
        LocalTensor<uint8_t> reflected = reflectedBuffer.Get<uint8_t>();
        LocalTensor<uint8_t> inverted = invertedBuffer.Get<uint8_t>();
        const uint32_t lanes = Truth::Repeats<float>(length);
        Div(z, ones, x[0], length);
        Min(z, z, x[0], length);
        Sub(t, ones, z, length);
        CompareScalar(inverted, x[0], 1.0f, CMPMODE::GT, lanes);
        CompareScalar(reflected, z, 0.5f, CMPMODE::LT, lanes);
        Ln(log, z, length);
        Select(z, reflected, t, z, SELMODE::VSEL_TENSOR_TENSOR_MODE, length);
        Ln(t, z, length);
        Muls(t, t, -1.0f, length);
        Series(y, t, length);
        Mul(t, t, log, length);  // ln(z) * ln(1 - z), negated
        Adds(t, t, PI_SQUARED / 6.0f, length);
        Sub(t, t, y, length);
        Select(y, reflected, t, y, SELMODE::VSEL_TENSOR_TENSOR_MODE, length);
        Mul(log, log, log, length);
        Muls(log, log, -0.5f, length);
        Sub(log, log, y, length);
        Select(y, inverted, log, y, SELMODE::VSEL_TENSOR_TENSOR_MODE, length);
    }

  private:
    __aicore__ inline void Series(const LocalTensor<float>& y, const LocalTensor<float>& t, uint32_t length) {
        LocalTensor<float> square = squareBuffer.Get<float>();
        Mul(square, t, t, length);
        Muls(y, square, 1.0f / 211680.0f, length);
        Adds(y, y, -1.0f / 3600.0f, length);
        Mul(y, y, square, length);
        Adds(y, y, 1.0f / 36.0f, length);
        Mul(y, y, square, length);
        Axpy(y, t, -0.25f, length);
        Adds(y, y, 1.0f, length);
        Mul(y, y, t, length);
    }

    static constexpr float PI_SQUARED = 9.8696044f;
    TBuf<TPosition::VECCALC> onesBuffer, zBuffer, logBuffer, tBuffer, squareBuffer;
    TBuf<TPosition::VECCALC> reflectedBuffer, invertedBuffer;  // bits: z below 1/2, x above 1
};

extern "C" __global__ __aicore__ void spence(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    InFloat<DTYPE_X, Dilogarithm> op;
    RunElementwise(op, {x}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
