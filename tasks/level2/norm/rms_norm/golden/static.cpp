// RmsNorm: rstd = 1 / sqrt(mean(x^2) + epsilon) over the last axis, y = x * rstd * gamma.
//
// Every core takes a contiguous share of the rows and works on as many whole rows at a time as fit a tile. DataCopyPad
// lays rows of any length at a pitch of whole 32-byte blocks. Two buffers per queue let the copies of one tile run
// beside the computation of another. Sums and products are in float for every element type.
using namespace AscendC;

__aicore__ inline constexpr uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

constexpr uint32_t COLUMNS = task_case::GAMMA_SIZE;
constexpr uint32_t ROWS = task_case::X_SIZE / COLUMNS;
constexpr uint32_t BYTES = sizeof(DTYPE_X);
constexpr uint32_t BLOCK = 32 / BYTES;
constexpr uint32_t TILE = 16384 / BYTES;
constexpr uint32_t PITCH = CeilDiv(COLUMNS, BLOCK) * BLOCK;
constexpr uint32_t MAX_REPEATS = 248;  // of an instruction: at most 255, here also a multiple of 8 for Brcb
constexpr uint32_t TILE_ROWS = TILE / PITCH < MAX_REPEATS ? TILE / PITCH : MAX_REPEATS;
constexpr uint32_t REPEAT = 64;  // floats an instruction works on at a time, eight blocks of eight

static_assert(0 < TILE_ROWS && PITCH / REPEAT <= MAX_REPEATS, "a row does not fit a tile");

