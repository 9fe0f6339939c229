// GroupNormSwishGrad: gradients of group normalization followed by Swish.
//
//     xhat = (x - mean) * rstd     z = xhat * gamma + beta     p = sigmoid(s * z)
//     dz = dy * p * (1 + s * z * (1 - p))     g = dz * gamma
//     dx = rstd * (g - mean(g) - xhat * mean(g * xhat))     dgamma = sum(dz * xhat)     dbeta = sum(dz)
//
// A group of a sample is a run of neighbouring elements. An item of work is one group in some samples, so that all rows
// of a tile, one per sample, have gamma and beta in common. The samples of an item are added up element by element and
// left in the workspace; when all cores have met, these sums are added up channel by channel.
#include "channel_weights.h"
#include "column_sums.h"

struct GroupNormGradTensors {
    GM_ADDR dy;
    GM_ADDR mean;
    GM_ADDR rstd;
    GM_ADDR x;
    GM_ADDR gamma;
    GM_ADDR beta;
    GM_ADDR dx;
    GM_ADDR dgamma;
    GM_ADDR dbeta;
};

// Adds up what the items have left in the workspace: `parts` matrices of a row of `spatial` elements per channel.
template <typename T>
class ChannelSums {
  public:
    __aicore__ inline void Init(TPipe* pipe, uint64_t channels, uint64_t spatial, uint32_t parts) {
        this->channels = channels;
        this->spatial = spatial;
        this->parts = parts;
        width = spatial < TILE ? spatial : TILE;
        pitch = (width + 15) / 16 * 16;
        tileRows = width < spatial ? 1 : TILE / pitch < MOST ? TILE / pitch : MOST;
        pipe->InitBuffer(totalBuffer, TILE * sizeof(float));
        pipe->InitBuffer(eighthBuffer, (TILE / 8 + REPEAT) * sizeof(float));
        pipe->InitBuffer(sumBuffer, MOST * sizeof(float));
        pipe->InitBuffer(partBuffer, MOST * sizeof(float));
    }

    __aicore__ inline void Run(RowsIn<float>& in, RowsOut<T>& out) {
        LocalTensor<float> total = totalBuffer.Get<float>();
        LocalTensor<float> sum = sumBuffer.Get<float>();
        LocalTensor<float> piece = partBuffer.Get<float>();
        for (uint64_t channel = GetBlockIdx() * tileRows; channel < channels; channel += GetBlockNum() * tileRows) {
            const uint32_t rows = channels - channel < tileRows ? channels - channel : tileRows;
            for (uint64_t column = 0; column < spatial; column += width) {
                const Tile tile{rows, static_cast<uint32_t>(spatial - column < width ? spatial - column : width),
                                pitch};
                Duplicate(total, 0.0f, tile.Length());
                for (uint32_t part = 0; part < parts; ++part) {
                    const Place place{(part * channels + channel) * spatial + column, spatial};
                    Add(total, total, in.Take(place, tile), tile.Length());
                    in.Drop();
                }
                SumTile(column == 0 ? sum : piece, total, total, eighthBuffer.Get<float>(), tile);
                if (column != 0) {
                    Add(sum, sum, piece, rows);
                }
            }
            Adds(out.Begin(), sum, 0.0f, rows);
            out.Store({channel, 0}, {1, rows, MOST});
        }
    }

    static constexpr uint32_t TILE = 1024, MOST = 64;

  private:
    TBuf<TPosition::VECCALC> totalBuffer, eighthBuffer, sumBuffer, partBuffer;
    uint64_t channels = 0, spatial = 0;
    uint32_t parts = 0, width = 0, pitch = 0, tileRows = 0;
};

template <typename T>
class KernelGroupNormSwishGrad {
  public:
    __aicore__ inline void Init(TPipe* pipe, const GroupNormGradTensors& tensors, GM_ADDR workspace,
                                const GroupNormTilingData& tiling) {
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
        wantsGamma = tiling.wantsGamma != 0;
        wantsBeta = tiling.wantsBeta != 0;
        InitTensors(pipe, tensors, workspace);
        const uint32_t elements = tileRows * pitch;
        const uint32_t numbers = (tileRows + 7) / 8 * 8;
        offsets.Init(pipe, spatial, pitch);
        pipe->InitBuffer(hatBuffer, elements * sizeof(float));
        pipe->InitBuffer(gBuffer, elements * sizeof(float));
        pipe->InitBuffer(productBuffer, elements * sizeof(float));
        pipe->InitBuffer(zBuffer, elements * sizeof(float));
        pipe->InitBuffer(eighthBuffer, (elements / 8 + REPEAT) * sizeof(float));
        pipe->InitBuffer(gMeanBuffer, numbers * sizeof(float));
        pipe->InitBuffer(productMeanBuffer, numbers * sizeof(float));
        pipe->InitBuffer(partBuffer, numbers * sizeof(float));
        pipe->InitBuffer(meanBlockBuffer, numbers * 32);
        pipe->InitBuffer(rstdBlockBuffer, numbers * 32);
        pipe->InitBuffer(gBlockBuffer, numbers * 32);
        pipe->InitBuffer(productBlockBuffer, numbers * 32);
    }

