// Equal: y = (x1 == x2), one byte per element.
//
// Every core takes one contiguous share of the tensors and walks through it in tiles. Shares begin at multiples of 512
// bytes of y, the granule in which global memory is served; only the last share and the last tile of a share are
// shorter. Two buffers per queue let the copies of one tile run beside the computation of another.
//
// Compare takes half, float and int32_t: small types are widened, which is exact, and uint32_t is seen as int32_t. It
// yields one bit per element; Select makes halves of the bits and Cast makes bytes of the halves.
using namespace AscendC;

#if X1_IS_BFLOAT16
#define WIDENED 1
using Comparable = float;
#elif X1_IS_INT8 || X1_IS_UINT8
#define WIDENED 1
using Comparable = half;
#elif X1_IS_UINT32
using Comparable = int32_t;
#else
using Comparable = DTYPE_X1;
#endif

constexpr uint32_t TOTAL = task_case::X1_SIZE;
constexpr uint32_t BYTES = sizeof(DTYPE_X1);
constexpr uint32_t GRANULE = 512;
constexpr uint32_t TILE = 16384 / sizeof(Comparable);
constexpr uint32_t REPEAT = 256 / sizeof(Comparable);  // elements; Compare works on whole repeats

class EqualKernel {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x1, GM_ADDR x2, GM_ADDR y) {
        const uint32_t stripe = GetBlockNum() * GRANULE;  // one granule for every core
        const uint32_t share = (TOTAL + stripe - 1) / stripe * GRANULE;
        const uint32_t begin = GetBlockIdx() * share;
        if (begin < TOTAL) {
            count = TOTAL - begin < share ? TOTAL - begin : share;
        }
        x1Global.SetGlobalBuffer((__gm__ DTYPE_X1*)x1 + begin, count);
        x2Global.SetGlobalBuffer((__gm__ DTYPE_X2*)x2 + begin, count);
        yGlobal.SetGlobalBuffer((__gm__ uint8_t*)y + begin, count);
        pipe->InitBuffer(x1Queue, 2, TILE * BYTES);
        pipe->InitBuffer(x2Queue, 2, TILE * BYTES);
        pipe->InitBuffer(yQueue, 2, TILE);
        pipe->InitBuffer(bitsBuffer, TILE / 8);
        pipe->InitBuffer(onesBuffer, TILE * sizeof(half));
        pipe->InitBuffer(chosenBuffer, TILE * sizeof(half));
#if WIDENED
        pipe->InitBuffer(wide1Buffer, TILE * sizeof(Comparable));
        pipe->InitBuffer(wide2Buffer, TILE * sizeof(Comparable));
#endif
        Duplicate(onesBuffer.Get<half>(), static_cast<half>(1), TILE);
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
        LocalTensor<DTYPE_X1> x1 = x1Queue.AllocTensor<DTYPE_X1>();
        LocalTensor<DTYPE_X2> x2 = x2Queue.AllocTensor<DTYPE_X2>();
        DataCopyPad(x1, x1Global[offset], copy, DataCopyPadExtParams<DTYPE_X1>());
        DataCopyPad(x2, x2Global[offset], copy, DataCopyPadExtParams<DTYPE_X2>());
        x1Queue.EnQue(x1);
        x2Queue.EnQue(x2);
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<DTYPE_X1> x1 = x1Queue.DeQue<DTYPE_X1>();
        LocalTensor<DTYPE_X2> x2 = x2Queue.DeQue<DTYPE_X2>();
        LocalTensor<uint8_t> y = yQueue.AllocTensor<uint8_t>();
        LocalTensor<uint8_t> bits = bitsBuffer.Get<uint8_t>();
        LocalTensor<half> chosen = chosenBuffer.Get<half>();
#if WIDENED
        LocalTensor<Comparable> a = wide1Buffer.Get<Comparable>();
        LocalTensor<Comparable> b = wide2Buffer.Get<Comparable>();
        Cast(a, x1, RoundMode::CAST_NONE, length);
        Cast(b, x2, RoundMode::CAST_NONE, length);
#else
        LocalTensor<Comparable> a = x1.ReinterpretCast<Comparable>();
        LocalTensor<Comparable> b = x2.ReinterpretCast<Comparable>();
#endif
        Compare(bits, a, b, CMPMODE::EQ, (length + REPEAT - 1) / REPEAT * REPEAT);
        Select(chosen, bits, onesBuffer.Get<half>(), static_cast<half>(0), SELMODE::VSEL_TENSOR_SCALAR_MODE, length);
        Cast(y, chosen, RoundMode::CAST_RINT, length);
        yQueue.EnQue(y);
        x1Queue.FreeTensor(x1);
        x2Queue.FreeTensor(x2);
    }

    __aicore__ inline void CopyOut(uint32_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, length, 0, 0, 0};
        LocalTensor<uint8_t> y = yQueue.DeQue<uint8_t>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    TQue<TPosition::VECIN, 1> x1Queue, x2Queue;
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> bitsBuffer, onesBuffer, chosenBuffer;
#if WIDENED
    TBuf<TPosition::VECCALC> wide1Buffer, wide2Buffer;
#endif
    GlobalTensor<DTYPE_X1> x1Global;
    GlobalTensor<DTYPE_X2> x2Global;
    GlobalTensor<uint8_t> yGlobal;
    uint32_t count = 0;
};

extern "C" __global__ __aicore__ void equal(GM_ADDR x1, GM_ADDR x2, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    EqualKernel op;
    op.Init(&pipe, x1, x2, y);
    op.Process();
}
