// ForeachAddScalar: y[k] = x[k] + scalar for every tensor k of a list.
//
// Every tensor is cut into shares of whole 512-byte granules, the unit in which global memory is served, one share for
// each core at most; a core walks through its share in tiles. A short tensor has fewer shares than there are cores: the
// next tensor begins with the core after the last one served. Two buffers per queue let copies run beside computation.
// The vector unit has no bfloat16 arithmetic: such tensors are widened to float, and rounded once at the end.
#include "kernel_operator.h"

using namespace AscendC;

template <typename T, typename S>
class KernelForeachAddScalar {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR scalar, GM_ADDR y, uint32_t tileElements) {
        xList = x;
        yList = y;
        tile = tileElements;
        GlobalTensor<S> scalarGlobal;
        scalarGlobal.SetGlobalBuffer((__gm__ S*)scalar, 1);
        addend = scalarGlobal.GetValue(0);
        pipe->InitBuffer(xQueue, 2, tile * BYTES);
        pipe->InitBuffer(yQueue, 2, tile * BYTES);
        if constexpr (IS_BFLOAT16) {
            pipe->InitBuffer(wideBuffer, tile * sizeof(float));
        }
    }

    __aicore__ inline void Process(const ForeachAddScalarTilingData& sizes) {
        const uint64_t cores = GetBlockNum();
        const uint64_t stripe = cores * GRANULE;
        uint64_t first = 0;  // the core that takes the tensor's first share
        for (uint32_t k = 0; k < sizes.count; ++k) {
            const uint64_t total = sizes.sizes[k];
            if (total == 0) {
                continue;
            }
            const uint64_t share = (total + stripe - 1) / stripe * GRANULE;
            const uint64_t begin = (GetBlockIdx() + cores - first) % cores * share;
            if (begin < total) {
                AddTo(k, begin, total - begin < share ? total - begin : share);
            }
            first = (first + (total + share - 1) / share) % cores;
        }
    }

  private:
    // The address of tensor k of a list: the list begins with the distance in bytes to its table of addresses.
    __aicore__ inline __gm__ T* Tensor(GM_ADDR list, uint32_t k) {
        __gm__ uint64_t* words = (__gm__ uint64_t*)list;
        return (__gm__ T*)words[words[0] / sizeof(uint64_t) + k];
    }

    __aicore__ inline void AddTo(uint32_t k, uint64_t begin, uint64_t count) {
        xGlobal.SetGlobalBuffer(Tensor(xList, k) + begin, count);
        yGlobal.SetGlobalBuffer(Tensor(yList, k) + begin, count);
        for (uint64_t offset = 0; offset < count; offset += tile) {
            const uint32_t length = count - offset < tile ? count - offset : tile;
            CopyIn(offset, length);
            Compute(length);
            CopyOut(offset, length);
        }
    }

    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<T> x = xQueue.AllocTensor<T>();
        DataCopyPad(x, xGlobal[offset], copy, DataCopyPadExtParams<T>());
        xQueue.EnQue(x);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<T> x = xQueue.DeQue<T>();
        LocalTensor<T> y = yQueue.AllocTensor<T>();
        if constexpr (IS_BFLOAT16) {
            LocalTensor<float> wide = wideBuffer.Get<float>();
            Cast(wide, x, RoundMode::CAST_NONE, length);
            Adds(wide, wide, addend, length);
            Cast(y, wide, RoundMode::CAST_RINT, length);
        } else {
            Adds(y, x, addend, length);
        }
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<T> y = yQueue.DeQue<T>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    static constexpr bool IS_BFLOAT16 = std::is_same<T, bfloat16_t>::value;
    static constexpr uint32_t BYTES = sizeof(T);
    static constexpr uint64_t GRANULE = 512 / BYTES;
    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> wideBuffer;
    GM_ADDR xList = nullptr;
    GM_ADDR yList = nullptr;
    GlobalTensor<T> xGlobal, yGlobal;
    S addend{};
    uint32_t tile = 0;
};

extern "C" __global__ __aicore__ void foreach_add_scalar(GM_ADDR x, GM_ADDR scalar, GM_ADDR y, GM_ADDR workspace,
                                                         GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelForeachAddScalar<DTYPE_X, DTYPE_SCALAR> op;
    op.Init(&pipe, x, scalar, y, sizes.tile);
    op.Process(sizes);
}
