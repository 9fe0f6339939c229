// IsFinite: which elements are neither infinite nor NaN, one byte per element.
//
// Magnitudes are compared with the largest finite number; every order of a NaN is false. bfloat16 is widened to float,
// whose largest number lies above all of bfloat16's.
#include "elementwise.h"
#include "truth.h"

template <typename T>
class Finite {
  public:
    using In = T;
    using Out = uint8_t;
    static constexpr uint32_t INPUTS = 1;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {
        truth.Init(pipe, sizes.tile);
        pipe->InitBuffer(magnitudeBuffer, sizes.tile * sizeof(Comparable));
    }

    __aicore__ inline void Compute(const LocalTensor<uint8_t>& y, const LocalTensor<T> (&x)[INPUTS], uint32_t length) {
        LocalTensor<Comparable> magnitude = magnitudeBuffer.template Get<Comparable>();
        if constexpr (std::is_same<T, Comparable>::value) {
            Abs(magnitude, x[0], length);
        } else {
            Cast(magnitude, x[0], RoundMode::CAST_NONE, length);
            Abs(magnitude, magnitude, length);
        }
        const Comparable largest = static_cast<Comparable>(std::is_same<T, half>::value ? 65504.0f : 3.4028234e38f);
        CompareScalar(truth.Bits(), magnitude, largest, CMPMODE::LE, Truth::Repeats<Comparable>(length));
        truth.Write(y, length);
    }

  private:
    using Comparable = typename std::conditional<std::is_same<T, bfloat16_t>::value, float, T>::type;
    Truth truth;
    TBuf<TPosition::VECCALC> magnitudeBuffer;
};

extern "C" __global__ __aicore__ void is_finite(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    Finite<DTYPE_X> op;
    RunElementwise(op, {x}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
