// GatherV3: y[b, p, k] = x[b, p, indices[b, k]], where b runs over shared axes, p over the others before the gathered
// one, and x[b, p, i] is a slice of any length.
//
// Work is dealt out to the cores in turn. Two buffers per queue let the copies of one tile run beside those, or the
// gathering, of another. Negative indices count from the end; only operators that allow them have some.
#include "kernel_operator.h"

using namespace AscendC;

// Slices of any length, as bytes: copied in one by one, and out several at a time.
template <typename I>
class GatherSlices {
  public:
    __aicore__ inline GatherSlices(const GatherV3TilingData& sizes) : sizes(sizes) {}

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR indices, GM_ADDR y) {
        const uint64_t rows = sizes.batches * sizes.outer;
        total = rows * sizes.slices;
        xGlobal.SetGlobalBuffer((__gm__ uint8_t*)x, rows * sizes.extent * sizes.bytes);
        yGlobal.SetGlobalBuffer((__gm__ uint8_t*)y, total * sizes.bytes);
        indexGlobal.SetGlobalBuffer((__gm__ I*)indices, sizes.batches * sizes.slices);
        pipe->InitBuffer(queue, 2, sizes.tileSlices * sizes.pitch);
    }

    __aicore__ inline void Process() {
        for (uint64_t tile = GetBlockIdx(); tile < sizes.tiles; tile += GetBlockNum()) {
            const uint64_t slice = tile / sizes.pieces * sizes.tileSlices;
            const uint64_t start = tile % sizes.pieces * sizes.tileBytes;
            const uint32_t count = total - slice < sizes.tileSlices ? total - slice : sizes.tileSlices;
            const uint32_t length = sizes.bytes - start < sizes.tileBytes ? sizes.bytes - start : sizes.tileBytes;
            CopyIn(slice, start, count, length);
            CopyOut(slice, start, count, length);
        }
    }

  private:
    __aicore__ inline void CopyIn(uint64_t slice, uint64_t start, uint32_t count, uint32_t length) {
        const DataCopyExtParams copy{1, length, 0, 0, 0};
        LocalTensor<uint8_t> tile = queue.AllocTensor<uint8_t>();
        for (uint32_t i = 0; i < count; ++i) {
            const uint64_t from = Source(slice + i) * sizes.bytes + start;
            DataCopyPad(tile[i * sizes.pitch], xGlobal[from], copy, DataCopyPadExtParams<uint8_t>());
        }
        queue.EnQue(tile);
    }

    // The number of the slice of x that slice `slice` of y is.
    __aicore__ inline uint64_t Source(uint64_t slice) {
        const uint64_t row = slice / sizes.slices;
        const int64_t index = indexGlobal.GetValue(row / sizes.outer * sizes.slices + slice % sizes.slices);
        return row * sizes.extent + (index < 0 ? index + sizes.extent : index);
    }

    __aicore__ inline void CopyOut(uint64_t slice, uint64_t start, uint32_t count, uint32_t length) {
        const DataCopyExtParams copy{static_cast<uint16_t>(count), length, 0, 0, 0};
        LocalTensor<uint8_t> tile = queue.DeQue<uint8_t>();
        DataCopyPad(yGlobal[slice * sizes.bytes + start], tile, copy);
        queue.FreeTensor(tile);
    }

    GatherV3TilingData sizes;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    GlobalTensor<uint8_t> xGlobal, yGlobal;
    GlobalTensor<I> indexGlobal;
    uint64_t total = 0;
};

