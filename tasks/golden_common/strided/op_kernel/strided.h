// Device side of operators on vectors with a stride: tiles of elements that lie apart.
#ifndef STRIDED_H
#define STRIDED_H
#include "kernel_operator.h"

using namespace AscendC;

// What comes before it is done when `HardEvent` says so.
template <HardEvent EVENT>
__aicore__ inline void Wait(TPipe* pipe) {
    const event_t event = static_cast<event_t>(pipe->FetchEventID(EVENT));
    SetFlag<EVENT>(event);
    WaitFlag<EVENT>(event);
}

// This core's share of a vector. An element is PARTS numbers of type T, two for a complex one.
template <typename T, uint32_t PARTS = 1>
class StridedVector {
  public:
    __aicore__ inline void Init(GM_ADDR x, const StridedTilingData& sizes) {
        first = GetBlockIdx() * sizes.share;
        if (first < sizes.total) {
            count = sizes.total - first < sizes.share ? sizes.total - first : sizes.share;
            xGlobal.SetGlobalBuffer((__gm__ T*)x + first * sizes.stride * PARTS,
                                    ((count - 1) * sizes.stride + 1) * PARTS);
        }
        stride = sizes.stride;
        pitch = sizes.pitch;
    }

    // How many of a tile's elements, with the gaps, hold `length` that count.
    __aicore__ inline uint32_t Lanes(uint32_t length) const {
        return pitch == stride ? (length - 1) * pitch + 1 : length * pitch;
    }

    // Gaps hold what is between the elements, or zeros.
    __aicore__ inline void Load(const LocalTensor<T>& x, uint64_t offset, uint32_t length) {
        const GlobalTensor<T> from = xGlobal[offset * stride * PARTS];
        if (pitch == stride) {
            const DataCopyExtParams dense(1, Lanes(length) * BYTES, 0, 0, 0);
            DataCopyPad(x, from, dense, DataCopyPadExtParams<T>());
        } else {
            const DataCopyExtParams apart(length, BYTES, Gap(), 0, 0);
            DataCopyPad(x, from, apart, DataCopyPadExtParams<T>(true, 0, (32 - BYTES) / sizeof(T), 0));
        }
    }

    // Gaps are written, too, where they were loaded.
    __aicore__ inline void Store(uint64_t offset, const LocalTensor<T>& x, uint32_t length) {
        const GlobalTensor<T> to = xGlobal[offset * stride * PARTS];
        if (pitch == stride) {
            const DataCopyExtParams dense(1, Lanes(length) * BYTES, 0, 0, 0);
            DataCopyPad(to, x, dense);
        } else {
            const DataCopyExtParams apart(length, BYTES, 0, Gap(), 0);
            DataCopyPad(to, x, apart);
        }
    }

    uint64_t first = 0;  // of the whole vector
    uint64_t count = 0;

  private:
    static constexpr uint32_t BYTES = PARTS * sizeof(T);

    __aicore__ inline uint32_t Gap() const {
        return (stride - 1) * BYTES;
    }

    GlobalTensor<T> xGlobal;
    uint64_t stride = 1;
    uint32_t pitch = 1;
};

// Bits of the elements that count in a tile with gaps: those whose number is a multiple of the pitch.
class Counting {
  public:
    __aicore__ inline void Init(TPipe* pipe, uint32_t lanes, uint32_t pitch) {
        hasGaps = pitch > 1;
        if (!hasGaps) {
            return;
        }
        TBuf<TPosition::VECCALC> numberBuffer, wholeBuffer, rowBuffer;
        pipe->InitBuffer(bitsBuffer, lanes / 8);
        pipe->InitBuffer(numberBuffer, lanes * sizeof(float));
        pipe->InitBuffer(wholeBuffer, lanes * sizeof(float));
        pipe->InitBuffer(rowBuffer, lanes * sizeof(int32_t));
        LocalTensor<float> number = numberBuffer.Get<float>();
        LocalTensor<float> whole = wholeBuffer.Get<float>();
        LocalTensor<int32_t> row = rowBuffer.Get<int32_t>();
        CreateVecIndex(number, 0.0f, lanes);
        Duplicate(whole, static_cast<float>(pitch), lanes);
        Div(whole, number, whole, lanes);
        Cast(row, whole, RoundMode::CAST_FLOOR, lanes);
        Cast(whole, row, RoundMode::CAST_RINT, lanes);
        Muls(whole, whole, static_cast<float>(pitch), lanes);
        Compare(Bits(), number, whole, CMPMODE::EQ, lanes);
    }

    // Gaps in x become `filler`.
    __aicore__ inline void FillGaps(const LocalTensor<float>& x, float filler, uint32_t lanes) {
        if (hasGaps) {
            Select(x, Bits(), x, filler, SELMODE::VSEL_TENSOR_SCALAR_MODE, lanes);
        }
    }

    __aicore__ inline LocalTensor<uint8_t> Bits() {
        return bitsBuffer.Get<uint8_t>();
    }

    bool hasGaps = false;

  private:
    TBuf<TPosition::VECCALC> bitsBuffer;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
