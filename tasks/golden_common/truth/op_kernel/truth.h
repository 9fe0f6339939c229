// From the bits that Compare yields to booleans: one byte per element, 0 or 1.
#ifndef TRUTH_H
#define TRUTH_H
#include "kernel_operator.h"

using namespace AscendC;

// Select makes halves of the bits, and Cast makes bytes of the halves: no instruction writes single bytes.
class Truth {
  public:
    __aicore__ inline void Init(TPipe* pipe, uint32_t tile) {
        pipe->InitBuffer(bitsBuffer, tile / 8);
        pipe->InitBuffer(onesBuffer, tile * sizeof(half));
        pipe->InitBuffer(chosenBuffer, tile * sizeof(half));
        Duplicate(onesBuffer.Get<half>(), static_cast<half>(1), tile);
    }

    // Where a comparison writes to.
    __aicore__ inline LocalTensor<uint8_t> Bits() {
        return bitsBuffer.Get<uint8_t>();
    }

    __aicore__ inline void Write(const LocalTensor<uint8_t>& y, uint32_t length) {
        LocalTensor<half> chosen = chosenBuffer.Get<half>();
        Select(chosen, Bits(), onesBuffer.Get<half>(), static_cast<half>(0), SELMODE::VSEL_TENSOR_SCALAR_MODE, length);
        Cast(y, chosen, RoundMode::CAST_RINT, length);
    }

    // The opposite of what the bits say.
    __aicore__ inline void WriteNot(const LocalTensor<uint8_t>& y, uint32_t length) {
        LocalTensor<half> chosen = chosenBuffer.Get<half>();
        Select(chosen, Bits(), onesBuffer.Get<half>(), static_cast<half>(0), SELMODE::VSEL_TENSOR_SCALAR_MODE, length);
        Muls(chosen, chosen, static_cast<half>(-1), length);
        Adds(chosen, chosen, static_cast<half>(1), length);
        Cast(y, chosen, RoundMode::CAST_RINT, length);
    }

    // Comparisons work on whole repeats of 256 bytes; the bits behind the last element are not looked at.
    template <typename T>
    __aicore__ inline static uint32_t Repeats(uint32_t length) {
        constexpr uint32_t REPEAT = 256 / sizeof(T);
        return (length + REPEAT - 1) / REPEAT * REPEAT;
    }

  private:
    TBuf<TPosition::VECCALC> bitsBuffer, onesBuffer, chosenBuffer;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
