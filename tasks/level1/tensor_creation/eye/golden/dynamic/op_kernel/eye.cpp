// Eye: a batch of matrices with ones where row and column agree and zeros elsewhere.
//
// The batch is one flat tensor, in which the ones of a matrix lie columns + 1 apart. Every core takes one contiguous
// share and walks through it in tiles: the vector unit writes zeros, the scalar unit the few ones. Two buffers let the
// copy of one tile run beside the making of another.
#include "kernel_operator.h"

using namespace AscendC;

template <typename T>
class KernelEye {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR y, const EyeTilingData& sizes) {
        begin = GetBlockIdx() * sizes.share;
        if (begin < sizes.total) {
            count = sizes.total - begin < sizes.share ? sizes.total - begin : sizes.share;
        }
        tile = sizes.tile;
        rows = sizes.rows;
        columns = sizes.columns;
        ones = rows < columns ? rows : columns;
        yGlobal.SetGlobalBuffer((__gm__ T*)y + begin, count);
        pipe->InitBuffer(yQueue, 2, tile * sizeof(T));
    }

    __aicore__ inline void Process() {
        for (uint64_t offset = 0; offset < count; offset += tile) {
            const uint32_t length = count - offset < tile ? count - offset : tile;
            Compute(begin + offset, length);
            CopyOut(offset, length);
        }
    }

  private:
    __aicore__ inline void Compute(uint64_t from, uint32_t length) {
        LocalTensor<T> y = yQueue.template AllocTensor<T>();
        Duplicate(y, static_cast<T>(0), length);
        const event_t zeroed = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
        SetFlag<HardEvent::V_S>(zeroed);
        WaitFlag<HardEvent::V_S>(zeroed);
        uint64_t matrix = from / (rows * columns);
        const uint64_t inside = from - matrix * rows * columns;
        uint64_t number = (inside + columns) / (columns + 1);  // of the first one that is not before this tile
        for (;;) {
            if (number >= ones) {
                number = 0;
                ++matrix;
            }
            const uint64_t position = matrix * rows * columns + number * (columns + 1);
            if (position >= from + length) {
                break;
            }
            y.SetValue(position - from, static_cast<T>(1));
            ++number;
        }
        const event_t written = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::S_MTE3));
        SetFlag<HardEvent::S_MTE3>(written);
        WaitFlag<HardEvent::S_MTE3>(written);
        yQueue.EnQue(y);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        LocalTensor<T> y = yQueue.template DeQue<T>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    TQue<TPosition::VECOUT, 1> yQueue;
    GlobalTensor<T> yGlobal;
    uint64_t begin = 0;
    uint64_t count = 0;
    uint64_t rows = 0;
    uint64_t columns = 0;
    uint64_t ones = 0;  // of a matrix
    uint32_t tile = 0;
};

extern "C" __global__ __aicore__ void eye(GM_ADDR y, GM_ADDR yRef, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelEye<DTYPE_Y> op;
    op.Init(&pipe, yRef, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
