// TopKV3: the k largest or smallest elements of every line along one axis, in order, and where they are.
//
// A tile is up to sixteen lines. Lines that lie next to each other element by element are transposed, once they are in
// the unified buffer, so that each is contiguous; their results are transposed back. A line is sorted in chunks, as
// records of a value and its position; what a chunk adds to the best ones so far is merged into them. For the smallest
// elements, values change their sign before and after. Tiles go to the cores in turn.
#include "kernel_operator.h"

using namespace AscendC;

class KernelTopKV3 {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR values, GM_ADDR indices,
                                const TopKV3TilingData& tiling) {
        outer = tiling.outer;
        length = tiling.length;
        inner = tiling.inner;
        k = tiling.k;
        tileLines = tiling.tileLines;
        largest = tiling.largest != 0;
        kPitch = RoundUp(k, 32);
        xGlobal.SetGlobalBuffer((__gm__ half*)x, outer * length * inner);
        valuesGlobal.SetGlobalBuffer((__gm__ half*)values, outer * k * inner);
        indicesGlobal.SetGlobalBuffer((__gm__ int32_t*)indices, outer * k * inner);
        pipe->InitBuffer(xQueue, 2, LINES * CHUNK * sizeof(half));
        pipe->InitBuffer(valuesQueue, 1, LINES * kPitch * sizeof(half));
        pipe->InitBuffer(indicesQueue, 1, LINES * kPitch * sizeof(int32_t));
        pipe->InitBuffer(bestBuffer, LINES * kPitch * RECORD_BYTES);
        pipe->InitBuffer(sortedBuffer, CHUNK * RECORD_BYTES);
        pipe->InitBuffer(scratchBuffer, CHUNK * RECORD_BYTES);
        pipe->InitBuffer(mergedBuffer, 2 * kPitch * RECORD_BYTES);
        pipe->InitBuffer(rampBuffer, CHUNK * sizeof(int32_t));
        pipe->InitBuffer(positionBuffer, CHUNK * sizeof(int32_t));
        if (inner > 1) {
            pipe->InitBuffer(linesBuffer, LINES * CHUNK * sizeof(half));
            pipe->InitBuffer(valueRowsBuffer, LINES * kPitch * sizeof(half));
            pipe->InitBuffer(indexRowsBuffer, LINES * kPitch * sizeof(int32_t));
        }
    }

    __aicore__ inline void Process() {
        CreateVecIndex(rampBuffer.Get<int32_t>(), static_cast<int32_t>(0), CHUNK);
        if (inner == 1) {
            for (uint64_t line = GetBlockIdx() * tileLines; line < outer; line += GetBlockNum() * tileLines) {
                const uint32_t lines = outer - line < tileLines ? outer - line : tileLines;
                Choose(line * length, lines);
                Extract(valuesQueue.AllocTensor<half>(), indicesQueue.AllocTensor<int32_t>(), lines);
                CopyOutLines(line * k, lines);
            }
            return;
        }
        const uint64_t panels = (inner + LINES - 1) / LINES;
        for (uint64_t item = GetBlockIdx(); item < outer * panels; item += GetBlockNum()) {
            const uint64_t block = item / panels, column = item % panels * LINES;
            const uint32_t lines = inner - column < LINES ? inner - column : LINES;
            Choose(block * length * inner + column, lines);
            ExtractColumns(lines);
            CopyOutColumns(block * k * inner + column, lines);
        }
    }

  private:
    __aicore__ inline uint32_t RoundUp(uint32_t value, uint32_t unit) {
        return (value + unit - 1) / unit * unit;
    }

    // The best records of every line that begins at `begin`.
    __aicore__ inline void Choose(uint64_t begin, uint32_t lines) {
        for (uint64_t first = 0; first < length; first += CHUNK) {
            const uint32_t count = length - first < CHUNK ? length - first : CHUNK;
            Adds(positionBuffer.Get<int32_t>(), rampBuffer.Get<int32_t>(), static_cast<int32_t>(first), CHUNK);
            if (inner == 1) {
                CopyInLines(begin + first, lines, count);
            } else {
                CopyInColumns(begin + first * inner, lines, count);
            }
            LocalTensor<half> x = xQueue.DeQue<half>();
            LocalTensor<half> chunk = x;
            if (inner > 1) {
                chunk = linesBuffer.Get<half>();
                TransposeIn(chunk, x, count);
            }
            for (uint32_t line = 0; line < lines; ++line) {
                SortChunk(chunk[line * CHUNK], count);
                Keep(line, first == 0, count);
            }
            xQueue.FreeTensor(x);
        }
    }

    __aicore__ inline void CopyInLines(uint64_t offset, uint32_t lines, uint32_t count) {
        const uint32_t gap = (CHUNK - RoundUp(count, BLOCK)) / BLOCK;
        const DataCopyExtParams copy(lines, count * sizeof(half), (length - count) * sizeof(half), gap, 0);
        LocalTensor<half> x = xQueue.AllocTensor<half>();
        DataCopyPad(x, xGlobal[offset], copy, DataCopyPadExtParams<half>());
        xQueue.EnQue(x);
    }

    // A block of 32 bytes for each position along the axis.
    __aicore__ inline void CopyInColumns(uint64_t offset, uint32_t lines, uint32_t count) {
        const DataCopyExtParams copy(count, lines * sizeof(half), (inner - lines) * sizeof(half), 0, 0);
        LocalTensor<half> x = xQueue.AllocTensor<half>();
        DataCopyPad(x, xGlobal[offset], copy, DataCopyPadExtParams<half>());
        xQueue.EnQue(x);
    }

    __aicore__ inline void TransposeIn(const LocalTensor<half>& to, const LocalTensor<half>& from, uint32_t count) {
        LocalTensor<half> rows[LINES], columns[LINES];
        for (uint32_t i = 0; i < LINES; ++i) {
            rows[i] = from[i * BLOCK];
            columns[i] = to[i * CHUNK];
        }
        TransDataTo5HD(columns, rows, Repeats((count + LINES - 1) / LINES, 1, LINES));
    }

    // Strides are those from one repeat to the next; a single repeat must not have any.
    __aicore__ inline TransDataTo5HDParams Repeats(uint32_t repeats, uint32_t toStride, uint32_t fromStride) {
        return repeats == 1 ? TransDataTo5HDParams(false, false, 1, 0, 0)
                            : TransDataTo5HDParams(false, false, repeats, toStride, fromStride);
    }

    // Instructions that sort take 32 values at a time: the last ones are filled up with negative infinity.
    __aicore__ inline void SortChunk(const LocalTensor<half>& x, uint32_t count) {
        constexpr uint32_t LANES = 128;
        const uint32_t padded = RoundUp(count, 32);
        if (!largest) {
            Muls(x, x, static_cast<half>(-1.0f), count);
        }
        if (count < padded) {
            const uint32_t base = count / LANES * LANES;
            uint64_t mask[2] = {0, 0};
            for (uint32_t lane = count - base; lane < padded - base; ++lane) {
                mask[lane / 64] |= 1ULL << lane % 64;
            }
            Duplicate(x[base].ReinterpretCast<int16_t>(), static_cast<int16_t>(0xFC00), mask, 1, 1, 8);
        }
        LocalTensor<half> scratch = scratchBuffer.Get<half>();
        LocalTensor<half> concat;
        Concat(concat, x, scratch, padded / 32);
        Sort<half, true>(sortedBuffer.Get<half>(), concat, positionBuffer.Get<uint32_t>(), scratch, padded / 32);
    }

    __aicore__ inline void Keep(uint32_t line, bool first, uint32_t count) {
        LocalTensor<half> best = bestBuffer.Get<half>()[line * kPitch * RECORD];
        LocalTensor<half> sorted = sortedBuffer.Get<half>();
        if (first) {
            DataCopy(best, sorted, kPitch * RECORD);
            return;
        }
        LocalTensor<half> merged = mergedBuffer.Get<half>();
        const uint32_t padded = RoundUp(count, 32);
        const uint16_t kept = kPitch, candidates = padded < kPitch ? padded : kPitch;
        const uint16_t lengths[4] = {kept, candidates, 0, 0};
        MrgSort(merged, MrgSortSrcList<half>(best, sorted, sorted, sorted), MrgSort4Info(lengths, false, 0b0011, 1));
        DataCopy(best, merged, kPitch * RECORD);
    }

    __aicore__ inline void Extract(const LocalTensor<half>& values, const LocalTensor<int32_t>& indices,
                                   uint32_t lines) {
        Unpack(values, indices, lines);
        valuesQueue.EnQue(values);
        indicesQueue.EnQue(indices);
    }

    __aicore__ inline void Unpack(const LocalTensor<half>& values, const LocalTensor<int32_t>& indices,
                                  uint32_t lines) {
        AscendC::Extract(values, indices.ReinterpretCast<uint32_t>(), bestBuffer.Get<half>(), lines * kPitch / 32);
        if (!largest) {
            Muls(values, values, static_cast<half>(-1.0f), lines * kPitch);
        }
    }

    __aicore__ inline void ExtractColumns(uint32_t lines) {
        LocalTensor<half> valueRows = valueRowsBuffer.Get<half>(), values = valuesQueue.AllocTensor<half>();
        LocalTensor<int32_t> indexRows = indexRowsBuffer.Get<int32_t>(), indices = indicesQueue.AllocTensor<int32_t>();
        Unpack(valueRows, indexRows, lines);
        LocalTensor<half> valueFrom[LINES], valueTo[LINES];
        LocalTensor<int32_t> indexFrom[LINES], indexTo[LINES];
        for (uint32_t i = 0; i < LINES; ++i) {
            valueFrom[i] = valueRows[i * kPitch];
            valueTo[i] = values[i * LINES];
            indexFrom[i] = indexRows[i * kPitch];
            indexTo[i] = indices[i * LINES / 2];  // two blocks for the sixteen lines
        }
        TransDataTo5HD(valueTo, valueFrom, Repeats((k + 15) / 16, LINES, 1));
        TransDataTo5HD(indexTo, indexFrom, Repeats((k + 7) / 8, LINES, 1));
        valuesQueue.EnQue(values);
        indicesQueue.EnQue(indices);
    }

    __aicore__ inline void CopyOutLines(uint64_t offset, uint32_t lines) {
        const uint32_t valueGap = (kPitch - RoundUp(k, 16)) / 16, indexGap = (kPitch - RoundUp(k, 8)) / 8;
        CopyOut(offset, DataCopyExtParams(lines, k * sizeof(half), valueGap, 0, 0),
                DataCopyExtParams(lines, k * sizeof(int32_t), indexGap, 0, 0));
    }

    __aicore__ inline void CopyOutColumns(uint64_t offset, uint32_t lines) {
        const uint64_t rest = inner - lines;
        const uint32_t indexGap = lines <= 8 ? 1 : 0;
        CopyOut(offset, DataCopyExtParams(k, lines * sizeof(half), 0, rest * sizeof(half), 0),
                DataCopyExtParams(k, lines * sizeof(int32_t), indexGap, rest * sizeof(int32_t), 0));
    }

    __aicore__ inline void CopyOut(uint64_t offset, const DataCopyExtParams& copyValues,
                                   const DataCopyExtParams& copyIndices) {
        LocalTensor<half> values = valuesQueue.DeQue<half>();
        LocalTensor<int32_t> indices = indicesQueue.DeQue<int32_t>();
        DataCopyPad(valuesGlobal[offset], values, copyValues);
        DataCopyPad(indicesGlobal[offset], indices, copyIndices);
        valuesQueue.FreeTensor(values);
        indicesQueue.FreeTensor(indices);
    }

    static constexpr uint32_t LINES = 16;    // of a tile, as many as a transposition takes
    static constexpr uint32_t CHUNK = 512;   // elements of a line at a time
    static constexpr uint32_t BLOCK = 16;    // halves of 32 bytes
    static constexpr uint32_t RECORD = 4;    // halves of a record
    static constexpr uint32_t RECORD_BYTES = 8;
    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> valuesQueue, indicesQueue;
    TBuf<TPosition::VECCALC> linesBuffer, bestBuffer, sortedBuffer, scratchBuffer, mergedBuffer, rampBuffer,
        positionBuffer, valueRowsBuffer, indexRowsBuffer;
    GlobalTensor<half> xGlobal, valuesGlobal;
    GlobalTensor<int32_t> indicesGlobal;
    uint64_t outer = 0, length = 0, inner = 0;
    uint32_t k = 0, kPitch = 0, tileLines = 0;
    bool largest = true;
};

extern "C" __global__ __aicore__ void top_kv3(GM_ADDR x, GM_ADDR k, GM_ADDR values, GM_ADDR indices, GM_ADDR workspace,
                                              GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelTopKV3 op;
    op.Init(&pipe, x, values, indices, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
