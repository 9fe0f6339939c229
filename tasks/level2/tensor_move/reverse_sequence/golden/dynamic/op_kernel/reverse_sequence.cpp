// ReverseSequence: the beginnings of sequences reversed, each up to a length of its own.
//
// An element of a sequence is a row: what lies behind both axes. A tile is some rows of one sequence that follow each
// other, or a piece of each where rows are long. It is read with one instruction. Rows that stay where they are go out
// with one instruction too, those that change places one by one. Tiles go to the cores in turn. Of the element type
// only its size matters.
#include "kernel_operator.h"

using namespace AscendC;

template <uint32_t BYTES, typename L>
class KernelReverseSequence {
  public:
    __aicore__ inline KernelReverseSequence(const ReverseSequenceTilingData& tiling) : sizes(tiling) {}

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR lengths, GM_ADDR y) {
        const uint64_t sequences = sizes.outer * sizes.batch * sizes.middle;
        const uint64_t bytes = sequences * sizes.time * sizes.columns * BYTES;
        xGlobal.SetGlobalBuffer((__gm__ uint8_t*)x, bytes);
        yGlobal.SetGlobalBuffer((__gm__ uint8_t*)y, bytes);
        lengthsGlobal.SetGlobalBuffer((__gm__ L*)lengths, sizes.batch);
        pitch = (sizes.tileColumns * BYTES + BLOCK - 1) / BLOCK * BLOCK;
        pipe->InitBuffer(queue, 2, sizes.tileRows * pitch);
    }

    __aicore__ inline void Process() {
        const uint64_t sequences = sizes.outer * sizes.batch * sizes.middle;
        const uint64_t heights = (sizes.time + sizes.tileRows - 1) / sizes.tileRows;
        const uint64_t pieces = sizes.outer == 0 ? 0 : (sizes.columns + sizes.tileColumns - 1) / sizes.tileColumns;
        for (uint64_t item = GetBlockIdx(); item < sequences * heights * pieces; item += GetBlockNum()) {
            const uint64_t column = item % pieces * sizes.tileColumns;
            const uint64_t row = item / pieces % heights * sizes.tileRows;
            const uint32_t columns =
                sizes.columns - column < sizes.tileColumns ? sizes.columns - column : sizes.tileColumns;
            const uint32_t rows = sizes.time - row < sizes.tileRows ? sizes.time - row : sizes.tileRows;
            Locate(item / pieces / heights);
            Move(row, rows, column, columns);
        }
    }

  private:
    // Where a sequence begins, how far apart its rows are, and how many of them are reversed.
    __aicore__ inline void Locate(uint64_t sequence) {
        const uint64_t last = sizes.batchFirst != 0 ? sizes.middle : sizes.batch;
        const uint64_t inner = sequence % last, rest = sequence / last;
        if (sizes.batchFirst != 0) {
            start = sequence * sizes.time * sizes.columns;
            step = sizes.columns;
            length = lengthsGlobal.GetValue(rest % sizes.batch);
        } else {
            step = sizes.middle * sizes.batch * sizes.columns;
            start = rest / sizes.middle * sizes.time * step + sequence % (sizes.middle * sizes.batch) * sizes.columns;
            length = lengthsGlobal.GetValue(inner);
        }
    }

    __aicore__ inline void Move(uint64_t row, uint32_t rows, uint64_t column, uint32_t columns) {
        const uint64_t begin = start + column;
        const uint32_t bytes = columns * BYTES, gap = (step - columns) * BYTES;
        LocalTensor<uint8_t> x = queue.template AllocTensor<uint8_t>();
        DataCopyPad(x, xGlobal[(begin + row * step) * BYTES], DataCopyExtParams(rows, bytes, gap, 0, 0),
                    DataCopyPadExtParams<uint8_t>());
        queue.EnQue(x);
        x = queue.template DeQue<uint8_t>();
        const uint32_t height = (bytes + BLOCK - 1) / BLOCK * BLOCK;  // bytes from row to row
        const uint32_t reversed = length <= row ? 0 : length - row < rows ? length - row : rows;
        for (uint32_t i = 0; i < reversed; ++i) {
            const uint64_t target = length - 1 - (row + i);
            DataCopyPad(yGlobal[(begin + target * step) * BYTES], x[i * height], DataCopyExtParams(1, bytes, 0, 0, 0));
        }
        if (reversed < rows) {
            DataCopyPad(yGlobal[(begin + (row + reversed) * step) * BYTES], x[reversed * height],
                        DataCopyExtParams(rows - reversed, bytes, 0, gap, 0));
        }
        queue.FreeTensor(x);
    }

    static constexpr uint32_t BLOCK = 32;
    const ReverseSequenceTilingData& sizes;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    GlobalTensor<uint8_t> xGlobal, yGlobal;
    GlobalTensor<L> lengthsGlobal;
    uint64_t start = 0, step = 0, length = 0;
    uint32_t pitch = 0;
};

// complex64 has no name among the types of a kernel.
#if ORIG_DTYPE_X == DT_COMPLEX64
constexpr uint32_t ELEMENT_BYTES = 8;
#else
constexpr uint32_t ELEMENT_BYTES = sizeof(DTYPE_X);
#endif

extern "C" __global__ __aicore__ void reverse_sequence(GM_ADDR x, GM_ADDR seqLengths, GM_ADDR y, GM_ADDR workspace,
                                                       GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelReverseSequence<ELEMENT_BYTES, DTYPE_SEQ_LENGTHS> op(sizes);
    op.Init(&pipe, x, seqLengths, y);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
