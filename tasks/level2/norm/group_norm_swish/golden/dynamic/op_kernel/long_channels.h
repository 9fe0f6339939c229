// Group normalization where channels have many elements: gamma and beta are one number for a whole tile.
//
// An item of work is one group of one sample. It is read twice, from L2 the second time: differences to the mean of its
// first tile, and their squares, are added up lane by lane, and reduced once. Then channels are multiplied and shifted,
// several short ones in a tile. Where there are fewer items than cores, several cores do the first part of an item, all
// of it, and share the channels.
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
        parts = tiling.parts;
        const uint32_t channels = (depth + 15) / 16 * 16;
        xIn.Init(pipe, tensors.x, WIDTH);
        yOut.Init(pipe, tensors.y, WIDTH);
        gammaIn.Init(pipe, tensors.gamma, channels, 1);
        betaIn.Init(pipe, tensors.beta, channels, 1);
        meanOut.Init(pipe, tensors.mean, 8 * NUMBER_PITCH);
        rstdOut.Init(pipe, tensors.rstd, 8 * NUMBER_PITCH);
        // 256 bytes off what is added to them: another group of banks.
        pipe->InitBuffer(lanesBuffer, 256 + 2 * WIDTH * sizeof(float));
        sums = lanesBuffer.GetWithOffset<float>(WIDTH, 256);
        squares = lanesBuffer.GetWithOffset<float>(WIDTH, 256 + WIDTH * sizeof(float));
        pipe->InitBuffer(eighthsBuffer, (WIDTH / 8 + REPEAT) * sizeof(float));
        pipe->InitBuffer(factorBuffer, channels * sizeof(float));
        pipe->InitBuffer(shiftBuffer, channels * sizeof(float));
        pipe->InitBuffer(meanBuffer, 32);
        pipe->InitBuffer(rstdBuffer, 32);
        pipe->InitBuffer(oneBuffer, 32);
    }

    __aicore__ inline void Process() {
        for (uint64_t unit = GetBlockIdx(); unit < items * parts; unit += GetBlockNum()) {
            const uint64_t item = unit / parts, part = unit % parts;
            begin = item * depth * spatial;
            FindStatistics();
            const float mean = Read(meanBuffer.Get<float>()), rstd = Read(rstdBuffer.Get<float>());
            if (part == 0) {
                StoreNumbers(meanOut, meanBuffer.Get<float>(), {item, 0}, 1);
                StoreNumbers(rstdOut, rstdBuffer.Get<float>(), {item, 0}, 1);
            }
            FindFactors(item % groups, mean, rstd);
            Normalise(depth * part / parts, depth * (part + 1) / parts);
        }
    }

  private:
    static constexpr uint32_t WIDTH = 6144;  // elements of a tile, whole repeats

    // Calls use(x, length) for all elements, from `from` on, tile by tile.
    template <typename Use>
    __aicore__ inline void ForTiles(uint64_t from, uint64_t count, const Use& use) {
        for (uint64_t at = 0; at < count; at += WIDTH) {
            const uint32_t length = count - at < WIDTH ? count - at : WIDTH;
            const Tile tile{1, length, WIDTH};
            use(xIn.Take({from + at, 0}, tile), Place{from + at, 0}, tile);
        }
    }

    // The sum of lanes, times a factor.
    __aicore__ inline void Reduce(const LocalTensor<float>& number, const LocalTensor<float>& lanes, float factor) {
        SumLanes(number, lanes, eighthsBuffer.Get<float>(), WIDTH);
        Muls(number, number, factor, 1);
    }

    __aicore__ inline float Read(const LocalTensor<float>& number) {
        Await<HardEvent::V_S>();
        return number.GetValue(0);
    }

    // The mean of the first tile, which is near that of all: squares of differences to it hardly cancel.
    __aicore__ inline float MeanOfFirst() {
        const uint64_t count = depth * spatial;
        const uint32_t length = count < WIDTH ? count : WIDTH;
        Duplicate(sums, 0.0f, WIDTH);
        Add(sums, sums, xIn.Take({begin, 0}, {1, length, WIDTH}), length);
        xIn.Drop();
        Reduce(meanBuffer.Get<float>(), sums, 1.0f / length);
        return Read(meanBuffer.Get<float>());
    }

    __aicore__ inline void FindStatistics() {
        const LocalTensor<float> mean = meanBuffer.Get<float>(), rstd = rstdBuffer.Get<float>();
        const LocalTensor<float> one = oneBuffer.Get<float>();
        const float near = MeanOfFirst();
        Duplicate(sums, 0.0f, WIDTH);
        Duplicate(squares, 0.0f, WIDTH);
        ForTiles(begin, depth * spatial, [&](const LocalTensor<float>& x, const Place&, const Tile& tile) {
            Adds(x, x, -near, tile.columns);
            Add(sums, sums, x, tile.columns);
            MulAddDst(squares, x, x, tile.columns);
            xIn.Drop();
        });
        Reduce(mean, sums, share);
        Reduce(rstd, squares, share);
        Mul(one, mean, mean, 1);
        Sub(rstd, rstd, one, 1);
        Maxs(rstd, rstd, 0.0f, 1);
        Adds(mean, mean, near, 1);
        Adds(rstd, rstd, epsilon, 1);
        Sqrt(rstd, rstd, 1);
        Invert(rstd, one, 1);
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

    __aicore__ inline void Normalise(uint64_t first, uint64_t end) {
        const uint32_t pitch = (spatial + 15) / 16 * 16;
        if (pitch > WIDTH) {
            for (uint64_t channel = first; channel < end; ++channel) {
                ForTiles(begin + channel * spatial, spatial,
                         [&](const LocalTensor<float>& x, const Place& place, const Tile& tile) {
                             NormaliseTile(x, place, tile, channel);
                         });
            }
            return;
        }
        for (uint64_t channel = first; channel < end; channel += WIDTH / pitch) {
            const uint32_t rows = end - channel < WIDTH / pitch ? end - channel : WIDTH / pitch;
            const Tile tile{rows, static_cast<uint32_t>(spatial), pitch};
            const Place place{begin + channel * spatial, spatial};
            NormaliseTile(xIn.Take(place, tile), place, tile, channel);
        }
    }

    // A row for each channel from `channel` on.
    __aicore__ inline void NormaliseTile(const LocalTensor<float>& x, const Place& place, const Tile& tile,
                                         uint64_t channel) {
        const LocalTensor<float> y = yOut.Begin();
        const LocalTensor<float>& shifted = activates ? x : y;
        for (uint32_t row = 0; row < tile.rows; ++row) {
            const uint32_t at = row * tile.pitch;
            Muls(x[at], x[at], factorBuffer.Get<float>().GetValue(channel + row), tile.columns);
            Adds(shifted[at], x[at], shiftBuffer.Get<float>().GetValue(channel + row), tile.columns);
        }
        if (activates) {
            Swish(y, x, swishScale, tile.Length());
        }
        xIn.Drop();
        yOut.Store(place, tile);
    }

    RowsIn<T> xIn;
    RowsIn<G> gammaIn, betaIn;
    RowsOut<T> yOut;
    RowsOut<G> meanOut, rstdOut;
    TBuf<TPosition::VECCALC> lanesBuffer, eighthsBuffer, factorBuffer, shiftBuffer, meanBuffer, rstdBuffer, oneBuffer;
    LocalTensor<float> sums, squares;  // lane by lane
    uint64_t groups = 0, items = 0, depth = 0, spatial = 0;
    uint32_t parts = 1;
    uint64_t begin = 0;  // of the item that is worked on
    float share = 0.0f, epsilon = 0.0f, swishScale = 1.0f;
    bool activates = false;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
