// Arithmetic in float for tensors of every floating type: half and bfloat16_t are widened, and rounded once at the end.
#ifndef WIDE_H
#define WIDE_H
#include "kernel_operator.h"

template <typename T>
inline constexpr bool IS_FLOAT = std::is_same<T, float>::value;

// x as floats: x itself, or a wider copy of it in `buffer`.
template <typename T>
__aicore__ inline AscendC::LocalTensor<float> Widen(const AscendC::LocalTensor<T>& x,
                                                    AscendC::TBuf<AscendC::TPosition::VECCALC>& buffer,
                                                    uint32_t length) {
    if constexpr (IS_FLOAT<T>) {
        return x;
    } else {
        AscendC::LocalTensor<float> wide = buffer.Get<float>();
        AscendC::Cast(wide, x, AscendC::RoundMode::CAST_NONE, length);
        return wide;
    }
}

// Where to compute what will be y: in y itself, or in `buffer`, from which Narrow rounds it.
template <typename T>
__aicore__ inline AscendC::LocalTensor<float> WideResult(const AscendC::LocalTensor<T>& y,
                                                         AscendC::TBuf<AscendC::TPosition::VECCALC>& buffer) {
    if constexpr (IS_FLOAT<T>) {
        return y;
    } else {
        return buffer.Get<float>();
    }
}

template <typename T>
__aicore__ inline void Narrow(const AscendC::LocalTensor<T>& y, const AscendC::LocalTensor<float>& wide,
                              uint32_t length) {
    if constexpr (!IS_FLOAT<T>) {
        AscendC::Cast(y, wide, AscendC::RoundMode::CAST_RINT, length);
    }
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