    __aicore__ inline void Process() {
        for (uint64_t item = GetBlockIdx(); item < groups * parts && samples != 0; item += GetBlockNum()) {
            group = item % groups;
            const uint64_t first = item / groups * share;
            const uint64_t end = samples - first < share ? samples : first + share;
            if (columns == width) {
                HoldWeights(0, width);
            }
            const uint64_t sums = (item / groups * groups + group) * columns;
            dgamma.Begin(sums);
            dbeta.Begin(sums);
            for (sample = first; sample < end; sample += tileRows) {
                rows = end - sample < tileRows ? end - sample : tileRows;
                LoadNumbers(meanBlockBuffer.Get<float>(), partBuffer.Get<float>(), mean, NumbersOf(), rows);
                LoadNumbers(rstdBlockBuffer.Get<float>(), partBuffer.Get<float>(), rstd, NumbersOf(), rows);
                FindMeans(sample == first);
                Differentiate();
            }
            dgamma.Publish();
            dbeta.Publish();
        }
        PipeBarrier<PIPE_ALL>();
        SyncAll();
        if (wantsGamma) {
            channelSums.Run(gammaSums, dgammaOut);
        }
        if (wantsBeta) {
            channelSums.Run(betaSums, dbetaOut);
        }
    }

  private:
    __aicore__ inline void InitTensors(TPipe* pipe, const GroupNormGradTensors& tensors, GM_ADDR workspace) {
        const uint32_t elements = tileRows * pitch;
        const uint32_t numbers = (tileRows + 7) / 8 * 8;
        const bool whole = columns == width;
        GM_ADDR second = workspace + parts * groups * columns * sizeof(float);
        dy.Init(pipe, tensors.dy, elements);
        x.Init(pipe, tensors.x, elements);
        mean.Init(pipe, tensors.mean, numbers * NUMBER_PITCH);
        rstd.Init(pipe, tensors.rstd, numbers * NUMBER_PITCH);
        gamma.Init(pipe, tensors.gamma, pitch);
        beta.Init(pipe, tensors.beta, pitch);
        dx.Init(pipe, tensors.dx, elements);
        dgamma.Init(pipe, workspace, columns, tileRows, pitch, whole);
        dbeta.Init(pipe, second, columns, tileRows, pitch, whole);
        channelSums.Init(pipe, groups * depth, spatial, parts);
        gammaSums.Init(pipe, workspace, ChannelSums<T>::TILE, 1);
        betaSums.Init(pipe, second, ChannelSums<T>::TILE, 1);
        dgammaOut.Init(pipe, tensors.dgamma, ChannelSums<T>::MOST);
        dbetaOut.Init(pipe, tensors.dbeta, ChannelSums<T>::MOST);
    }

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

    // xhat and g of a piece, which is added to the sums over samples if `counts`.
    __aicore__ inline void Prepare(uint64_t column, const Tile& tile, bool counts, bool first) {
        const uint32_t length = tile.Length();
        LocalTensor<float> hat = hatBuffer.Get<float>();
        LocalTensor<float> g = gBuffer.Get<float>();
        LocalTensor<float> z = zBuffer.Get<float>();
        if (columns != width) {
            HoldWeights(column, tile.columns);
        }
        WithRows<Minus>(hat, x.Take(PlaceOf(column), tile), meanBlockBuffer.Get<float>(), rows, tile.columns, pitch);
        x.Drop();
        WithRows<Times>(hat, hat, rstdBlockBuffer.Get<float>(), rows, tile.columns, pitch);
        WithColumns<Times>(z, hat, gammas, rows, tile.columns, pitch);
        WithColumns<Plus>(z, z, betas, rows, tile.columns, pitch);
        Slope(z, length);
        Mul(g, z, dy.Take(PlaceOf(column), tile), length);
        dy.Drop();
        if (counts) {
            dgamma.PlusProduct(g, hat, column, tile, first);
            dbeta.Plus(g, column, tile, first);
        }
        WithColumns<Times>(g, g, gammas, rows, tile.columns, pitch);
    }

