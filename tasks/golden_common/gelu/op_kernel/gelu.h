// GELU and its slope, in the exact form with the error function or in the tanh form.
#ifndef GELU_H
#define GELU_H
#include "kernel_operator.h"

using namespace AscendC;

class GeluForms {
  public:
    __aicore__ inline void Init(TPipe* pipe, uint32_t elements, bool tanhForm) {
        this->tanhForm = tanhForm;
        pipe->InitBuffer(innerBuffer, elements * sizeof(float));
        if (tanhForm) {
            pipe->InitBuffer(powerBuffer, elements * sizeof(float));
        } else {
            pipe->InitBuffer(scratchBuffer, SCRATCH_BYTES);
        }
    }

    // y = gelu(a); y and a lie apart.
    __aicore__ inline void Value(const LocalTensor<float>& y, const LocalTensor<float>& a, uint32_t length) {
        if (tanhForm) {
            Mul(y, a, a, length);
            Muls(y, y, CUBIC, length);
            Adds(y, y, LINEAR, length);
            Mul(y, y, a, length);
            Exp(y, y, length);  // where it overflows, the quotient is the zero that GELU tends to
            Adds(y, y, 1.0f, length);
            Div(y, a, y, length);
        } else {
            OnePlusErf(y, a, length);
            Mul(y, y, a, length);
            Muls(y, y, 0.5f, length);
        }
    }

    // y = gelu'(a); y and a lie apart.
    __aicore__ inline void Slope(const LocalTensor<float>& y, const LocalTensor<float>& a, uint32_t length) {
        LocalTensor<float> inner = innerBuffer.Get<float>();
        Mul(y, a, a, length);
        if (tanhForm) {  // (1 + z * e / (1 + e)) / (1 + e), e = exp(a * (LINEAR + CUBIC * a^2)), z as below
            LocalTensor<float> power = powerBuffer.Get<float>();
            Muls(power, y, CUBIC, length);
            Adds(power, power, LINEAR, length);
            Mul(power, power, a, length);
            Mins(power, power, 80.0f, length);  // so that e and its quotients stay finite
            Exp(power, power, length);
            Adds(inner, power, 1.0f, length);
            Muls(y, y, -3.0f * CUBIC, length);
            Adds(y, y, -LINEAR, length);
            Mul(y, y, a, length);  // z
            Mul(y, y, power, length);
            Div(y, y, inner, length);
            Adds(y, y, 1.0f, length);
            Div(y, y, inner, length);
        } else {
            OnePlusErf(y, a, length);
            Muls(y, y, 0.5f, length);
            Mul(inner, a, a, length);
            Muls(inner, inner, -0.5f, length);
            Exp(inner, inner, length);
            Mul(inner, inner, a, length);
            Axpy(y, inner, 0.3989422804014327f, length);  // 1 / sqrt(2 pi)
        }
    }

  private:
    static constexpr float LINEAR = -1.5957691216057308f;  // -sqrt(8 / pi)
    static constexpr float CUBIC = LINEAR * 0.044715f;
    static constexpr uint32_t SCRATCH_BYTES = 16 * 1024;

    __aicore__ inline void OnePlusErf(const LocalTensor<float>& y, const LocalTensor<float>& a, uint32_t length) {
        LocalTensor<float> inner = innerBuffer.Get<float>();
        Muls(inner, a, 0.7071067811865476f, length);
        Erf(y, inner, scratchBuffer.Get<uint8_t>(), length);
        Adds(y, y, 1.0f, length);
    }

    TBuf<TPosition::VECCALC> innerBuffer, powerBuffer, scratchBuffer;
    bool tanhForm = false;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
