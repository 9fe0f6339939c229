// MseLoss: d = (predict - label)^2, as it is, or its mean or sum as one element. The arithmetic is in float throughout.
//
// Every core takes one contiguous share of the tensors and walks through it in tiles. Shares begin at multiples of 512
// bytes, the granule in which global memory is served; only the last share and the last tile of a share are shorter.
// Two buffers per queue let the copies of one tile run beside the computation of another.
//
// For mean and sum a core adds its tiles up lane by lane and reduces the lanes at the end. The cores' sums reach core 0
// through the workspace, one block of 32 bytes each. A tensor of few tiles is left to core 0: waiting for each other
// would cost more than the others save.
using namespace AscendC;

#if REDUCTION_MEAN
constexpr float FACTOR = 1.0f / task_case::PREDICT_SIZE;
#else
constexpr float FACTOR = 1.0f;
#endif

constexpr uint32_t TOTAL = task_case::PREDICT_SIZE;
constexpr uint32_t BYTES = sizeof(DTYPE_PREDICT);
constexpr uint32_t GRANULE = 512 / BYTES;
constexpr uint32_t TILE = 16384 / BYTES;
constexpr uint32_t BLOCK = 32 / sizeof(float);
constexpr bool ALONE = TOTAL <= 4 * TILE;

class MseLoss {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR predict, GM_ADDR label, GM_ADDR y, GM_ADDR workspace) {
#if REDUCTION_NONE
        const uint32_t cores = GetBlockNum();
#else
        const uint32_t cores = ALONE ? 1 : GetBlockNum();
#endif
        const uint32_t stripe = cores * GRANULE;  // one granule for every core
        const uint32_t share = (TOTAL + stripe - 1) / stripe * GRANULE;
        const uint32_t begin = GetBlockIdx() * share;
        if (begin < TOTAL) {
            count = TOTAL - begin < share ? TOTAL - begin : share;
        }
        predictGlobal.SetGlobalBuffer((__gm__ DTYPE_PREDICT*)predict + begin, count);
        labelGlobal.SetGlobalBuffer((__gm__ DTYPE_LABEL*)label + begin, count);
        pipe->InitBuffer(predictQueue, 2, TILE * BYTES);
        pipe->InitBuffer(bankOffset, 256);
        pipe->InitBuffer(labelQueue, 2, TILE * BYTES);
        pipe->InitBuffer(differenceBuffer, TILE * sizeof(float));
#if PREDICT_IS_FLOAT16
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
#endif
#if REDUCTION_NONE
        yGlobal.SetGlobalBuffer((__gm__ DTYPE_Y*)y + begin, count);
        pipe->InitBuffer(yQueue, 2, TILE * BYTES);
#else
        yGlobal.SetGlobalBuffer((__gm__ DTYPE_Y*)y, 1);
        sumsGlobal.SetGlobalBuffer((__gm__ float*)workspace, cores * BLOCK);
        pipe->InitBuffer(yQueue, 1, BYTES);
        pipe->InitBuffer(sumQueue, 1, BLOCK * sizeof(float));
        pipe->InitBuffer(sumsQueue, 1, cores * BLOCK * sizeof(float));
        pipe->InitBuffer(totalBuffer, BLOCK * sizeof(float));
        pipe->InitBuffer(eighthBuffer, TILE / 8 * sizeof(float));
        pipe->InitBuffer(lanesBuffer, TILE * sizeof(float));
        Duplicate(lanesBuffer.Get<float>(), 0.0f, TILE);
#endif
    }

    __aicore__ inline void Process() {
        for (uint32_t offset = 0; offset < count; offset += TILE) {
            const uint32_t length = count - offset < TILE ? count - offset : TILE;
            CopyIn(offset, length);
            Compute(length);
#if REDUCTION_NONE
            CopyOut(offset, length);
#endif
        }
#if !REDUCTION_NONE
        Reduce();
#endif
    }

  private:
    __aicore__ inline void CopyIn(uint32_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<DTYPE_PREDICT> predict = predictQueue.AllocTensor<DTYPE_PREDICT>();
        LocalTensor<DTYPE_LABEL> label = labelQueue.AllocTensor<DTYPE_LABEL>();
        DataCopyPad(predict, predictGlobal[offset], copy, DataCopyPadExtParams<DTYPE_PREDICT>());
        DataCopyPad(label, labelGlobal[offset], copy, DataCopyPadExtParams<DTYPE_LABEL>());
        predictQueue.EnQue(predict);
        labelQueue.EnQue(label);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<DTYPE_PREDICT> predict = predictQueue.DeQue<DTYPE_PREDICT>();
        LocalTensor<DTYPE_LABEL> label = labelQueue.DeQue<DTYPE_LABEL>();
        LocalTensor<float> difference = differenceBuffer.Get<float>();
#if PREDICT_IS_FLOAT16
        LocalTensor<float> wide = wideBuffer.Get<float>();
        Cast(difference, predict, RoundMode::CAST_NONE, length);
        Cast(wide, label, RoundMode::CAST_NONE, length);
        Sub(difference, difference, wide, length);
#else
        Sub(difference, predict, label, length);
#endif
        predictQueue.FreeTensor(predict);
        labelQueue.FreeTensor(label);
#if REDUCTION_NONE
        LocalTensor<DTYPE_Y> y = yQueue.AllocTensor<DTYPE_Y>();
#if PREDICT_IS_FLOAT16
        Mul(difference, difference, difference, length);
        Cast(y, difference, RoundMode::CAST_RINT, length);
#else
        Mul(y, difference, difference, length);
#endif
        yQueue.EnQue(y);
#else
        MulAddDst(lanesBuffer.Get<float>(), difference, difference, length);
#endif
    }

