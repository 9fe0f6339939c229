// Arange: out = start + index * step, every element from its index.
//
// Every core takes one contiguous share of the output and walks through it in tiles. Two buffers let the copy of one
// tile run beside the computation of another. Half types are computed in float, and rounded once at the end. The
// vector unit has no 64-bit arithmetic: such numbers are computed in 32 bits when all of them fit, else one by one.
#include "kernel_operator.h"

using namespace AscendC;

template <typename T>
class KernelArange {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR start, GM_ADDR step, GM_ADDR out,
                                const ElementwiseTilingData& sizes) {
        begin = GetBlockIdx() * sizes.share;
        if (begin < sizes.total) {
            count = sizes.total - begin < sizes.share ? sizes.total - begin : sizes.share;
        }
        tile = sizes.tile;
        first = Scalar(start);
        distance = Scalar(step);
        if constexpr (IS_LONG) {
            const int64_t last = first + static_cast<int64_t>(sizes.total - 1) * distance;
            fits = Fits(first) && Fits(last) && Fits(last - first) && Fits(distance);
        }
        outGlobal.SetGlobalBuffer((__gm__ T*)out + begin, count);
        pipe->InitBuffer(outQueue, 2, tile * sizeof(T));
        if constexpr (!std::is_same<T, Number>::value || IS_LONG) {
            pipe->InitBuffer(workBuffer, tile * sizeof(float));
        }
    }

    __aicore__ inline void Process() {
        for (uint64_t offset = 0; offset < count; offset += tile) {
            const uint32_t length = count - offset < tile ? count - offset : tile;
            Compute(begin + offset, length);
            CopyOut(offset, length);
        }
    }

  private:
    static constexpr bool IS_LONG = std::is_same<T, int64_t>::value;
    static constexpr bool IS_HALF = std::is_same<T, half>::value || std::is_same<T, bfloat16_t>::value;
    using Number = typename std::conditional<IS_HALF, float, T>::type;  // what is computed in

    __aicore__ inline static Number Scalar(GM_ADDR address) {
        GlobalTensor<T> global;
        global.SetGlobalBuffer((__gm__ T*)address, 1);
        if constexpr (std::is_same<T, bfloat16_t>::value) {
            return ToFloat(global.GetValue(0));
        } else {
            return static_cast<Number>(global.GetValue(0));
        }
    }

    __aicore__ inline static bool Fits(int64_t number) {
        return number == static_cast<int32_t>(number);
    }

    template <typename N>
    __aicore__ inline void Sequence(const LocalTensor<N>& y, uint64_t index, uint32_t length) {
        CreateVecIndex(y, static_cast<N>(index), length);
        Muls(y, y, static_cast<N>(distance), length);
        Adds(y, y, static_cast<N>(first), length);
    }

    __aicore__ inline void Compute(uint64_t index, uint32_t length) {
        LocalTensor<T> y = outQueue.template AllocTensor<T>();
        if constexpr (IS_LONG) {
            if (fits) {
                LocalTensor<int32_t> words = workBuffer.template Get<int32_t>();
                Sequence(words, index, length);
                Cast(y, words, RoundMode::CAST_NONE, length);
            } else {
                OneByOne(y, index, length);
            }
        } else if constexpr (IS_HALF) {
            LocalTensor<float> wide = workBuffer.template Get<float>();
            Sequence(wide, index, length);
            Cast(y, wide, RoundMode::CAST_RINT, length);
        } else {
            Sequence(y, index, length);
        }
        outQueue.EnQue(y);
    }

    // The scalar unit writes, which queues know nothing of: it waits for copies out of the tile, and they for it.
    __aicore__ inline void OneByOne(const LocalTensor<T>& y, uint64_t index, uint32_t length) {
        const event_t copied = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::MTE3_S));
        SetFlag<HardEvent::MTE3_S>(copied);
        WaitFlag<HardEvent::MTE3_S>(copied);
        for (uint32_t i = 0; i < length; ++i) {
            y.SetValue(i, static_cast<T>(first + static_cast<int64_t>(index + i) * distance));
        }
        const event_t written = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::S_MTE3));
        SetFlag<HardEvent::S_MTE3>(written);
        WaitFlag<HardEvent::S_MTE3>(written);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        LocalTensor<T> y = outQueue.template DeQue<T>();
        DataCopyPad(outGlobal[offset], y, copy);
        outQueue.FreeTensor(y);
    }

    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> workBuffer;
    GlobalTensor<T> outGlobal;
    Number first, distance;
    uint64_t begin = 0;
    uint64_t count = 0;
    uint32_t tile = 0;
    bool fits = true;
};

extern "C" __global__ __aicore__ void arange(GM_ADDR start, GM_ADDR end, GM_ADDR step, GM_ADDR out, GM_ADDR workspace,
                                             GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelArange<DTYPE_START> op;
    op.Init(&pipe, start, step, out, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
