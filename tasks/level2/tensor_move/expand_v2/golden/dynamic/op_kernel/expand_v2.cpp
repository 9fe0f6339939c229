// ExpandV2: a tensor broadcast to a larger shape.
//
// In memory, y is a sequence of groups: a run of elements of x, repeated as a whole some number of times, or one
// element of x, repeated to make up a run. A tile is several repetitions of a run, or the runs of several
// elements, laid at a pitch of whole 32-byte blocks; of long runs it is a piece. Tiles go to the cores in turn. The
// vector unit does not know 64-bit elements: they are copied as two words of 32 bits.
#include "kernel_operator.h"

using namespace AscendC;

class KernelExpandV2 {
  public:
    __aicore__ inline KernelExpandV2(const ExpandV2TilingData& tiling) : sizes(tiling) {}

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y) {
        xGlobal.SetGlobalBuffer((__gm__ int32_t*)x);
        yGlobal.SetGlobalBuffer((__gm__ int32_t*)y, sizes.groups * sizes.times * sizes.run * WORDS);
        pitch = (sizes.tileRun * WORDS + BLOCK - 1) / BLOCK * BLOCK;
        pipe->InitBuffer(xQueue, 2, pitch * sizeof(int32_t));
        pipe->InitBuffer(yQueue, 2, (sizes.tileRows * pitch + LANES) * sizeof(int32_t));
    }

    __aicore__ inline void Process() {
        // Rows are the repetitions of one run, or in the other case all runs.
        const uint64_t rowsTogether = sizes.spread != 0 ? sizes.groups : sizes.times;
        const uint64_t groups = sizes.spread != 0 ? 1 : sizes.groups;
        const uint64_t heights = (rowsTogether + sizes.tileRows - 1) / sizes.tileRows;
        const uint64_t pieces = sizes.run == 0 ? 0 : (sizes.run + sizes.tileRun - 1) / sizes.tileRun;
        for (uint64_t item = GetBlockIdx(); item < groups * heights * pieces; item += GetBlockNum()) {
            const uint64_t column = item % pieces * sizes.tileRun;
            const uint64_t row = item / pieces % heights * sizes.tileRows;
            const uint64_t group = item / pieces / heights;
            const uint32_t rows = rowsTogether - row < sizes.tileRows ? rowsTogether - row : sizes.tileRows;
            const uint32_t length = sizes.run - column < sizes.tileRun ? sizes.run - column : sizes.tileRun;
            if (sizes.spread != 0) {
                Spread(row, rows, length);
            } else {
                CopyIn(Source(group) + column, length);
                Repeat(rows, length);
            }
            CopyOut((group * rowsTogether + row) * sizes.run + column, rows, length);
        }
    }

  private:
    // The element of x with which a group begins.
    __aicore__ inline uint64_t Source(uint64_t group) {
        uint64_t offset = 0;
        for (uint32_t i = sizes.axes; i > 0; --i) {
            offset += group % sizes.extents[i - 1] * sizes.strides[i - 1];
            group /= sizes.extents[i - 1];
        }
        return offset;
    }

    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length * BYTES, 0, 0, 0);
        LocalTensor<int32_t> x = xQueue.AllocTensor<int32_t>();
        DataCopyPad(x, xGlobal[offset * WORDS], copy, DataCopyPadExtParams<int32_t>());
        xQueue.EnQue(x);
    }

    __aicore__ inline void Repeat(uint32_t rows, uint32_t length) {
        LocalTensor<int32_t> x = xQueue.DeQue<int32_t>();
        LocalTensor<int32_t> y = yQueue.AllocTensor<int32_t>();
        const CopyRepeatParams down(1, 1, pitch / BLOCK, 0);
        const uint32_t words = length * WORDS;
        for (uint32_t word = 0; word < words; word += LANES) {
            const uint32_t lanes = words - word < LANES ? words - word : LANES;
            Copy(y[word], x[word], lanes, rows, down);
        }
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
    }

    // Low words go to the even lanes, high words to the odd ones. Whole repeats are written: what they write beyond a
    // run is overwritten by the next.
    __aicore__ inline void Spread(uint64_t group, uint32_t rows, uint32_t length) {
        uint64_t even[2] = {0x5555555555555555, 0}, odd[2] = {0xAAAAAAAAAAAAAAAA, 0};
        const uint8_t repeats = (length * WORDS + LANES - 1) / LANES;
        LocalTensor<int32_t> y = yQueue.AllocTensor<int32_t>();
        for (uint32_t row = 0; row < rows; ++row) {
            const uint64_t from = Source(group + row) * WORDS;
            Duplicate(y[row * pitch], xGlobal.GetValue(from), even, repeats, 1, 8);
            Duplicate(y[row * pitch], xGlobal.GetValue(from + 1), odd, repeats, 1, 8);
        }
        yQueue.EnQue(y);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t rows, uint32_t length) {
        const uint32_t taken = (length * WORDS + BLOCK - 1) / BLOCK;  // blocks of a row
        const DataCopyExtParams copy(rows, length * BYTES, pitch / BLOCK - taken, (sizes.run - length) * BYTES, 0);
        LocalTensor<int32_t> y = yQueue.DeQue<int32_t>();
        DataCopyPad(yGlobal[offset * WORDS], y, copy);
        yQueue.FreeTensor(y);
    }

    static constexpr uint32_t WORDS = 2;   // of an element
    static constexpr uint32_t BYTES = 8;   // of an element
    static constexpr uint32_t BLOCK = 8;   // words of 32 bytes
    static constexpr uint32_t LANES = 64;  // words that an instruction works on at a time
    const ExpandV2TilingData& sizes;
    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    GlobalTensor<int32_t> xGlobal, yGlobal;
    uint32_t pitch = 0;  // words from row to row in a tile
};

extern "C" __global__ __aicore__ void expand_v2(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelExpandV2 op(sizes);
    op.Init(&pipe, x, y);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
