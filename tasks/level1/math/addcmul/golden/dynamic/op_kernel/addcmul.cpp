// Addcmul: y = input_data + value * x1 * x2, the scalar read from global memory. int32_t is exact; other types are
// computed in float.
#include "elementwise.h"

template <typename N>
class Addend {
  public:
    using In = N;
    using Out = N;
    static constexpr uint32_t INPUTS = 3;

    __aicore__ inline Addend(N value) : value(value) {}

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {}

    // x holds input_data, x1 and x2.
    __aicore__ inline void Apply(const LocalTensor<N>& y, const LocalTensor<N> (&x)[INPUTS], uint32_t length) {
        Mul(y, x[1], x[2], length);
        Muls(y, y, value, length);
        Add(y, y, x[0], length);
    }

    __aicore__ inline void Compute(const LocalTensor<N>& y, const LocalTensor<N> (&x)[INPUTS], uint32_t length) {
        Apply(y, x, length);
    }

  private:
    N value;
};

extern "C" __global__ __aicore__ void addcmul(GM_ADDR input_data, GM_ADDR x1, GM_ADDR x2, GM_ADDR value, GM_ADDR y,
                                              GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
#if ORIG_DTYPE_X1 == DT_INT32
    Addend<int32_t> op(*(__gm__ int32_t*)value);
#else
    InFloat<DTYPE_X1, Addend<float>> op(Addend<float>(NumberAt<DTYPE_X1>(value)));
#endif
    RunElementwise(op, {input_data, x1, x2}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