// Slices of one element of 16 or 32 bits: a row of x lies in the unified buffer, and Gather picks from it.
template <typename T, typename I>
class GatherElements {
  public:
    __aicore__ inline GatherElements(const GatherV3TilingData& sizes) : sizes(sizes) {}

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR indices, GM_ADDR y) {
        const uint64_t rows = sizes.batches * sizes.outer;
        xGlobal.SetGlobalBuffer((__gm__ T*)x, rows * sizes.extent);
        yGlobal.SetGlobalBuffer((__gm__ T*)y, rows * sizes.slices);
        indexGlobal.SetGlobalBuffer((__gm__ I*)indices, sizes.batches * sizes.slices);
        pipe->InitBuffer(xQueue, 2, (sizes.extent * sizeof(T) + 31) / 32 * 32);
        pipe->InitBuffer(indexQueue, 1, sizes.tileSlices * sizeof(I));
        pipe->InitBuffer(yQueue, 2, sizes.tileSlices * sizeof(T));
        pipe->InitBuffer(offsetBuffer, sizes.tileSlices * sizeof(int32_t));
        pipe->InitBuffer(signBuffer, sizes.tileSlices * sizeof(int32_t));
    }

    // Consecutive rows belong to one core, so that it seldom needs other indices than before.
    __aicore__ inline void Process() {
        const uint64_t rows = sizes.batches * sizes.outer;
        const uint64_t share = (rows + GetBlockNum() - 1) / GetBlockNum();
        const uint64_t begin = GetBlockIdx() * share;
        const uint64_t end = begin + share < rows ? begin + share : rows;
        uint64_t prepared = NONE;  // position of the indices whose offsets are there
        for (uint64_t row = begin; row < end; ++row) {
            CopyIn(row);
            LocalTensor<T> x = xQueue.template DeQue<T>();
            for (uint64_t slice = 0; slice < sizes.slices; slice += sizes.tileSlices) {
                const uint64_t left = sizes.slices - slice;
                const uint32_t count = left < sizes.tileSlices ? left : sizes.tileSlices;
                const uint64_t position = row / sizes.outer * sizes.slices + slice;
                if (position != prepared) {
                    MakeOffsets(position, count);
                    prepared = position;
                }
                LocalTensor<T> y = yQueue.template AllocTensor<T>();
                Gather(y, x, offsetBuffer.template Get<uint32_t>(), 0, count);
                yQueue.EnQue(y);
                CopyOut(row * sizes.slices + slice, count);
            }
            xQueue.FreeTensor(x);
        }
    }

  private:
    static constexpr uint64_t NONE = ~uint64_t(0);

    __aicore__ inline void CopyIn(uint64_t row) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(sizes.extent * sizeof(T)), 0, 0, 0};
        LocalTensor<T> x = xQueue.template AllocTensor<T>();
        DataCopyPad(x, xGlobal[row * sizes.extent], copy, DataCopyPadExtParams<T>());
        xQueue.EnQue(x);
    }

    // Bytes from the beginning of the row: the index, plus the extent if it is negative, times the element's width.
    __aicore__ inline void MakeOffsets(uint64_t position, uint32_t count) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(I)), 0, 0, 0};
        LocalTensor<I> loaded = indexQueue.template AllocTensor<I>();
        DataCopyPad(loaded, indexGlobal[position], copy, DataCopyPadExtParams<I>());
        indexQueue.EnQue(loaded);
        LocalTensor<I> indices = indexQueue.template DeQue<I>();
        LocalTensor<int32_t> offsets = offsetBuffer.template Get<int32_t>();
        LocalTensor<int32_t> sign = signBuffer.template Get<int32_t>();
        if constexpr (sizeof(I) == sizeof(int64_t)) {
            Cast(offsets, indices, RoundMode::CAST_NONE, count);
        } else {
            Adds(offsets, indices, 0, count);
        }
        indexQueue.FreeTensor(indices);
        Maxs(sign, offsets, -1, count);
        Mins(sign, sign, 0, count);  // -1 or 0
        Muls(sign, sign, -static_cast<int32_t>(sizes.extent), count);
        Add(offsets, offsets, sign, count);
        Muls(offsets, offsets, static_cast<int32_t>(sizeof(T)), count);
    }

    __aicore__ inline void CopyOut(uint64_t first, uint32_t count) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        LocalTensor<T> y = yQueue.template DeQue<T>();
        DataCopyPad(yGlobal[first], y, copy);
        yQueue.FreeTensor(y);
    }

    GatherV3TilingData sizes;
    TQue<TPosition::VECIN, 1> xQueue, indexQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> offsetBuffer, signBuffer;
    GlobalTensor<T> xGlobal, yGlobal;
    GlobalTensor<I> indexGlobal;
};

extern "C" __global__ __aicore__ void gather_v3(GM_ADDR x, GM_ADDR indices, GM_ADDR axis, GM_ADDR y, GM_ADDR workspace,
                                                GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    if (TILING_KEY_IS(0)) {
        GatherSlices<DTYPE_INDICES> op(sizes);
        op.Init(&pipe, x, indices, y);
        op.Process();
    } else if (TILING_KEY_IS(1)) {
        using Bits = typename std::conditional<sizeof(DTYPE_X) == 2, uint16_t, uint32_t>::type;
        GatherElements<Bits, DTYPE_INDICES> op(sizes);
        op.Init(&pipe, x, indices, y);
        op.Process();
    }
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