    // z becomes (1 + s * z * e / (1 + e)) / (1 + e), where e = exp(-s * z) is kept finite.
    __aicore__ inline void Slope(const LocalTensor<float>& z, uint32_t length) {
        LocalTensor<float> power = productBuffer.Get<float>();
        LocalTensor<float> divisor = gBuffer.Get<float>();
        Muls(z, z, swishScale, length);
        Muls(power, z, -1.0f, length);
        Mins(power, power, 80.0f, length);
        Exp(power, power, length);
        Adds(divisor, power, 1.0f, length);
        Mul(z, z, power, length);
        Div(z, z, divisor, length);
        Adds(z, z, 1.0f, length);
        Div(z, z, divisor, length);
    }

    __aicore__ inline void FindMeans(bool first) {
        LocalTensor<float> gMean = gMeanBuffer.Get<float>();
        LocalTensor<float> productMean = productMeanBuffer.Get<float>();
        LocalTensor<float> product = productBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            Prepare(column, tile, true, first);
            AddSums(gMean, gBuffer.Get<float>(), column, tile);
            Mul(product, gBuffer.Get<float>(), hatBuffer.Get<float>(), tile.Length());
            AddSums(productMean, product, column, tile);
        }
        Muls(gMean, gMean, meanShare, rows);
        Muls(productMean, productMean, meanShare, rows);
        Spread(gBlockBuffer.Get<float>(), gMean, rows);
        Spread(productBlockBuffer.Get<float>(), productMean, rows);
    }

    __aicore__ inline void AddSums(const LocalTensor<float>& sums, const LocalTensor<float>& terms, uint64_t column,
                                   const Tile& tile) {
        LocalTensor<float> part = partBuffer.Get<float>();
        SumTile(column == 0 ? sums : part, terms, productBuffer.Get<float>(), eighthBuffer.Get<float>(), tile);
        if (column != 0) {
            Add(sums, sums, part, rows);
        }
    }

    __aicore__ inline void Differentiate() {
        LocalTensor<float> product = productBuffer.Get<float>();
        for (uint64_t column = 0; column < columns; column += width) {
            const Tile tile = Piece(column);
            if (columns != width) {
                Prepare(column, tile, false, false);
            }
            WithRows<Times>(product, hatBuffer.Get<float>(), productBlockBuffer.Get<float>(), rows, tile.columns,
                            pitch);
            Sub(product, gBuffer.Get<float>(), product, tile.Length());
            WithRows<Minus>(product, product, gBlockBuffer.Get<float>(), rows, tile.columns, pitch);
            WithRows<Times>(dx.Begin(), product, rstdBlockBuffer.Get<float>(), rows, tile.columns, pitch);
            dx.Store(PlaceOf(column), tile);
        }
    }

    RowsIn<T> dy, x, mean, rstd;
    ChannelWeights<T> gamma, beta;
    ChannelOffsets offsets;
    RowsOut<T> dx, dgammaOut, dbetaOut;
    LaneSums dgamma, dbeta;
    ChannelSums<T> channelSums;
    RowsIn<float> gammaSums, betaSums;
    LocalTensor<float> gammas, betas;
    TBuf<TPosition::VECCALC> hatBuffer, gBuffer, productBuffer, zBuffer, eighthBuffer;
    TBuf<TPosition::VECCALC> gMeanBuffer, productMeanBuffer, partBuffer;  // numbers per row
    TBuf<TPosition::VECCALC> meanBlockBuffer, rstdBlockBuffer, gBlockBuffer, productBlockBuffer;
    uint64_t samples = 0, groups = 0, depth = 0, spatial = 0, columns = 0, share = 0;
    uint64_t group = 0, sample = 0;  // of the tile that is worked on
    uint32_t parts = 0, width = 0, pitch = 0, tileRows = 0, rows = 0;
    float meanShare = 0.0f, swishScale = 1.0f;
    bool wantsGamma = false, wantsBeta = false;
};

extern "C" __global__ __aicore__ void group_norm_swish_grad(GM_ADDR dy, GM_ADDR mean, GM_ADDR rstd, GM_ADDR x,
                                                            GM_ADDR gamma, GM_ADDR beta, GM_ADDR dx, GM_ADDR dgamma,
                                                            GM_ADDR dbeta, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelGroupNormSwishGrad<DTYPE_X> op;
    op.Init(&pipe, {dy, mean, rstd, x, gamma, beta, dx, dgamma, dbeta}, GetUserWorkspace(workspace), sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