class RmsNorm {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR gamma, GM_ADDR y, GM_ADDR rstd) {
        const uint32_t share = CeilDiv(ROWS, GetBlockNum());
        const uint32_t begin = GetBlockIdx() * share;
        if (begin < ROWS) {
            count = ROWS - begin < share ? ROWS - begin : share;
        }
        xGlobal.SetGlobalBuffer((__gm__ DTYPE_X*)x + begin * COLUMNS, count * COLUMNS);
        yGlobal.SetGlobalBuffer((__gm__ DTYPE_Y*)y + begin * COLUMNS, count * COLUMNS);
        rstdGlobal.SetGlobalBuffer((__gm__ float*)rstd + begin, count);
        gammaGlobal.SetGlobalBuffer((__gm__ DTYPE_GAMMA*)gamma, COLUMNS);
        pipe->InitBuffer(xQueue, 2, TILE * BYTES);
        pipe->InitBuffer(yQueue, 2, TILE * BYTES);
        pipe->InitBuffer(rstdQueue, 2, TILE_ROWS * sizeof(float));
        pipe->InitBuffer(gammaQueue, 1, COLUMNS * sizeof(DTYPE_GAMMA));
        pipe->InitBuffer(gammaBuffer, COLUMNS * sizeof(float));
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
        pipe->InitBuffer(squareBuffer, TILE * sizeof(float));
        pipe->InitBuffer(sumsBuffer, TILE / 8 * sizeof(float));
        pipe->InitBuffer(blocksBuffer, CeilDiv(TILE_ROWS, 8) * 256);
    }

    __aicore__ inline void Process() {
        if (count == 0) {
            return;
        }
        LoadGamma();
        for (uint32_t row = 0; row < count; row += TILE_ROWS) {
            const uint32_t rows = count - row < TILE_ROWS ? count - row : TILE_ROWS;
            CopyIn(row, rows);
            Compute(rows);
            CopyOut(row, rows);
        }
    }

  private:
    __aicore__ inline void LoadGamma() {
        const DataCopyExtParams copy{1, COLUMNS * static_cast<uint32_t>(sizeof(DTYPE_GAMMA)), 0, 0, 0};
        LocalTensor<DTYPE_GAMMA> gamma = gammaQueue.AllocTensor<DTYPE_GAMMA>();
        DataCopyPad(gamma, gammaGlobal, copy, DataCopyPadExtParams<DTYPE_GAMMA>());
        gammaQueue.EnQue(gamma);
        gamma = gammaQueue.DeQue<DTYPE_GAMMA>();
#if GAMMA_IS_FLOAT32
        Adds(gammaBuffer.Get<float>(), gamma, 0.0f, COLUMNS);
#else
        Cast(gammaBuffer.Get<float>(), gamma, RoundMode::CAST_NONE, COLUMNS);
#endif
        gammaQueue.FreeTensor(gamma);
    }

    __aicore__ inline void CopyIn(uint32_t row, uint32_t rows) {
        const DataCopyExtParams copy{static_cast<uint16_t>(rows), COLUMNS * BYTES, 0, 0, 0};
        LocalTensor<DTYPE_X> x = xQueue.AllocTensor<DTYPE_X>();
        DataCopyPad(x, xGlobal[row * COLUMNS], copy, DataCopyPadExtParams<DTYPE_X>());
        xQueue.EnQue(x);
    }

    __aicore__ inline void Compute(uint32_t rows) {
        LocalTensor<DTYPE_X> x = xQueue.DeQue<DTYPE_X>();
        LocalTensor<DTYPE_Y> y = yQueue.AllocTensor<DTYPE_Y>();
        LocalTensor<float> rstd = rstdQueue.AllocTensor<float>();
#if X_IS_FLOAT32
        Reduce(rstd, x, rows);
        Scale(y, x, rstd, rows);
#else
        LocalTensor<float> wide = wideBuffer.Get<float>();
        Cast(wide, x, RoundMode::CAST_NONE, rows * PITCH);
        Reduce(rstd, wide, rows);
        Scale(wide, wide, rstd, rows);
        Cast(y, wide, RoundMode::CAST_RINT, rows * PITCH);
#endif
        yQueue.EnQue(y);
        rstdQueue.EnQue(rstd);
        xQueue.FreeTensor(x);
    }

    // rstd of every row. By division: Rsqrt and Reciprocal are approximations on the device.
    __aicore__ inline void Reduce(const LocalTensor<float>& rstd, const LocalTensor<float>& x, uint32_t rows) {
        LocalTensor<float> square = squareBuffer.Get<float>();
        Mul(square, x, x, rows * PITCH);
        SumRows(rstd, square, rows);
        Muls(rstd, rstd, 1.0f / COLUMNS, rows);
        Adds(rstd, rstd, task_case::EPSILON, rows);
        Sqrt(rstd, rstd, rows);
        Duplicate(square, 1.0f, rows);
        Div(rstd, square, rstd, rows);
    }

    // Short rows: one repeat sums one row. Long ones that consist of whole repeats are first cut to an eighth, all rows
    // at once. What is still long is summed row by row.
    __aicore__ inline void SumRows(const LocalTensor<float>& sum, const LocalTensor<float>& x, uint32_t rows) {
        LocalTensor<float> sums = sumsBuffer.Get<float>();
        constexpr uint32_t EIGHTH = COLUMNS / 8;
        if constexpr (COLUMNS <= REPEAT) {
            WholeReduceSum(sum, x, COLUMNS, rows, 1, 1, PITCH / 8);
        } else if constexpr (COLUMNS % REPEAT == 0) {
            BlockReduceSum(sums, x, rows * COLUMNS / REPEAT, REPEAT, 1, 1, 8);
            if constexpr (EIGHTH <= REPEAT) {
                WholeReduceSum(sum, sums, EIGHTH, rows, 1, 1, EIGHTH / 8);
            } else {
                for (uint32_t r = 0; r < rows; ++r) {
                    ReduceSum(sum[r], sums[r * EIGHTH], x, EIGHTH);  // x is scratch by now
                }
            }
        } else {
            for (uint32_t r = 0; r < rows; ++r) {
                ReduceSum(sum[r], x[r * PITCH], sums, COLUMNS);
            }
        }
    }

    // y = x * rstd * gamma. Brcb spreads the rstd of each row over a block of 32 bytes, which Mul then reads eight
    // times per repeat. Repeats run down the rows while a row is at most 255 blocks, the limit of a stride, else along.
    __aicore__ inline void Scale(const LocalTensor<float>& y, const LocalTensor<float>& x,
                                 const LocalTensor<float>& rstd, uint32_t rows) {
        LocalTensor<float> blocks = blocksBuffer.Get<float>();
        LocalTensor<float> gamma = gammaBuffer.Get<float>();
        Brcb(blocks, rstd, CeilDiv(rows, 8), BrcbRepeatParams(1, 8));
        if constexpr (PITCH / 8 <= 255) {
            constexpr uint8_t STRIDE = PITCH / 8;
            for (uint32_t column = 0; column < COLUMNS; column += REPEAT) {
                const uint32_t lanes = COLUMNS - column < REPEAT ? COLUMNS - column : REPEAT;
                Mul(y[column], x[column], blocks, lanes, rows, BinaryRepeatParams(1, 1, 0, STRIDE, STRIDE, 1));
                Mul(y[column], y[column], gamma[column], lanes, rows, BinaryRepeatParams(1, 1, 1, STRIDE, STRIDE, 0));
            }
        } else {
            constexpr uint32_t WHOLE = COLUMNS / REPEAT * REPEAT;
            const BinaryRepeatParams along(1, 1, 0, 8, 8, 0);
            for (uint32_t row = 0; row < rows; ++row) {
                const uint32_t begin = row * PITCH;
                Mul(y[begin], x[begin], blocks[row * 8], REPEAT, COLUMNS / REPEAT, along);
                if constexpr (WHOLE < COLUMNS) {
                    Mul(y[begin + WHOLE], x[begin + WHOLE], blocks[row * 8], COLUMNS - WHOLE, 1, along);
                }
                Mul(y[begin], y[begin], gamma, COLUMNS);
            }
        }
    }

    __aicore__ inline void CopyOut(uint32_t row, uint32_t rows) {
        const DataCopyExtParams copyRows{static_cast<uint16_t>(rows), COLUMNS * BYTES, 0, 0, 0};
        const DataCopyExtParams copyRstd{1, rows * static_cast<uint32_t>(sizeof(float)), 0, 0, 0};
        LocalTensor<DTYPE_Y> y = yQueue.DeQue<DTYPE_Y>();
        LocalTensor<float> rstd = rstdQueue.DeQue<float>();
        DataCopyPad(yGlobal[row * COLUMNS], y, copyRows);
        DataCopyPad(rstdGlobal[row], rstd, copyRstd);
        yQueue.FreeTensor(y);
        rstdQueue.FreeTensor(rstd);
    }

    TQue<TPosition::VECIN, 1> xQueue, gammaQueue;
    TQue<TPosition::VECOUT, 1> yQueue, rstdQueue;
    TBuf<TPosition::VECCALC> gammaBuffer, wideBuffer, squareBuffer, sumsBuffer, blocksBuffer;
    GlobalTensor<DTYPE_X> xGlobal;
    GlobalTensor<DTYPE_GAMMA> gammaGlobal;
    GlobalTensor<DTYPE_Y> yGlobal;
    GlobalTensor<float> rstdGlobal;
    uint32_t count = 0;  // rows
};

extern "C" __global__ __aicore__ void rms_norm(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, GM_ADDR rstd, GM_ADDR workspace) {
    TPipe pipe;
    RmsNorm op;
    op.Init(&pipe, x, gamma, y, rstd);
    op.Process();
}