#if REDUCTION_NONE
    __aicore__ inline void CopyOut(uint32_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * BYTES, 0, 0, 0};
        LocalTensor<DTYPE_Y> y = yQueue.DeQue<DTYPE_Y>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }
#else
    __aicore__ inline void Reduce() {
        LocalTensor<float> total = totalBuffer.Get<float>();
        LocalTensor<float> lanes = lanesBuffer.Get<float>();
        LocalTensor<float> eighth = eighthBuffer.Get<float>();
        Duplicate(total, 0.0f, BLOCK);
        BlockReduceSum(eighth, lanes, TILE / 64, 64, 1, 1, 8);
        ReduceSum(total, eighth, lanes, TILE / 8);
        if constexpr (!ALONE) {
            Publish(total);
            SyncAll();
        }
        if (GetBlockIdx() == 0) {
            if constexpr (!ALONE) {
                Collect(total);
            }
            Store(total);
        }
    }

    // One block of the workspace: the core's sum and seven zeros.
    __aicore__ inline void Publish(const LocalTensor<float>& total) {
        LocalTensor<float> sum = sumQueue.AllocTensor<float>();
        Adds(sum, total, 0.0f, BLOCK);
        sumQueue.EnQue(sum);
        sum = sumQueue.DeQue<float>();
        DataCopy(sumsGlobal[GetBlockIdx() * BLOCK], sum, BLOCK);
        sumQueue.FreeTensor(sum);
    }

    __aicore__ inline void Collect(const LocalTensor<float>& total) {
        const uint32_t length = GetBlockNum() * BLOCK;
        LocalTensor<float> sums = sumsQueue.AllocTensor<float>();
        DataCopy(sums, sumsGlobal, length);
        sumsQueue.EnQue(sums);
        sums = sumsQueue.DeQue<float>();
        ReduceSum(total, sums, lanesBuffer.Get<float>(), length);
        sumsQueue.FreeTensor(sums);
    }

    __aicore__ inline void Store(const LocalTensor<float>& total) {
        const DataCopyExtParams copy{1, BYTES, 0, 0, 0};
        LocalTensor<DTYPE_Y> y = yQueue.AllocTensor<DTYPE_Y>();
#if PREDICT_IS_FLOAT16
        Muls(total, total, FACTOR, 1);
        Cast(y, total, RoundMode::CAST_RINT, 1);
#else
        Muls(y, total, FACTOR, 1);
#endif
        yQueue.EnQue(y);
        y = yQueue.DeQue<DTYPE_Y>();
        DataCopyPad(yGlobal, y, copy);
        yQueue.FreeTensor(y);
    }

    TQue<TPosition::VECIN, 1> sumsQueue;
    TQue<TPosition::VECOUT, 1> sumQueue;
    TBuf<TPosition::VECCALC> lanesBuffer, eighthBuffer, totalBuffer;
    GlobalTensor<float> sumsGlobal;
#endif
    TQue<TPosition::VECIN, 1> predictQueue, labelQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> differenceBuffer;
#if PREDICT_IS_FLOAT16
    TBuf<TPosition::VECCALC> wideBuffer;
#endif
    TBuf<TPosition::VECCALC> bankOffset;  // predict and label in different halves of the banks: both are read at once
    GlobalTensor<DTYPE_PREDICT> predictGlobal;
    GlobalTensor<DTYPE_LABEL> labelGlobal;
    GlobalTensor<DTYPE_Y> yGlobal;
    uint32_t count = 0;
};

extern "C" __global__ __aicore__ void mse_loss(GM_ADDR predict, GM_ADDR label, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    MseLoss op;
    op.Init(&pipe, predict, label, y, workspace);
    op.Process();
}
