// AbsMath: y = |x|.
//
// The vector unit has an absolute value for half and float only; the other types are put together from what it has. A
// complex number is two floats of x and one of y.
#include "elementwise.h"

// half, float, bfloat16_t and int32_t.
template <typename T>
class Magnitude {
  public:
    using In = T;
    using Out = T;
    static constexpr uint32_t INPUTS = 1;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {}

    __aicore__ inline void Compute(const LocalTensor<T>& y, const LocalTensor<T> (&x)[INPUTS], uint32_t length) {
        if constexpr (std::is_same<T, bfloat16_t>::value) {
            // The sign is shifted out at the top, a zero comes in.
            LocalTensor<uint16_t> bits = y.template ReinterpretCast<uint16_t>();
            ShiftLeft(bits, x[0].template ReinterpretCast<uint16_t>(), uint16_t(1), length);
            ShiftRight(bits, bits, uint16_t(1), length);
        } else if constexpr (std::is_same<T, int32_t>::value) {
            Muls(y, x[0], -1, length);
            Max(y, x[0], y, length);
        } else {
            Abs(y, x[0], length);
        }
    }
};

// Complex numbers, moved as pairs of words. Magnitudes beyond 1.8e19 are infinite.
class ComplexMagnitude {
  public:
    using In = int64_t;
    using Out = float;
    static constexpr uint32_t INPUTS = 1;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {}

    __aicore__ inline void Compute(const LocalTensor<float>& y, const LocalTensor<int64_t> (&x)[INPUTS],
                                   uint32_t length) {
        LocalTensor<float> parts = x[0].ReinterpretCast<float>();
        Mul(parts, parts, parts, 2 * length);
        const uint32_t whole = length / PAIRS;
        const uint32_t rest = length % PAIRS;
        if (whole != 0) {
            PairReduceSum(y, parts, whole, 2 * PAIRS, 1, 1, 8);  // neighbours: real and imaginary part
        }
        if (rest != 0) {
            PairReduceSum(y[whole * PAIRS], parts[whole * 2 * PAIRS], 1, 2 * rest, 1, 1, 8);
        }
        Sqrt(y, y, length);
    }

  private:
    static constexpr uint32_t PAIRS = 32;  // of floats in a repeat of 256 bytes
};

// 64 bits are two words of 32 that wrap around: -(high, low) = (-high - (low != 0), -low). What concerns a whole number
// goes through float, which keeps its sign and whether it is zero.
class LongMagnitude {
  public:
    using In = int64_t;
    using Out = int64_t;
    static constexpr uint32_t INPUTS = 1;

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {
        const uint32_t tile = sizes.tile;
        pipe->InitBuffer(signBuffer, tile * sizeof(float));
        pipe->InitBuffer(lowBuffer, tile * sizeof(float));
        pipe->InitBuffer(factorBuffer, tile * sizeof(int64_t));
        pipe->InitBuffer(borrowBuffer, tile * sizeof(int64_t));
        pipe->InitBuffer(lowWordsBuffer, tile * sizeof(int64_t));
        LocalTensor<int32_t> lowWords = lowWordsBuffer.Get<int32_t>();
        uint64_t everySecond[2] = {0x5555555555555555, 0};
        Duplicate(lowWords, 0, 2 * tile);
        Duplicate(lowWords, -1, everySecond, 2 * tile / 64, 1, 8);
    }

    __aicore__ inline void Compute(const LocalTensor<int64_t>& y, const LocalTensor<int64_t> (&x)[INPUTS],
                                   uint32_t length) {
        LocalTensor<float> sign = signBuffer.Get<float>();
        LocalTensor<float> low = lowBuffer.Get<float>();
        LocalTensor<int64_t> factor = factorBuffer.Get<int64_t>();
        LocalTensor<int64_t> borrow = borrowBuffer.Get<int64_t>();
        LocalTensor<int32_t> factorWords = factor.ReinterpretCast<int32_t>();
        LocalTensor<int32_t> yWords = y.ReinterpretCast<int32_t>();

        // sign: -1 where x is negative, else 0; as an integer, -1 or 0 in both words; from that the factor, -1 or 1.
        Cast(sign, x[0], RoundMode::CAST_RINT, length);
        Maxs(sign, sign, -1.0f, length);
        Mins(sign, sign, 0.0f, length);
        Cast(factor, sign, RoundMode::CAST_RINT, length);
        Muls(factorWords, factorWords, 2, 2 * length);
        Adds(factorWords, factorWords, 1, 2 * length);

        // borrow: -1 in the high word where x is negative and its low word is not zero.
        And(borrow.ReinterpretCast<int16_t>(), x[0].ReinterpretCast<int16_t>(), lowWordsBuffer.Get<int16_t>(),
            4 * length);
        Cast(low, borrow, RoundMode::CAST_RINT, length);
        Mins(low, low, 1.0f, length);
        Mul(low, low, sign, length);
        Muls(low, low, 4294967296.0f, length);
        Cast(borrow, low, RoundMode::CAST_RINT, length);

        Mul(yWords, x[0].ReinterpretCast<int32_t>(), factorWords, 2 * length);
        Add(yWords, yWords, borrow.ReinterpretCast<int32_t>(), 2 * length);
    }

  private:
    TBuf<TPosition::VECCALC> signBuffer, lowBuffer, factorBuffer, borrowBuffer, lowWordsBuffer;
};

extern "C" __global__ __aicore__ void abs_math(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
#if ORIG_DTYPE_X == DT_COMPLEX64
    ComplexMagnitude op;
#elif ORIG_DTYPE_X == DT_INT64
    LongMagnitude op;
#else
    Magnitude<DTYPE_X> op;
#endif
    RunElementwise(op, {x}, y, sizes);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
