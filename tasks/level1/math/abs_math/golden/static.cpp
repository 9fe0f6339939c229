// AbsMath: y = |x|.
//
// Every core takes one contiguous share of the tensor and walks through it in tiles. Shares begin at multiples of 512
// bytes, the granule in which global memory is served; only the last share and the last tile of a share are shorter.
// Two buffers per queue let the copies of one tile run beside the computation of another.
//
// The vector unit has an absolute value for half and float only; see Compute for the other types. Counts are elements;
// a complex number is two floats of x and one of y.
using namespace AscendC;

#if X_IS_COMPLEX64
constexpr uint32_t PARTS = 2;
#else
constexpr uint32_t PARTS = 1;
#endif

constexpr uint32_t TOTAL = task_case::X_SIZE;
constexpr uint32_t X_BYTES = PARTS * sizeof(DTYPE_X);
constexpr uint32_t Y_BYTES = sizeof(DTYPE_Y);
constexpr uint32_t GRANULE = 512 / Y_BYTES;
constexpr uint32_t TILE = 16384 / X_BYTES;

class AbsMath {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y) {
        const uint32_t stripe = GetBlockNum() * GRANULE;  // one granule for every core
        const uint32_t share = (TOTAL + stripe - 1) / stripe * GRANULE;
        const uint32_t begin = GetBlockIdx() * share;
        if (begin < TOTAL) {
            count = TOTAL - begin < share ? TOTAL - begin : share;
        }
        xGlobal.SetGlobalBuffer((__gm__ DTYPE_X*)x + begin * PARTS, count * PARTS);
        yGlobal.SetGlobalBuffer((__gm__ DTYPE_Y*)y + begin, count);
        pipe->InitBuffer(xQueue, 2, TILE * X_BYTES);
        pipe->InitBuffer(yQueue, 2, TILE * Y_BYTES);
#if X_IS_INT64
        pipe->InitBuffer(signBuffer, TILE * sizeof(float));
        pipe->InitBuffer(lowBuffer, TILE * sizeof(float));
        pipe->InitBuffer(factorBuffer, TILE * X_BYTES);
        pipe->InitBuffer(borrowBuffer, TILE * X_BYTES);
        pipe->InitBuffer(lowWordsBuffer, TILE * X_BYTES);
        LocalTensor<int32_t> lowWords = lowWordsBuffer.Get<int32_t>();
        uint64_t everySecond[2] = {0x5555555555555555, 0};
        Duplicate(lowWords, 0, 2 * TILE);
        Duplicate(lowWords, -1, everySecond, 2 * TILE / 64, 1, 8);
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
        const DataCopyExtParams copy{1, length * X_BYTES, 0, 0, 0};
        LocalTensor<DTYPE_X> x = xQueue.AllocTensor<DTYPE_X>();
        DataCopyPad(x, xGlobal[offset * PARTS], copy, DataCopyPadExtParams<DTYPE_X>());
        xQueue.EnQue(x);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<DTYPE_X> x = xQueue.DeQue<DTYPE_X>();
        LocalTensor<DTYPE_Y> y = yQueue.AllocTensor<DTYPE_Y>();
#if X_IS_BFLOAT16
        // The sign is shifted out at the top, a zero comes in.
        LocalTensor<uint16_t> bits = y.ReinterpretCast<uint16_t>();
        ShiftLeft(bits, x.ReinterpretCast<uint16_t>(), uint16_t(1), length);
        ShiftRight(bits, bits, uint16_t(1), length);
#elif X_IS_INT32
        Muls(y, x, -1, length);
        Max(y, x, y, length);
#elif X_IS_INT64
        AbsInt64(y, x, length);
#elif X_IS_COMPLEX64
        // Squares of both parts, sums of neighbours, roots. Magnitudes beyond 1.8e19 are infinite.
        Mul(x, x, x, 2 * length);
        PairReduceSum(y, x, (2 * length + 63) / 64, 64, 1, 1, 8);
        Sqrt(y, y, length);
#else
        Abs(y, x, length);
#endif
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
    }

#if X_IS_INT64
    // Negation in two words of 32 bits that wrap around: -(high, low) = (-high - (low != 0), -low). What concerns a
    // whole number goes through float, which keeps its sign and whether it is zero.
    __aicore__ inline void AbsInt64(const LocalTensor<int64_t>& y, const LocalTensor<int64_t>& x, uint32_t length) {
        LocalTensor<float> sign = signBuffer.Get<float>();
        LocalTensor<float> low = lowBuffer.Get<float>();
        LocalTensor<int64_t> factor = factorBuffer.Get<int64_t>();
        LocalTensor<int64_t> borrow = borrowBuffer.Get<int64_t>();
        LocalTensor<int32_t> factorWords = factor.ReinterpretCast<int32_t>();
        LocalTensor<int32_t> yWords = y.ReinterpretCast<int32_t>();

        // sign: -1 where x is negative, else 0; as an integer, -1 or 0 in both words; from that the factor, -1 or 1.
        Cast(sign, x, RoundMode::CAST_RINT, length);
        Maxs(sign, sign, -1.0f, length);
        Mins(sign, sign, 0.0f, length);
        Cast(factor, sign, RoundMode::CAST_RINT, length);
        Muls(factorWords, factorWords, 2, 2 * length);
        Adds(factorWords, factorWords, 1, 2 * length);

        // borrow: -1 in the high word where x is negative and its low word is not zero.
        And(borrow.ReinterpretCast<int16_t>(), x.ReinterpretCast<int16_t>(), lowWordsBuffer.Get<int16_t>(), 4 * length);
        Cast(low, borrow, RoundMode::CAST_RINT, length);
        Mins(low, low, 1.0f, length);
        Mul(low, low, sign, length);
        Muls(low, low, 4294967296.0f, length);
        Cast(borrow, low, RoundMode::CAST_RINT, length);

        Mul(yWords, x.ReinterpretCast<int32_t>(), factorWords, 2 * length);
        Add(yWords, yWords, borrow.ReinterpretCast<int32_t>(), 2 * length);
    }

    TBuf<TPosition::VECCALC> signBuffer, lowBuffer, factorBuffer, borrowBuffer, lowWordsBuffer;
#endif

    __aicore__ inline void CopyOut(uint32_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length * Y_BYTES, 0, 0, 0};
        LocalTensor<DTYPE_Y> y = yQueue.DeQue<DTYPE_Y>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    TQue<TPosition::VECIN, 1> xQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    GlobalTensor<DTYPE_X> xGlobal;
    GlobalTensor<DTYPE_Y> yGlobal;
    uint32_t count = 0;
};

extern "C" __global__ __aicore__ void abs_math(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    AbsMath op;
    op.Init(&pipe, x, y);
    op.Process();
}
