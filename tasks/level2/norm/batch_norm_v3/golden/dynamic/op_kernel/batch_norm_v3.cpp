// BatchNormV3: y = (x - mean) * rstd * weight + bias per channel, by the statistics of the batch or by running ones.
//
// The samples of a channel are cut into parts, which go to the cores in turn. A part is read once for its mean and its
// squared deviations, which are summed around the mean of its first tile, so that nothing cancels. Parts meet in the
// workspace, are merged in the same order on every core, and are read again to be normalised. In a tile, rows are
// samples. What is one number per channel is the scalar unit's business. The running statistics are updated in place.
#include "row_tensors.h"

struct BatchNormTensors {
    GM_ADDR x;
    GM_ADDR weight;
    GM_ADDR bias;
    GM_ADDR runningMean;
    GM_ADDR runningVar;
    GM_ADDR y;
    GM_ADDR saveMean;
    GM_ADDR saveRstd;
};

// Of some values: how many, their mean, and the sum of their squared distances from it.
struct Moments {
    float count, mean, squares;
};

template <typename T, typename W>
class KernelBatchNormV3 {
  public:
    __aicore__ inline void Init(TPipe* pipe, const BatchNormTensors& tensors, GM_ADDR workspace,
                                const BatchNormV3TilingData& tiling) {
        samples = tiling.samples;
        channels = tiling.channels;
        spatial = tiling.spatial;
        share = tiling.share;
        parts = tiling.parts;
        width = tiling.width;
        pitch = tiling.pitch;
        tileRows = tiling.tileRows;
        training = tiling.training != 0;
        epsilon = tiling.epsilon;
        momentum = tiling.momentum;
        weightGlobal.SetGlobalBuffer((__gm__ W*)tensors.weight, channels);
        biasGlobal.SetGlobalBuffer((__gm__ W*)tensors.bias, channels);
        meanGlobal.SetGlobalBuffer((__gm__ float*)tensors.runningMean, channels);
        varGlobal.SetGlobalBuffer((__gm__ float*)tensors.runningVar, channels);
        const uint32_t elements = tileRows * pitch;
        xIn.Init(pipe, tensors.x, elements);
        yOut.Init(pipe, tensors.y, elements);
        pipe->InitBuffer(numberBuffer, (tileRows + 15) / 8 * 32);
        if (training) {
            momentsOut.Init(pipe, workspace, BLOCK);
            momentsIn.Init(pipe, workspace, parts * BLOCK, 1);
            runningMeanOut.Init(pipe, tensors.runningMean, BLOCK);
            runningVarOut.Init(pipe, tensors.runningVar, BLOCK);
            saveMeanOut.Init(pipe, tensors.saveMean, BLOCK);
            saveRstdOut.Init(pipe, tensors.saveRstd, BLOCK);
            pipe->InitBuffer(deviationBuffer, elements * sizeof(float));
            pipe->InitBuffer(sumBuffer, elements * sizeof(float));
            pipe->InitBuffer(squareBuffer, elements * sizeof(float));
            pipe->InitBuffer(eighthBuffer, (elements / 8 + REPEAT) * sizeof(float));
        }
    }

    __aicore__ inline void Process() {
        const uint64_t items = channels * parts;
        if (training) {
            for (uint64_t item = GetBlockIdx(); item < items; item += GetBlockNum()) {
                Measure(item);
            }
            PipeBarrier<PIPE_ALL>();
            SyncAll();
        }
        for (uint64_t item = GetBlockIdx(); item < items; item += GetBlockNum()) {
            Normalise(item);
        }
    }

  private:
    static constexpr uint32_t BLOCK = 8;  // floats in 32 bytes

    // The tiles of an item, one after the other: number `i` of them.
    struct Walk {
        uint64_t first, end, pieces;
    };

    __aicore__ inline Walk WalkOf(uint64_t item) const {
        const uint64_t first = item / channels * share;
        const uint64_t end = samples - first < share ? samples : first + share;
        return {first, end, (spatial + width - 1) / width};
    }

    __aicore__ inline uint64_t TilesOf(const Walk& walk) const {
        return (walk.end - walk.first + tileRows - 1) / tileRows * walk.pieces;
    }

