// Less: y = (x1 < x2), one byte per element.
//
// Narrow floats and bytes are widened, which is exact. Compare orders half and float only and tells of int32_t merely
// whether they are equal: an integer x1 is less than x2 where the greater of both is not x1, which no overflow can
// spoil. The operator's int64_t lie within the range of int32_t.
#include "elementwise.h"
#include "truth.h"

template <typename T>
class Order {
  public:
    using In = T;
    using Out = uint8_t;
    static constexpr uint32_t INPUTS = 2;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {
        truth.Init(pipe, sizes.tile);
        if constexpr (CONVERTED) {
            pipe->InitBuffer(converted1Buffer, sizes.tile * sizeof(Comparable));
            pipe->InitBuffer(converted2Buffer, sizes.tile * sizeof(Comparable));
        }
        if constexpr (IS_INTEGER) {
            pipe->InitBuffer(greaterBuffer, sizes.tile * sizeof(Comparable));
        }
    }

    __aicore__ inline void Compute(const LocalTensor<uint8_t>& y, const LocalTensor<T> (&x)[INPUTS], uint32_t length) {
        LocalTensor<Comparable> a, b;
        if constexpr (CONVERTED) {
            a = converted1Buffer.template Get<Comparable>();
            b = converted2Buffer.template Get<Comparable>();
            Cast(a, x[0], RoundMode::CAST_NONE, length);
            Cast(b, x[1], RoundMode::CAST_NONE, length);
        } else {
            a = x[0];
            b = x[1];
        }
        if constexpr (IS_INTEGER) {
            LocalTensor<Comparable> greater = greaterBuffer.template Get<Comparable>();
            Max(greater, a, b, length);
            Compare(truth.Bits(), greater, a, CMPMODE::EQ, Truth::Repeats<Comparable>(length));
            truth.WriteNot(y, length);
        } else {
            Compare(truth.Bits(), a, b, CMPMODE::LT, Truth::Repeats<Comparable>(length));
            truth.Write(y, length);
        }
    }

  private:
    using WideOfByte = typename std::conditional<sizeof(T) == 1, half, T>::type;
    using WideOfHalf = typename std::conditional<std::is_same<T, bfloat16_t>::value, float, WideOfByte>::type;
    using Comparable = typename std::conditional<std::is_same<T, int64_t>::value, int32_t, WideOfHalf>::type;
    static constexpr bool CONVERTED = !std::is_same<T, Comparable>::value;
    static constexpr bool IS_INTEGER = std::is_same<Comparable, int32_t>::value;
    Truth truth;
    TBuf<TPosition::VECCALC> converted1Buffer, converted2Buffer, greaterBuffer;
};

extern "C" __global__ __aicore__ void less(GM_ADDR x1, GM_ADDR x2, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    Order<DTYPE_X1> op;
    RunElementwise(op, {x1, x2}, y, sizes);
}
