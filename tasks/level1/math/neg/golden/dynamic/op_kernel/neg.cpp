// Neg: y = -x.
//
// The vector unit multiplies neither bfloat16 nor int8_t: bfloat16 goes through float and int8_t through half, both of
// which hold every value of the narrower type.
#include "elementwise.h"

template <typename T>
class Negation {
  public:
    using In = T;
    using Out = T;
    static constexpr uint32_t INPUTS = 1;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {
        if constexpr (!std::is_same<T, Wide>::value) {
            pipe->InitBuffer(wideBuffer, sizes.tile * sizeof(Wide));
        }
    }

    __aicore__ inline void Compute(const LocalTensor<T>& y, const LocalTensor<T> (&x)[INPUTS], uint32_t length) {
        if constexpr (std::is_same<T, Wide>::value) {
            Muls(y, x[0], static_cast<T>(-1), length);
        } else {
            LocalTensor<Wide> wide = wideBuffer.template Get<Wide>();
            Cast(wide, x[0], RoundMode::CAST_NONE, length);
            Muls(wide, wide, static_cast<Wide>(-1), length);
            Cast(y, wide, RoundMode::CAST_RINT, length);
        }
    }

  private:
    using WideOfByte = typename std::conditional<std::is_same<T, int8_t>::value, half, T>::type;
    using Wide = typename std::conditional<std::is_same<T, bfloat16_t>::value, float, WideOfByte>::type;
    TBuf<TPosition::VECCALC> wideBuffer;
};

extern "C" __global__ __aicore__ void neg(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    Negation<DTYPE_X> op;
    RunElementwise(op, {x}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
