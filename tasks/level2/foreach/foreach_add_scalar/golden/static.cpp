// ForeachAddScalar: y[k] = x[k] + scalar for every tensor k of a list.
//
// Every tensor is cut into shares of whole 512-byte granules, the unit in which global memory is served, one share for
// each core at most; a core walks through its share in tiles. A short tensor has fewer shares than there are cores: the
// next tensor begins with the core after the last one served. Two buffers per queue let copies run beside computation.
// The vector unit has no bfloat16 arithmetic: such tensors are widened to float, and rounded once at the end.
using namespace AscendC;

constexpr uint32_t COUNT = task_case::X_COUNT;
constexpr uint32_t BYTES = sizeof(DTYPE_X);
constexpr uint32_t GRANULE = 512 / BYTES;
constexpr uint32_t TILE = 16384 / BYTES;

class ForeachAddScalar {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR scalar, GM_ADDR y) {
        xList = x;
        yList = y;
        GlobalTensor<DTYPE_SCALAR> scalarGlobal;
        scalarGlobal.SetGlobalBuffer((__gm__ DTYPE_SCALAR*)scalar, 1);
        addend = scalarGlobal.GetValue(0);
        pipe->InitBuffer(xQueue, 2, TILE * BYTES);
        pipe->InitBuffer(yQueue, 2, TILE * BYTES);
#if X_IS_BFLOAT16
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
#endif
    }

    __aicore__ inline void Process() {
        const uint32_t cores = GetBlockNum();
        const uint32_t stripe = cores * GRANULE;
        uint32_t first = 0;  // the core that takes the tensor's first share
        for (uint32_t k = 0; k < COUNT; ++k) {
            const uint32_t total = task_case::X_SIZES[k];
            const uint32_t share = (total + stripe - 1) / stripe * GRANULE;
            const uint32_t begin = (GetBlockIdx() + cores - first) % cores * share;
            if (begin < total) {
                AddTo(k, begin, total - begin < share ? total - begin : share);
            }
            first = (first + (total + share - 1) / share) % cores;
        }
    }

  private:
    // The address of tensor k of a list: the list begins with the distance in bytes to its table of addresses.
    __aicore__ inline __gm__ DTYPE_X* Tensor(GM_ADDR list, uint32_t k) {
        __gm__ uint64_t* words = (__gm__ uint64_t*)list;
        return (__gm__ DTYPE_X*)words[words[0] / sizeof(uint64_t) + k];
    }

    __aicore__ inline void AddTo(uint32_t k, uint32_t begin, uint32_t count) {
        xGlobal.SetGlobalBuffer(Tensor(xList, k) + begin, count);
        yGlobal.SetGlobalBuffer(Tensor(yList, k) + begin, count);
        for (uint32_t offset = 0; offset < count; offset += TILE) {
            const uint32_t length = count - offset < TILE ? count - offset : TILE;
            CopyIn(offset, length);
            Compute(length);
            CopyOut(offset, length);
        }
    }

    __aicore__ inline void CopyIn(uint32_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<DTYPE_X> x = xQueue.AllocTensor<DTYPE_X>();
        DataCopyPad(x, xGlobal[offset], copy, DataCopyPadExtParams<DTYPE_X>());
        xQueue.EnQue(x);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<DTYPE_X> x = xQueue.DeQue<DTYPE_X>();
        LocalTensor<DTYPE_X> y = yQueue.AllocTensor<DTYPE_X>();
#if X_IS_BFLOAT16
        LocalTensor<float> wide = wideBuffer.Get<float>();
        Cast(wide, x, RoundMode::CAST_NONE, length);
        Adds(wide, wide, addend, length);
        Cast(y, wide, RoundMode::CAST_RINT, length);
#else
        Adds(y, x, addend, length);
#endif
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
    }

    __aicore__ inline void CopyOut(uint32_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<DTYPE_X> y = yQueue.DeQue<DTYPE_X>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
#if X_IS_BFLOAT16
    TBuf<TPosition::VECCALC> wideBuffer;
#endif
    GM_ADDR xList = nullptr;
    GM_ADDR yList = nullptr;
    GlobalTensor<DTYPE_X> xGlobal, yGlobal;
    DTYPE_SCALAR addend{};
};

extern "C" __global__ __aicore__ void foreach_add_scalar(GM_ADDR x, GM_ADDR scalar, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    ForeachAddScalar op;
    op.Init(&pipe, x, scalar, y);
    op.Process();
}
