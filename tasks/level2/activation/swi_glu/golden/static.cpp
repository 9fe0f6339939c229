// SwiGlu: y = a * sigmoid(a) * b, where a and b are the halves of x along one axis.
//
// Seen as rows, x is OUTER pairs of an a-row and a b-row of INNER elements, y is OUTER rows. A tile is a piece of one
// long row, or several whole short rows, which DataCopyPad gathers at the pitch of their length rounded up to 32 bytes.
// Tiles go to the cores in turn. Two buffers per queue let the copies of one tile run beside the computation of
// another.
//
// The arithmetic is in float for every element type; the halves are widened first and rounded once at the end.
using namespace AscendC;

__aicore__ inline constexpr uint32_t Product(int32_t first, int32_t last) {
    uint32_t product = 1;
    for (int32_t i = first; i < last; ++i) {
        product *= task_case::X_SHAPE[i];
    }
    return product;
}
__aicore__ inline constexpr uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

constexpr int32_t AXIS = task_case::DIM < 0 ? task_case::DIM + task_case::X_RANK : task_case::DIM;
constexpr uint32_t OUTER = Product(0, AXIS);
constexpr uint32_t INNER = Product(AXIS, task_case::X_RANK) / 2;

constexpr uint32_t BYTES = sizeof(DTYPE_X);
constexpr uint32_t BLOCK = 32 / BYTES;
constexpr uint32_t TILE = 16384 / BYTES;
constexpr uint32_t COLUMNS = INNER < TILE ? INNER : TILE;  // of a tile
constexpr uint32_t PITCH = CeilDiv(COLUMNS, BLOCK) * BLOCK;
constexpr uint32_t TILES_PER_ROW = CeilDiv(INNER, COLUMNS);

class SwiGlu {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y) {
        xGlobal.SetGlobalBuffer((__gm__ DTYPE_X*)x, task_case::X_SIZE);
        yGlobal.SetGlobalBuffer((__gm__ DTYPE_Y*)y, task_case::Y_SIZE);
        pipe->InitBuffer(aQueue, 2, TILE * BYTES);
        pipe->InitBuffer(bQueue, 2, TILE * BYTES);
        pipe->InitBuffer(yQueue, 2, TILE * BYTES);
        pipe->InitBuffer(sigmoidBuffer, TILE * sizeof(float));
#if !X_IS_FLOAT32
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
#endif
    }

    __aicore__ inline void Process() {
        const uint32_t cores = GetBlockNum();
        const uint32_t share = CeilDiv(OUTER, cores);
        const uint32_t rowsPerTile = CeilDiv(share, CeilDiv(share, TILE / PITCH));  // a share in tiles of equal height
        const uint32_t tiles = CeilDiv(OUTER, rowsPerTile) * TILES_PER_ROW;
        for (uint32_t tile = GetBlockIdx(); tile < tiles; tile += cores) {
            const uint32_t row = tile / TILES_PER_ROW * rowsPerTile;
            const uint32_t column = tile % TILES_PER_ROW * COLUMNS;
            const uint32_t rows = OUTER - row < rowsPerTile ? OUTER - row : rowsPerTile;
            const uint32_t columns = INNER - column < COLUMNS ? INNER - column : COLUMNS;
            CopyIn(row, column, rows, columns);
            Compute(rows * PITCH);
            CopyOut(row, column, rows, columns);
        }
    }

  private:
    __aicore__ inline void CopyIn(uint32_t row, uint32_t column, uint32_t rows, uint32_t columns) {
        const uint32_t gap = (2 * INNER - columns) * BYTES;
        const DataCopyExtParams copy{static_cast<uint16_t>(rows), columns * BYTES, gap, 0, 0};
        const uint32_t begin = row * 2 * INNER + column;
        LocalTensor<DTYPE_X> a = aQueue.AllocTensor<DTYPE_X>();
        LocalTensor<DTYPE_X> b = bQueue.AllocTensor<DTYPE_X>();
        DataCopyPad(a, xGlobal[begin], copy, DataCopyPadExtParams<DTYPE_X>());
        DataCopyPad(b, xGlobal[begin + INNER], copy, DataCopyPadExtParams<DTYPE_X>());
        aQueue.EnQue(a);
        bQueue.EnQue(b);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<DTYPE_X> a = aQueue.DeQue<DTYPE_X>();
        LocalTensor<DTYPE_X> b = bQueue.DeQue<DTYPE_X>();
        LocalTensor<DTYPE_Y> y = yQueue.AllocTensor<DTYPE_Y>();
        LocalTensor<float> result = sigmoidBuffer.Get<float>();
#if X_IS_FLOAT32
        Silu(result, a, length);
        Mul(y, result, b, length);
#else
        LocalTensor<float> wide = wideBuffer.Get<float>();
        Cast(wide, a, RoundMode::CAST_NONE, length);
        Silu(result, wide, length);
        Cast(wide, b, RoundMode::CAST_NONE, length);
        Mul(result, result, wide, length);
        Cast(y, result, RoundMode::CAST_RINT, length);
#endif
        yQueue.EnQue(y);
        aQueue.FreeTensor(a);
        bQueue.FreeTensor(b);
    }

    // result = a / (1 + exp(-a)); where exp overflows, the quotient is the zero that the activation tends to.
    __aicore__ inline void Silu(const LocalTensor<float>& result, const LocalTensor<float>& a, uint32_t length) {
        Muls(result, a, -1.0f, length);
        Exp(result, result, length);
        Adds(result, result, 1.0f, length);
        Div(result, a, result, length);
    }

    __aicore__ inline void CopyOut(uint32_t row, uint32_t column, uint32_t rows, uint32_t columns) {
        const uint32_t gap = (INNER - columns) * BYTES;
        const DataCopyExtParams copy{static_cast<uint16_t>(rows), columns * BYTES, 0, gap, 0};
        LocalTensor<DTYPE_Y> y = yQueue.DeQue<DTYPE_Y>();
        DataCopyPad(yGlobal[row * INNER + column], y, copy);
        yQueue.FreeTensor(y);
    }

    TQue<TPosition::VECIN, 1> aQueue, bQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> sigmoidBuffer;
#if !X_IS_FLOAT32
    TBuf<TPosition::VECCALC> wideBuffer;
#endif
    GlobalTensor<DTYPE_X> xGlobal;
    GlobalTensor<DTYPE_Y> yGlobal;
};

extern "C" __global__ __aicore__ void swi_glu(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    SwiGlu op;
    op.Init(&pipe, x, y);
    op.Process();
}
