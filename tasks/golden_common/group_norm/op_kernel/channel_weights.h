// Weights per channel, spread over the elements of a group, and what is one number per row of a tile.
#ifndef CHANNEL_WEIGHTS_H
#define CHANNEL_WEIGHTS_H
#include "row_tensors.h"

// One vector of weights, spread along the columns of a tile.
template <typename T>
class ChannelWeights {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR weights, uint32_t pitch) {
        in.Init(pipe, weights, pitch + 16, 1);
        pipe->InitBuffer(spreadBuffer, pitch * sizeof(float));
    }

    // `offsets` lead from columns to weights, in bytes, beginning at weight `first` of `count`.
    __aicore__ inline LocalTensor<float> Spread(const LocalTensor<uint32_t>& offsets, uint64_t first, uint32_t count,
                                                uint32_t columns) {
        LocalTensor<float> spread = spreadBuffer.Get<float>();
        LocalTensor<float> weights = in.Take({first, 0}, {1, count, (count + 15) / 16 * 16});
        Gather(spread, weights, offsets, 0, columns);
        in.Drop();
        return spread;
    }

  private:
    RowsIn<T> in;
    TBuf<TPosition::VECCALC> spreadBuffer;
};

// The way from columns of a piece of a group to its channels.
class ChannelOffsets {
  public:
    __aicore__ inline void Init(TPipe* pipe, uint64_t spatial, uint32_t pitch) {
        this->spatial = spatial;
        pipe->InitBuffer(offsetBuffer, pitch * sizeof(int32_t));
        pipe->InitBuffer(floatBuffer, pitch * sizeof(float));
    }

    // For the columns from `column` on. The middle of an element divides safely: no quotient is near an integer.
    __aicore__ inline LocalTensor<uint32_t> For(uint64_t column, uint32_t columns) {
        LocalTensor<int32_t> offsets = offsetBuffer.Get<int32_t>();
        LocalTensor<float> quotients = floatBuffer.Get<float>();
        CreateVecIndex(offsets, static_cast<int32_t>(column % spatial), columns);
        Cast(quotients, offsets, RoundMode::CAST_NONE, columns);
        Adds(quotients, quotients, 0.5f, columns);
        Muls(quotients, quotients, 1.0f / spatial, columns);
        Cast(offsets, quotients, RoundMode::CAST_FLOOR, columns);
        Muls(offsets, offsets, static_cast<int32_t>(sizeof(float)), columns);
        return offsets.ReinterpretCast<uint32_t>();
    }

    __aicore__ inline uint32_t Channels(uint64_t column, uint32_t columns) const {
        return (column % spatial + columns + spatial - 1) / spatial;
    }

  private:
    TBuf<TPosition::VECCALC> offsetBuffer, floatBuffer;
    uint64_t spatial = 1;
};

// Numbers of the rows of a tile, each in a row of its own in global memory.
constexpr uint32_t NUMBER_PITCH = 16;

template <typename T>
__aicore__ inline void StoreNumbers(RowsOut<T>& out, const LocalTensor<float>& numbers, const Place& place,
                                    uint32_t rows) {
    Brcb(out.Begin(), numbers, (rows + 7) / 8, BrcbRepeatParams(2, NUMBER_PITCH));
    out.Store(place, {rows, 1, NUMBER_PITCH});
}

// A block of eight for the number of every row; `numbers` holds the numbers in between.
template <typename T>
__aicore__ inline void LoadNumbers(const LocalTensor<float>& blocks, const LocalTensor<float>& numbers, RowsIn<T>& in,
                                   const Place& place, uint32_t rows) {
    WholeReduceSum(numbers, in.Take(place, {rows, 1, NUMBER_PITCH}), 1, rows, 1, 1, NUMBER_PITCH / 8);
    in.Drop();
    Spread(blocks, numbers, rows);
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
