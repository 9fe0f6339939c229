// Group normalization where channels have many elements: gamma and beta are one number for a whole tile.
//
// An item of work is one group of one sample. It is read three times, from L2 but for the first: sums and squares are
// added up lane by lane, and reduced once. The last time a tile lies in one channel, and is multiplied and shifted.
#ifndef LONG_CHANNELS_H
#define LONG_CHANNELS_H
#include "channel_weights.h"

struct GroupNormTensors {
    GM_ADDR x;
    GM_ADDR gamma;
    GM_ADDR beta;
    GM_ADDR y;
    GM_ADDR mean;
    GM_ADDR rstd;
};

// y = z * sigmoid(scale * z). Where exp overflows, the quotient is the zero that the activation tends to.
__aicore__ inline void Swish(const LocalTensor<float>& y, const LocalTensor<float>& z, float scale, uint32_t length) {
    Muls(y, z, -scale, length);
    Exp(y, y, length);
    Adds(y, y, 1.0f, length);
    Div(y, z, y, length);
}

template <typename T, typename G>
class KernelLongChannels {
  public:
    __aicore__ inline void Init(TPipe* pipe, const GroupNormTensors& tensors, const GroupNormTilingData& tiling) {
        groups = tiling.groups;
        items = tiling.samples * groups;
        depth = tiling.depth;
        spatial = tiling.spatial;
        share = tiling.mean;
        epsilon = tiling.epsilon;
        swishScale = tiling.swishScale;
        activates = tiling.activates != 0;
        const uint32_t channels = (depth + 15) / 16 * 16;
        xIn.Init(pipe, tensors.x, WIDTH);
        yOut.Init(pipe, tensors.y, WIDTH);
        gammaIn.Init(pipe, tensors.gamma, channels, 1);
        betaIn.Init(pipe, tensors.beta, channels, 1);
        meanOut.Init(pipe, tensors.mean, 8 * NUMBER_PITCH);
        rstdOut.Init(pipe, tensors.rstd, 8 * NUMBER_PITCH);
        pipe->InitBuffer(lanesBuffer, WIDTH * sizeof(float));
        pipe->InitBuffer(eighthsBuffer, (WIDTH / 8 + REPEAT) * sizeof(float));
        pipe->InitBuffer(factorBuffer, channels * sizeof(float));
        pipe->InitBuffer(shiftBuffer, channels * sizeof(float));
        pipe->InitBuffer(meanBuffer, 32);
        pipe->InitBuffer(rstdBuffer, 32);
        pipe->InitBuffer(oneBuffer, 32);
    }

    __aicore__ inline void Process() {
        for (uint64_t item = GetBlockIdx(); item < items; item += GetBlockNum()) {
            begin = item * depth * spatial;
            const float mean = FindMean(item);
            const float rstd = FindDeviation(item, mean);
            FindFactors(item % groups, mean, rstd);
            Normalise();
        }
    }

  private:
    static constexpr uint32_t WIDTH = 4096;  // elements of a tile, whole repeats

    // Calls use(x, length) for all elements, from `from` on, tile by tile.
    template <typename Use>
    __aicore__ inline void ForTiles(uint64_t from, uint64_t count, const Use& use) {
        for (uint64_t at = 0; at < count; at += WIDTH) {
            const uint32_t length = count - at < WIDTH ? count - at : WIDTH;
            const Tile tile{1, length, WIDTH};
            use(xIn.Take({from + at, 0}, tile), Place{from + at, 0}, tile);
        }
    }

    // The sum of what was added up lane by lane, times one element's share.
    __aicore__ inline void Reduce(const LocalTensor<float>& number) {
        const LocalTensor<float> lanes = lanesBuffer.Get<float>();
        SumLanes(number, lanes, eighthsBuffer.Get<float>(), WIDTH);
        Muls(number, number, share, 1);
    }

    __aicore__ inline float Read(const LocalTensor<float>& number) {
        Await<HardEvent::V_S>();
        return number.GetValue(0);
    }

    __aicore__ inline float FindMean(uint64_t item) {
        const LocalTensor<float> lanes = lanesBuffer.Get<float>(), mean = meanBuffer.Get<float>();
        Duplicate(lanes, 0.0f, WIDTH);
        ForTiles(begin, depth * spatial, [&](const LocalTensor<float>& x, const Place&, const Tile& tile) {
            Add(lanes, lanes, x, tile.columns);
            xIn.Drop();
        });
        Reduce(mean);
        StoreNumbers(meanOut, mean, {item, 0}, 1);
        return Read(mean);
    }

    __aicore__ inline float FindDeviation(uint64_t item, float mean) {
        const LocalTensor<float> lanes = lanesBuffer.Get<float>(), rstd = rstdBuffer.Get<float>();
        Duplicate(lanes, 0.0f, WIDTH);
        ForTiles(begin, depth * spatial, [&](const LocalTensor<float>& x, const Place&, const Tile& tile) {
            Adds(x, x, -mean, tile.columns);
            MulAddDst(lanes, x, x, tile.columns);
            xIn.Drop();
        });
        Reduce(rstd);
        Adds(rstd, rstd, epsilon, 1);
        Sqrt(rstd, rstd, 1);
        Invert(rstd, oneBuffer.Get<float>(), 1);
        StoreNumbers(rstdOut, rstd, {item, 0}, 1);
        return Read(rstd);
    }

    // (x - mean) * rstd * gamma + beta = x * factor + shift, channel by channel.
    __aicore__ inline void FindFactors(uint64_t group, float mean, float rstd) {
        const LocalTensor<float> factors = factorBuffer.Get<float>(), shifts = shiftBuffer.Get<float>();
        const Tile tile{1, static_cast<uint32_t>(depth), static_cast<uint32_t>((depth + 15) / 16 * 16)};
        Muls(factors, gammaIn.Take({group * depth, 0}, tile), rstd, tile.columns);
        gammaIn.Drop();
        Muls(shifts, factors, -mean, tile.columns);
        Add(shifts, shifts, betaIn.Take({group * depth, 0}, tile), tile.columns);
        betaIn.Drop();
        Await<HardEvent::V_S>();
    }

    __aicore__ inline void Normalise() {
        for (uint64_t channel = 0; channel < depth; ++channel) {
            const float factor = factorBuffer.Get<float>().GetValue(channel);
            const float shift = shiftBuffer.Get<float>().GetValue(channel);
            ForTiles(begin + channel * spatial, spatial,
                     [&](const LocalTensor<float>& x, const Place& place, const Tile& tile) {
                         const LocalTensor<float> y = yOut.Begin();
                         Muls(x, x, factor, tile.columns);
                         if (activates) {
                             Adds(x, x, shift, tile.columns);
                             Swish(y, x, swishScale, tile.columns);
                         } else {
                             Adds(y, x, shift, tile.columns);
                         }
                         xIn.Drop();
                         yOut.Store(place, tile);
                     });
        }
    }

    RowsIn<T> xIn;
    RowsIn<G> gammaIn, betaIn;
    RowsOut<T> yOut;
    RowsOut<G> meanOut, rstdOut;
    TBuf<TPosition::VECCALC> lanesBuffer, eighthsBuffer, factorBuffer, shiftBuffer, meanBuffer, rstdBuffer, oneBuffer;
    uint64_t groups = 0, items = 0, depth = 0, spatial = 0;
    uint64_t begin = 0;  // of the item that is worked on
    float share = 0.0f, epsilon = 0.0f, swishScale = 1.0f;
    bool activates = false;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