    __aicore__ inline Tile TileAt(const Walk& walk, uint64_t i) const {
        const uint64_t sample = walk.first + i / walk.pieces * tileRows;
        const uint64_t column = i % walk.pieces * width;
        const uint64_t rows = walk.end - sample < tileRows ? walk.end - sample : tileRows;
        const uint64_t length = spatial - column < width ? spatial - column : width;
        return {static_cast<uint32_t>(rows), static_cast<uint32_t>(length), pitch};
    }

    __aicore__ inline Place PlaceAt(const Walk& walk, uint64_t i, uint64_t channel) const {
        const uint64_t sample = walk.first + i / walk.pieces * tileRows;
        return {(sample * channels + channel) * spatial + i % walk.pieces * width, channels * spatial};
    }

    __aicore__ inline float Number(const GlobalTensor<W>& global, uint64_t index) {
        if constexpr (std::is_same<W, bfloat16_t>::value) {
            return ToFloat(global.GetValue(index));
        } else {
            return static_cast<float>(global.GetValue(index));
        }
    }

    // The sum of a tile, on the scalar unit; `lanes` may be x, which is then overwritten.
    __aicore__ inline float SumAll(const LocalTensor<float>& x, const LocalTensor<float>& lanes, const Tile& tile) {
        LocalTensor<float> numbers = numberBuffer.Get<float>();
        const uint32_t after = (tile.rows + 7) / 8 * 8;
        SumTile(numbers, x, lanes, eighthBuffer.Get<float>(), tile);
        ReduceSum(numbers[after], numbers, eighthBuffer.Get<float>(), tile.rows);
        Await<HardEvent::V_S>();
        const float sum = numbers.GetValue(after);
        Await<HardEvent::S_V>();
        return sum;
    }

    __aicore__ inline void Measure(uint64_t item) {
        const Walk walk = WalkOf(item);
        const uint64_t tiles = TilesOf(walk), channel = item % channels;
        const Tile first = TileAt(walk, 0);
        LocalTensor<float> deviation = deviationBuffer.Get<float>();
        LocalTensor<float> sum = sumBuffer.Get<float>();
        LocalTensor<float> square = squareBuffer.Get<float>();
        float centre = 0.0f;
        xIn.Load(PlaceAt(walk, 0, channel), first);
        for (uint64_t i = 0; i < tiles; ++i) {
            const Tile tile = TileAt(walk, i);
            LocalTensor<float> x = xIn.Use(tile);
            if (i + 1 < tiles) {
                xIn.Load(PlaceAt(walk, i + 1, channel), TileAt(walk, i + 1));
            }
            if (i == 0) {
                centre = SumAll(x, deviation, tile) / (tile.rows * tile.columns);
                Duplicate(sum, 0.0f, tileRows * pitch);
                Duplicate(square, 0.0f, tileRows * pitch);
            }
            Adds(deviation, x, -centre, tile.Length());
            xIn.Drop();
            Add(sum, sum, deviation, tile.Length());
            MulAddDst(square, deviation, deviation, tile.Length());
        }
        const float count = (walk.end - walk.first) * spatial;
        const float excess = SumAll(sum, sum, first);
        const float squares = SumAll(square, square, first);
        WriteMoments(item, {count, centre + excess / count, squares - excess * (excess / count)});
    }

    __aicore__ inline void WriteMoments(uint64_t item, const Moments& moments) {
        LocalTensor<float> block = momentsOut.Begin();
        Duplicate(block, 0.0f, BLOCK);
        Await<HardEvent::V_S>();
        block.SetValue(0, moments.count);
        block.SetValue(1, moments.mean);
        block.SetValue(2, moments.squares);
        Await<HardEvent::S_MTE3>();
        momentsOut.Store({item * BLOCK, 0}, {1, BLOCK, BLOCK});
    }

    __aicore__ inline Moments MomentsOf(uint64_t channel) {
        const Tile tile{parts, BLOCK, BLOCK};
        LocalTensor<float> blocks = momentsIn.Take({channel * BLOCK, channels * BLOCK}, tile);
        Await<HardEvent::MTE2_S>();
        Moments all{0.0f, 0.0f, 0.0f};
        for (uint32_t part = 0; part < parts; ++part) {
            const float count = blocks.GetValue(part * BLOCK);
            const float distance = blocks.GetValue(part * BLOCK + 1) - all.mean;
            const float together = all.count + count;
            all.mean += distance * (count / together);
            all.squares += blocks.GetValue(part * BLOCK + 2) + distance * distance * (all.count * count / together);
            all.count = together;
        }
        momentsIn.Drop();
        return all;
    }

