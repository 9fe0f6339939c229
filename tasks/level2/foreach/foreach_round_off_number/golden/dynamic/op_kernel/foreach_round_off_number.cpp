// ForeachRoundOffNumber: y[k] = x[k], rounded as roundMode says, for every tensor k of a list.
//
// 1 nearest, ties to even - 2 down - 3 up - 4 nearest, ties away from zero - 5 towards zero - 6 to the odd neighbour -
// 7 the fraction. All of it is exact in float.
#include "foreach.h"

using namespace AscendC;

template <typename T, typename S>
struct KernelForeachRoundOffNumber : foreach::ScalarOperation<float, S, 1, false> {
    static constexpr uint32_t SCRATCH = 2;
    __aicore__ inline void Compute(const LocalTensor<float>& y, const LocalTensor<float>& x,
                                   const LocalTensor<float>& scratch, uint32_t length) {
        switch (static_cast<int32_t>(this->scalar)) {
            case 1: return Cast(y, x, RoundMode::CAST_RINT, length);
            case 2: return Cast(y, x, RoundMode::CAST_FLOOR, length);
            case 3: return Cast(y, x, RoundMode::CAST_CEIL, length);
            case 4: return Cast(y, x, RoundMode::CAST_ROUND, length);
            case 5: return Cast(y, x, RoundMode::CAST_TRUNC, length);
            case 6: return ToOdd(y, x, scratch, length);
            default: return Fraction(y, x, length);
        }
    }

  private:
    // Down, and up again by the gap to the next whole number if that was even. From 2^23 on all numbers are whole and
    // there is no gap: the clipped number says so too, and keeps infinities out of the differences.
    __aicore__ inline void ToOdd(const LocalTensor<float>& y, const LocalTensor<float>& x,
                                 const LocalTensor<float>& scratch, uint32_t length) {
        constexpr float ALL_WHOLE = 8388608.0f;
        LocalTensor<float> below = scratch;
        LocalTensor<float> even = scratch[scratch.GetSize() / 2];
        Cast(y, x, RoundMode::CAST_FLOOR, length);
        Mins(x, x, ALL_WHOLE, length);
        Maxs(x, x, -ALL_WHOLE, length);
        Cast(below, x, RoundMode::CAST_FLOOR, length);
        Cast(x, x, RoundMode::CAST_CEIL, length);
        Sub(x, x, below, length);  // the gap, 1 or 0
        Muls(even, below, 0.5f, length);
        Cast(even, even, RoundMode::CAST_FLOOR, length);
        Muls(even, even, 2.0f, length);
        Sub(below, below, even, length);  // 1 if odd, else 0
        Mul(below, below, x, length);
        Sub(x, x, below, length);
        Add(y, y, x, length);
    }

    __aicore__ inline void Fraction(const LocalTensor<float>& y, const LocalTensor<float>& x, uint32_t length) {
        Cast(y, x, RoundMode::CAST_TRUNC, length);
        Sub(y, x, y, length);
    }
};

extern "C" __global__ __aicore__ void foreach_round_off_number(GM_ADDR x, GM_ADDR roundMode, GM_ADDR y,
                                                               GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    KernelForeachRoundOffNumber<DTYPE_X, DTYPE_ROUNDMODE> operation;
    operation.Init(roundMode);
    foreach::Apply<DTYPE_X>(operation, sizes, y, x);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
