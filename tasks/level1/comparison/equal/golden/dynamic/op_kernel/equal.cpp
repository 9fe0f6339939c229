// Equal: y = (x1 == x2), one byte per element.
//
// Compare takes half, float and int32_t: narrow types are widened, which is exact, and uint32_t is seen as int32_t.
#include "elementwise.h"
#include "truth.h"

template <typename T>
class Equality {
  public:
    using In = T;
    using Out = uint8_t;
    static constexpr uint32_t INPUTS = 2;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {
        truth.Init(pipe, sizes.tile);
        if constexpr (WIDENED) {
            pipe->InitBuffer(wide1Buffer, sizes.tile * sizeof(Comparable));
            pipe->InitBuffer(wide2Buffer, sizes.tile * sizeof(Comparable));
        }
    }

    __aicore__ inline void Compute(const LocalTensor<uint8_t>& y, const LocalTensor<T> (&x)[INPUTS], uint32_t length) {
        LocalTensor<Comparable> a, b;
        if constexpr (WIDENED) {
            a = wide1Buffer.template Get<Comparable>();
            b = wide2Buffer.template Get<Comparable>();
            Cast(a, x[0], RoundMode::CAST_NONE, length);
            Cast(b, x[1], RoundMode::CAST_NONE, length);
        } else {
            a = x[0].template ReinterpretCast<Comparable>();
            b = x[1].template ReinterpretCast<Comparable>();
        }
        Compare(truth.Bits(), a, b, CMPMODE::EQ, Truth::Repeats<Comparable>(length));
        truth.Write(y, length);
    }

  private:
    using Word = typename std::conditional<std::is_same<T, uint32_t>::value, int32_t, T>::type;
    using WideOfByte = typename std::conditional<sizeof(T) == 1, half, Word>::type;
    using Comparable = typename std::conditional<std::is_same<T, bfloat16_t>::value, float, WideOfByte>::type;
    static constexpr bool WIDENED = sizeof(Comparable) > sizeof(T);
    Truth truth;
    TBuf<TPosition::VECCALC> wide1Buffer, wide2Buffer;
};

extern "C" __global__ __aicore__ void equal(GM_ADDR x1, GM_ADDR x2, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    Equality<DTYPE_X1> op;
    RunElementwise(op, {x1, x2}, y, sizes);
}