    __aicore__ inline float ReciprocalRoot(float x) {
        LocalTensor<float> numbers = numberBuffer.Get<float>();
        Duplicate(numbers, x, BLOCK);
        Sqrt(numbers, numbers, BLOCK);
        Await<HardEvent::V_S>();
        const float root = numbers.GetValue(0);
        Await<HardEvent::S_V>();
        return 1.0f / root;
    }

    __aicore__ inline void WriteNumber(RowsOut<float>& out, uint64_t channel, float number) {
        Duplicate(out.Begin(), number, BLOCK);
        out.Store({channel, 0}, {1, 1, BLOCK});
    }

    __aicore__ inline void Normalise(uint64_t item) {
        const Walk walk = WalkOf(item);
        const uint64_t tiles = TilesOf(walk), channel = item % channels;
        xIn.Load(PlaceAt(walk, 0, channel), TileAt(walk, 0));
        float mean = 0.0f, rstd = 0.0f;
        if (training) {
            const Moments moments = MomentsOf(channel);
            mean = moments.mean;
            rstd = ReciprocalRoot(moments.squares / moments.count + epsilon);
            if (item < channels) {
                Publish(channel, moments, rstd);
            }
        } else {
            mean = meanGlobal.GetValue(channel);
            rstd = ReciprocalRoot(varGlobal.GetValue(channel) + epsilon);
        }
        const float factor = rstd * Number(weightGlobal, channel);
        const float shift = Number(biasGlobal, channel);
        for (uint64_t i = 0; i < tiles; ++i) {
            const Tile tile = TileAt(walk, i);
            LocalTensor<float> x = xIn.Use(tile);
            if (i + 1 < tiles) {
                xIn.Load(PlaceAt(walk, i + 1, channel), TileAt(walk, i + 1));
            }
            LocalTensor<float> y = yOut.Begin();
            Adds(y, x, -mean, tile.Length());
            xIn.Drop();
            Muls(y, y, factor, tile.Length());
            Adds(y, y, shift, tile.Length());
            yOut.Store(PlaceAt(walk, i, channel), tile);
        }
    }

    // What is returned of a channel, by the core that has its first part.
    __aicore__ inline void Publish(uint64_t channel, const Moments& moments, float rstd) {
        const float unbiased = moments.count > 1.0f ? moments.squares / (moments.count - 1.0f) : 0.0f;
        const float oldMean = meanGlobal.GetValue(channel), oldVar = varGlobal.GetValue(channel);
        WriteNumber(saveMeanOut, channel, moments.mean);
        WriteNumber(saveRstdOut, channel, rstd);
        WriteNumber(runningMeanOut, channel, (1.0f - momentum) * oldMean + momentum * moments.mean);
        WriteNumber(runningVarOut, channel, (1.0f - momentum) * oldVar + momentum * unbiased);
    }

    RowsIn<T> xIn;
    RowsIn<float> momentsIn;
    RowsOut<T> yOut;
    RowsOut<float> momentsOut, runningMeanOut, runningVarOut, saveMeanOut, saveRstdOut;
    GlobalTensor<W> weightGlobal, biasGlobal;
    GlobalTensor<float> meanGlobal, varGlobal;
    TBuf<TPosition::VECCALC> deviationBuffer, sumBuffer, squareBuffer, eighthBuffer, numberBuffer;
    uint64_t samples = 0, channels = 0, spatial = 0, share = 0;
    uint32_t parts = 0, width = 0, pitch = 0, tileRows = 0;
    bool training = false;
    float epsilon = 0.0f, momentum = 0.0f;
};

// newMean and newVar are the memory of runningMean and runningVar.
extern "C" __global__ __aicore__ void batch_norm_v3(GM_ADDR x, GM_ADDR weight, GM_ADDR bias, GM_ADDR runningMean,
                                                    GM_ADDR runningVar, GM_ADDR y, GM_ADDR newMean, GM_ADDR newVar,
                                                    GM_ADDR saveMean, GM_ADDR saveRstd, GM_ADDR workspace,
                                                    GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelBatchNormV3<DTYPE_X, DTYPE_WEIGHT> op;
    op.Init(&pipe, {x, weight, bias, runningMean, runningVar, y, saveMean, saveRstd}, GetUserWorkspace(workspace),
            sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
