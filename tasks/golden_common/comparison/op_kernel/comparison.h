// Device side of comparisons: y = (x1 == x2), (x1 < x2) or (x1 <= x2), one byte per element.
//
// Compare takes half, float and int32_t: bfloat16 and bytes are widened, which is exact, and uint32_t is seen as
// int32_t. int64_t is narrowed; such operators promise that their values lie within the range of int32_t.
//
// Compare orders half and float only and tells of int32_t merely whether they are equal: integers are ordered by the
// greater of both, which no overflow can spoil. It is x2 where x1 <= x2, and not x1 where x1 < x2.
#ifndef COMPARISON_H
#define COMPARISON_H
#include "elementwise.h"
#include "truth.h"

template <typename T, CMPMODE MODE>
class Comparison {
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
        if constexpr (ORDERS_INTEGERS) {
            pipe->InitBuffer(greaterBuffer, sizes.tile * sizeof(Comparable));
        }
    }

    __aicore__ inline void Compute(const LocalTensor<uint8_t>& y, const LocalTensor<T> (&x)[INPUTS], uint32_t length) {
        LocalTensor<Comparable> a = Comparables(x[0], converted1Buffer, length);
        LocalTensor<Comparable> b = Comparables(x[1], converted2Buffer, length);
        const uint32_t lanes = Truth::Repeats<Comparable>(length);
        if constexpr (ORDERS_INTEGERS) {
            LocalTensor<Comparable> greater = greaterBuffer.template Get<Comparable>();
            Max(greater, a, b, length);
            if constexpr (MODE == CMPMODE::LT) {
                Compare(truth.Bits(), greater, a, CMPMODE::EQ, lanes);
                truth.WriteNot(y, length);
            } else {
                Compare(truth.Bits(), greater, b, CMPMODE::EQ, lanes);
                truth.Write(y, length);
            }
        } else {
            Compare(truth.Bits(), a, b, MODE, lanes);
            truth.Write(y, length);
        }
    }

  private:
    static_assert(MODE == CMPMODE::EQ || MODE == CMPMODE::LT || MODE == CMPMODE::LE, "one of these three");
    using OfWord = typename std::conditional<sizeof(T) >= 4 && !std::is_same<T, float>::value, int32_t, T>::type;
    using OfByte = typename std::conditional<sizeof(T) == 1, half, OfWord>::type;
    using Comparable = typename std::conditional<std::is_same<T, bfloat16_t>::value, float, OfByte>::type;
    static constexpr bool CONVERTED = sizeof(T) != sizeof(Comparable);
    static constexpr bool ORDERS_INTEGERS = std::is_same<Comparable, int32_t>::value && MODE != CMPMODE::EQ;

    __aicore__ inline static LocalTensor<Comparable> Comparables(const LocalTensor<T>& x,
                                                                 TBuf<TPosition::VECCALC>& buffer, uint32_t length) {
        if constexpr (CONVERTED) {
            LocalTensor<Comparable> converted = buffer.Get<Comparable>();
            Cast(converted, x, RoundMode::CAST_NONE, length);
            return converted;
        } else {
            return x.template ReinterpretCast<Comparable>();
        }
    }

    Truth truth;
    TBuf<TPosition::VECCALC> converted1Buffer, converted2Buffer, greaterBuffer;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
