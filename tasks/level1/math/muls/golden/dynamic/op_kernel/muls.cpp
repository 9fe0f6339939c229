// Muls: y = x * value, the scalar read from global memory.
//
// A complex number is two floats. bfloat16 and int64_t have no vector arithmetic, and half would round the scalar:
// these are multiplied in float, where the products of the operator's integers are exact.
#include "elementwise.h"

template <typename T>
class Product {
  public:
    using In = T;
    using Out = T;
    static constexpr uint32_t INPUTS = 1;

    __aicore__ inline Product(GM_ADDR value) {
        GlobalTensor<float> valueGlobal;
        valueGlobal.SetGlobalBuffer((__gm__ float*)value, 1);
        factor = valueGlobal.GetValue(0);
    }

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {
        if constexpr (THROUGH_FLOAT) {
            pipe->InitBuffer(wideBuffer, sizes.tile * sizeof(float));
        }
    }

    __aicore__ inline void Compute(const LocalTensor<T>& y, const LocalTensor<T> (&x)[INPUTS], uint32_t length) {
        if constexpr (IS_COMPLEX) {
            Muls(y.template ReinterpretCast<float>(), x[0].template ReinterpretCast<float>(), factor, 2 * length);
        } else if constexpr (THROUGH_FLOAT) {
            constexpr RoundMode widen = sizeof(T) == 8 ? RoundMode::CAST_RINT : RoundMode::CAST_NONE;
            LocalTensor<float> wide = wideBuffer.template Get<float>();
            Cast(wide, x[0], widen, length);
            Muls(wide, wide, factor, length);
            Cast(y, wide, RoundMode::CAST_RINT, length);
        } else {
            Muls(y, x[0], static_cast<T>(factor), length);
        }
    }

  private:
    static constexpr bool IS_COMPLEX = ORIG_DTYPE_X == DT_COMPLEX64;
    static constexpr bool IS_HALF = std::is_same<T, half>::value || std::is_same<T, bfloat16_t>::value;
    static constexpr bool THROUGH_FLOAT = !IS_COMPLEX && (IS_HALF || std::is_same<T, int64_t>::value);
    TBuf<TPosition::VECCALC> wideBuffer;
    float factor;
};

extern "C" __global__ __aicore__ void muls(GM_ADDR x, GM_ADDR value, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
#if ORIG_DTYPE_X == DT_COMPLEX64
    Product<int64_t> op(value);  // moved as pairs of words
#else
    Product<DTYPE_X> op(value);
#endif
    RunElementwise(op, {x}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
