// Gelu, tanh form: y = x / (1 + exp(-sqrt(8 / pi) * (x + 0.044715 * x^3))).
//
// Every core takes one contiguous share of the tensor and walks through it in tiles. Shares begin at multiples of 512
// bytes, the granule in which global memory is served; only the last share and the last tile of a share are shorter.
// Two buffers per queue let the copies of one tile run beside the computation of another.
// The arithmetic is in float for every element type; the halves are widened first and rounded once at the end.
using namespace AscendC;

constexpr uint32_t TOTAL = task_case::X_SIZE;
constexpr uint32_t BYTES = sizeof(DTYPE_X);
constexpr uint32_t GRANULE = 512 / BYTES;
constexpr uint32_t TILE = 16384 / BYTES;

class GeluKernel {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y) {
        const uint32_t stripe = GetBlockNum() * GRANULE;  // one granule for every core
        const uint32_t share = (TOTAL + stripe - 1) / stripe * GRANULE;
        const uint32_t begin = GetBlockIdx() * share;
        if (begin < TOTAL) {
            count = TOTAL - begin < share ? TOTAL - begin : share;
        }
        xGlobal.SetGlobalBuffer((__gm__ DTYPE_X*)x + begin, count);
        yGlobal.SetGlobalBuffer((__gm__ DTYPE_Y*)y + begin, count);
        pipe->InitBuffer(xQueue, 2, TILE * BYTES);
        pipe->InitBuffer(yQueue, 2, TILE * BYTES);
#if !X_IS_FLOAT32
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
        pipe->InitBuffer(resultBuffer, TILE * sizeof(float));
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
#if X_IS_FLOAT32
        Activate(y, x, length);
#else
        LocalTensor<float> wide = wideBuffer.Get<float>();
        LocalTensor<float> result = resultBuffer.Get<float>();
        Cast(wide, x, RoundMode::CAST_NONE, length);
        Activate(result, wide, length);
        Cast(y, result, RoundMode::CAST_RINT, length);
#endif
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
    }

    // The exponent is x * (LINEAR + CUBIC * x^2). Where exp overflows, the quotient is the zero that the activation
    // tends to.
    __aicore__ inline void Activate(const LocalTensor<float>& y, const LocalTensor<float>& x, uint32_t length) {
        constexpr float LINEAR = -1.5957691216057308f;  // -sqrt(8 / pi)
        constexpr float CUBIC = LINEAR * 0.044715f;
        Mul(y, x, x, length);
        Muls(y, y, CUBIC, length);
        Adds(y, y, LINEAR, length);
        Mul(y, y, x, length);
        Exp(y, y, length);
        Adds(y, y, 1.0f, length);
        Div(y, x, y, length);
    }

    __aicore__ inline void CopyOut(uint32_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<DTYPE_Y> y = yQueue.DeQue<DTYPE_Y>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
#if !X_IS_FLOAT32
    TBuf<TPosition::VECCALC> wideBuffer, resultBuffer;
#endif
    GlobalTensor<DTYPE_X> xGlobal;
    GlobalTensor<DTYPE_Y> yGlobal;
    uint32_t count = 0;
};

extern "C" __global__ __aicore__ void gelu(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    GeluKernel op;
    op.Init(&pipe, x, y);
    op.Process();
}
