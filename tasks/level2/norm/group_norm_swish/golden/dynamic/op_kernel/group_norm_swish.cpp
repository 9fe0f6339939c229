// GroupNormSwish: normalization of groups of channels, and Swish: y = z * sigmoid(swishScale * z).
//
// A group of a sample is a run of neighbouring elements. An item of work is one group in some samples, so that all rows
// of a tile, one per sample, have gamma and beta in common; these are spread over the elements of their channels once.
// A group that is longer than a tile is read piece by piece and kept; where even that has no room for it, it is read
// three times. Channels with many elements go another way: see there.
#include "long_channels.h"

template <typename T, typename G>
class KernelGroupNormSwish {
  public:
    __aicore__ inline void Init(TPipe* pipe, const GroupNormTensors& tensors, const GroupNormTilingData& tiling) {
        samples = tiling.samples;
        groups = tiling.groups;
        depth = tiling.depth;
        spatial = tiling.spatial;
        columns = tiling.columns;
        share = tiling.share;
        parts = tiling.parts;
        width = tiling.width;
        pitch = tiling.pitch;
        tileRows = tiling.tileRows;
        meanShare = tiling.mean;
        swishScale = tiling.swishScale;
        kept = tiling.kept != 0;
        activates = tiling.activates != 0;
        epsilon = tiling.epsilon;
        const uint32_t elements = tileRows * pitch;
        const uint32_t numbers = (tileRows + 7) / 8 * 8;
        xIn.Init(pipe, tensors.x, elements);
        gamma.Init(pipe, tensors.gamma, pitch);
        beta.Init(pipe, tensors.beta, pitch);
        offsets.Init(pipe, spatial, pitch);
        yOut.Init(pipe, tensors.y, elements);
        meanOut.Init(pipe, tensors.mean, numbers * NUMBER_PITCH);
        rstdOut.Init(pipe, tensors.rstd, numbers * NUMBER_PITCH);
        pipe->InitBuffer(totalBuffer, (tiling.kept < elements ? elements : tiling.kept) * sizeof(float));
        pipe->InitBuffer(squareBuffer, elements * sizeof(float));
        pipe->InitBuffer(eighthBuffer, (elements / 8 + REPEAT) * sizeof(float));
        pipe->InitBuffer(meanBuffer, numbers * sizeof(float));
        pipe->InitBuffer(rstdBuffer, numbers * sizeof(float));
        pipe->InitBuffer(partBuffer, numbers * sizeof(float));
        pipe->InitBuffer(meanBlockBuffer, numbers * 32);
        pipe->InitBuffer(rstdBlockBuffer, numbers * 32);
    }

    __aicore__ inline void Process() {
        for (uint64_t item = GetBlockIdx(); item < groups * parts && samples != 0; item += GetBlockNum()) {
            group = item % groups;
            const uint64_t first = item / groups * share;
            const uint64_t end = samples - first < share ? samples : first + share;
            if (columns == width) {
                HoldWeights(0, width);
            }
            for (sample = first; sample < end; sample += tileRows) {
                rows = end - sample < tileRows ? end - sample : tileRows;
                FindMean();
                FindDeviation();
                Normalise();
            }
        }
    }

  private:
    __aicore__ inline Tile Piece(uint64_t column) const {
        return {rows, static_cast<uint32_t>(columns - column < width ? columns - column : width), pitch};
    }

    __aicore__ inline Place PlaceOf(uint64_t column) const {
        return {(sample * groups + group) * columns + column, groups * columns};
    }

    __aicore__ inline Place NumbersOf() const { return {sample * groups + group, groups}; }

    // Gamma and beta along a piece of the group.
    __aicore__ inline void HoldWeights(uint64_t column, uint32_t length) {
        LocalTensor<uint32_t> way = offsets.For(column, length);
        const uint64_t first = group * depth + column / spatial;
        const uint32_t count = offsets.Channels(column, length);
        gammas = gamma.Spread(way, first, count, length);
        betas = beta.Spread(way, first, count, length);
    }

    __aicore__ inline LocalTensor<float> Total(uint64_t column) { return totalBuffer.Get<float>()[kept ? column : 0]; }

