// Muls: y = x * value, the scalar read from global memory.
//
// Every core takes one contiguous share of the tensor and walks through it in tiles. Shares begin at multiples of 512
// bytes, the granule in which global memory is served; only the last share and the last tile of a share are shorter.
// Two buffers per queue let the copies of one tile run beside the computation of another.
//
// A complex tensor is twice as many floats. bfloat16 and int64 have no vector arithmetic, and half would round the
// scalar: these are multiplied in float, where the products of the task's integers are exact.
using namespace AscendC;

#if X_IS_FLOAT16 || X_IS_BFLOAT16
#define THROUGH_FLOAT 1
constexpr RoundMode WIDEN = RoundMode::CAST_NONE;
#elif X_IS_INT64
#define THROUGH_FLOAT 1
constexpr RoundMode WIDEN = RoundMode::CAST_RINT;
#endif

#if X_IS_COMPLEX64
constexpr uint32_t TOTAL = task_case::X_SIZE * 2;
#else
constexpr uint32_t TOTAL = task_case::X_SIZE;
#endif
constexpr uint32_t BYTES = sizeof(DTYPE_X);
constexpr uint32_t GRANULE = 512 / BYTES;
constexpr uint32_t TILE = 16384 / BYTES;

class MulsKernel {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR value, GM_ADDR y) {
        const uint32_t stripe = GetBlockNum() * GRANULE;  // one granule for every core
        const uint32_t share = (TOTAL + stripe - 1) / stripe * GRANULE;
        const uint32_t begin = GetBlockIdx() * share;
        if (begin < TOTAL) {
            count = TOTAL - begin < share ? TOTAL - begin : share;
        }
        xGlobal.SetGlobalBuffer((__gm__ DTYPE_X*)x + begin, count);
        yGlobal.SetGlobalBuffer((__gm__ DTYPE_Y*)y + begin, count);
        GlobalTensor<float> valueGlobal;
        valueGlobal.SetGlobalBuffer((__gm__ float*)value, 1);
        factor = valueGlobal.GetValue(0);
        pipe->InitBuffer(xQueue, 2, TILE * BYTES);
        pipe->InitBuffer(yQueue, 2, TILE * BYTES);
#if THROUGH_FLOAT
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
#endif
    }

    __aicore__ inline void Process() {
        for (uint32_t offset = 0; offset < count; offset += TILE) {
            const uint32_t length = count - offset < TILE ? count - offset : TILE;
            CopyIn(offset, length);
            Compute(length);
            CopyOut(offset, length);
        }
    }

  private:
    __aicore__ inline void CopyIn(uint32_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<DTYPE_X> x = xQueue.AllocTensor<DTYPE_X>();
        DataCopyPad(x, xGlobal[offset], copy, DataCopyPadExtParams<DTYPE_X>());
        xQueue.EnQue(x);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<DTYPE_X> x = xQueue.DeQue<DTYPE_X>();
        LocalTensor<DTYPE_Y> y = yQueue.AllocTensor<DTYPE_Y>();
#if THROUGH_FLOAT
        LocalTensor<float> wide = wideBuffer.Get<float>();
        Cast(wide, x, WIDEN, length);
        Muls(wide, wide, factor, length);
        Cast(y, wide, RoundMode::CAST_RINT, length);
#else
        Muls(y, x, static_cast<DTYPE_X>(factor), length);
#endif
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
    }

    __aicore__ inline void CopyOut(uint32_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<DTYPE_Y> y = yQueue.DeQue<DTYPE_Y>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
#if THROUGH_FLOAT
    TBuf<TPosition::VECCALC> wideBuffer;
#endif
    GlobalTensor<DTYPE_X> xGlobal;
    GlobalTensor<DTYPE_Y> yGlobal;
    float factor = 0;
    uint32_t count = 0;
};

extern "C" __global__ __aicore__ void muls(GM_ADDR x, GM_ADDR value, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    MulsKernel op;
    op.Init(&pipe, x, value, y);
    op.Process();
}
