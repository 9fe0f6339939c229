// Ccopy: y[i * incy] = x[i * incx] for complex numbers, each a pair of floats; zero between them.
//
// Vectors without strides are copied as they are (tiling key 0). Otherwise every element of a tile lies in a block of
// 32 bytes of its own, from which it goes to its place (tiling key 1); a core fills the gaps of its share of y
// beforehand.
#include "kernel_operator.h"

using namespace AscendC;

template <bool STRIDED>
class KernelCcopy {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, const CcopyTilingData& sizes) {
        const uint64_t begin = GetBlockIdx() * sizes.share;
        if (begin >= sizes.total) {
            return;
        }
        const bool isLast = sizes.total - begin <= sizes.share;
        count = isLast ? sizes.total - begin : sizes.share;
        strideX = sizes.strideX;
        strideY = sizes.strideY;
        const uint64_t extentY = isLast ? (count - 1) * strideY + 1 : count * strideY;
        xGlobal.SetGlobalBuffer((__gm__ float*)x + begin * strideX * PAIR, ((count - 1) * strideX + 1) * PAIR);
        yGlobal.SetGlobalBuffer((__gm__ float*)y + begin * strideY * PAIR, extentY * PAIR);
        pipe->InitBuffer(tileQueue, 2, TILE_BYTES);
        if (strideY > 1) {
            FillGaps(pipe, extentY * PAIR);
        }
    }

    __aicore__ inline void Process() {
        for (uint64_t offset = 0; offset < count; offset += TILE) {
            const uint32_t length = count - offset < TILE ? count - offset : TILE;
            CopyIn(offset, length);
            CopyOut(offset, length);
        }
    }

  private:
    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length) {
        LocalTensor<float> x = tileQueue.AllocTensor<float>();
        const GlobalTensor<float> from = xGlobal[offset * strideX * PAIR];
        if constexpr (STRIDED) {
            const DataCopyExtParams apart(length, PAIR_BYTES, (strideX - 1) * PAIR_BYTES, 0, 0);
            DataCopyPad(x, from, apart, DataCopyPadExtParams<float>());
        } else {
            const DataCopyExtParams dense(1, length * PAIR_BYTES, 0, 0, 0);
            DataCopyPad(x, from, dense, DataCopyPadExtParams<float>());
        }
        tileQueue.EnQue(x);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        LocalTensor<float> y = tileQueue.DeQue<float>();
        const GlobalTensor<float> to = yGlobal[offset * strideY * PAIR];
        if constexpr (STRIDED) {
            const DataCopyExtParams apart(length, PAIR_BYTES, 0, (strideY - 1) * PAIR_BYTES, 0);
            DataCopyPad(to, y, apart);
        } else {
            const DataCopyExtParams dense(1, length * PAIR_BYTES, 0, 0, 0);
            DataCopyPad(to, y, dense);
        }
        tileQueue.FreeTensor(y);
    }

    // Zeros for all of the share, before the first element is written over them.
    __aicore__ inline void FillGaps(TPipe* pipe, uint64_t floats) {
        TQue<TPosition::VECOUT, 1> zeroQueue;
        pipe->InitBuffer(zeroQueue, 1, ZEROS * sizeof(float));
        LocalTensor<float> zeros = zeroQueue.AllocTensor<float>();
        Duplicate(zeros, 0.0f, ZEROS);
        zeroQueue.EnQue(zeros);
        zeros = zeroQueue.DeQue<float>();
        for (uint64_t offset = 0; offset < floats; offset += ZEROS) {
            const uint32_t length = floats - offset < ZEROS ? floats - offset : ZEROS;
            const DataCopyExtParams dense(1, length * sizeof(float), 0, 0, 0);
            DataCopyPad(yGlobal[offset], zeros, dense);
        }
        zeroQueue.FreeTensor(zeros);
        PipeBarrier<PIPE_MTE3>();
    }

    static constexpr uint32_t PAIR = 2, PAIR_BYTES = PAIR * sizeof(float);
    static constexpr uint32_t TILE_BYTES = 65536;
    static constexpr uint32_t TILE = STRIDED ? TILE_BYTES / 32 : TILE_BYTES / PAIR_BYTES;  // elements
    static constexpr uint32_t ZEROS = 8192;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> tileQueue;
    GlobalTensor<float> xGlobal, yGlobal;
    uint64_t count = 0;
    uint64_t strideX = 1, strideY = 1;
};

template <bool STRIDED>
__aicore__ inline void Run(GM_ADDR x, GM_ADDR y, const CcopyTilingData& sizes) {
    TPipe pipe;
    KernelCcopy<STRIDED> op;
    op.Init(&pipe, x, y, sizes);
    op.Process();
}

extern "C" __global__ __aicore__ void ccopy(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    if (TILING_KEY_IS(0)) {
        Run<false>(x, y, sizes);
    } else if (TILING_KEY_IS(1)) {
        Run<true>(x, y, sizes);
    }
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