    __aicore__ inline void Gather(uint64_t column, const Tile& tile) {
        Adds(Total(column), xIn.Take(PlaceOf(column), tile), 0.0f, tile.Length());
        xIn.Drop();
    }

    __aicore__ inline void Centre(uint64_t column, const Tile& tile) {
        WithRows<Minus>(Total(column), Total(column), meanBlockBuffer.Get<float>(), rows, tile.columns, pitch);
    }

    __aicore__ inline void FindMean() {
        LocalTensor<float> mean = meanBuffer.Get<float>();
        LocalTensor<float> part = partBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            Gather(column, tile);
            SumTile(column == 0 ? mean : part, Total(column), squareBuffer.Get<float>(), eighthBuffer.Get<float>(),
                    tile);
            if (column != 0) {
                Add(mean, mean, part, rows);
            }
        }
        Muls(mean, mean, meanShare, rows);
        Spread(meanBlockBuffer.Get<float>(), mean, rows);
        StoreNumbers(meanOut, mean, NumbersOf(), rows);
    }

    __aicore__ inline void FindDeviation() {
        LocalTensor<float> rstd = rstdBuffer.Get<float>();
        LocalTensor<float> part = partBuffer.Get<float>();
        LocalTensor<float> square = squareBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            if (!kept) {
                Gather(column, tile);
            }
            Centre(column, tile);
            Mul(square, Total(column), Total(column), tile.Length());
            SumTile(column == 0 ? rstd : part, square, square, eighthBuffer.Get<float>(), tile);
            if (column != 0) {
                Add(rstd, rstd, part, rows);
            }
        }
        Muls(rstd, rstd, meanShare, rows);
        Adds(rstd, rstd, epsilon, rows);
        Sqrt(rstd, rstd, rows);
        Invert(rstd, part, rows);
        Spread(rstdBlockBuffer.Get<float>(), rstd, rows);
        StoreNumbers(rstdOut, rstd, NumbersOf(), rows);
    }

    __aicore__ inline void Normalise() {
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            if (!kept) {
                Gather(column, tile);
                Centre(column, tile);
            }
            if (columns != width) {
                HoldWeights(column, tile.columns);
            }
            LocalTensor<float> z = Total(column);
            WithRows<Times>(z, z, rstdBlockBuffer.Get<float>(), rows, tile.columns, pitch);
            WithColumns<Times>(z, z, gammas, rows, tile.columns, pitch);
            LocalTensor<float> y = yOut.Begin();
            if (activates) {
                WithColumns<Plus>(z, z, betas, rows, tile.columns, pitch);
                Swish(y, z, swishScale, tile.Length());
            } else {
                WithColumns<Plus>(y, z, betas, rows, tile.columns, pitch);
            }
            yOut.Store(PlaceOf(column), tile);
        }
    }

    RowsIn<T> xIn;
    ChannelWeights<G> gamma, beta;
    ChannelOffsets offsets;
    RowsOut<T> yOut;
    RowsOut<G> meanOut, rstdOut;
    LocalTensor<float> gammas, betas;
    TBuf<TPosition::VECCALC> totalBuffer, squareBuffer, eighthBuffer;
    TBuf<TPosition::VECCALC> meanBuffer, rstdBuffer, partBuffer, meanBlockBuffer, rstdBlockBuffer;  // numbers per row
    uint64_t samples = 0, groups = 0, depth = 0, spatial = 0, columns = 0, share = 0;
    uint64_t group = 0, sample = 0;  // of the tile that is worked on
    uint32_t parts = 0, width = 0, pitch = 0, tileRows = 0, rows = 0;
    float meanShare = 0.0f, swishScale = 1.0f;
    bool kept = false, activates = false;
    float epsilon = 0.0f;
};

extern "C" __global__ __aicore__ void group_norm_swish(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR mean,
                                                       GM_ADDR rstd, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    const GroupNormTensors tensors{x, gamma, beta, y, mean, rstd};
    if (sizes.longChannels) {
        KernelLongChannels<DTYPE_X, DTYPE_GAMMA> op;
        op.Init(&pipe, tensors, sizes);
        op.Process();
    } else {
        KernelGroupNormSwish<DTYPE_X, DTYPE_GAMMA> op;
        op.Init(&pipe, tensors, sizes);
        op.Process();
    }
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
