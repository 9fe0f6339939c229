// ForeachZeroInplace: x_ref[k] = 0 for every tensor k of a list.
//
// A tile of zeros is filled once, and copied wherever it is wanted. x and x_ref are the same list.
#include "foreach.h"

using namespace AscendC;

template <typename Word>
class KernelForeachZeroInplace {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR list) {
        xList = list;
        pipe->InitBuffer(queue, 1, TILE * sizeof(Word));
        zeros = queue.template AllocTensor<Word>();
        Duplicate(zeros, static_cast<Word>(0), TILE);
        queue.EnQue(zeros);
        zeros = queue.template DeQue<Word>();
    }

    __aicore__ inline void Serve(uint32_t k, uint64_t begin, uint64_t count) {
        xGlobal.SetGlobalBuffer(foreach::TensorOf<Word>(xList, k) + begin, count);
        for (uint64_t offset = 0; offset < count; offset += TILE) {
            const uint32_t length = count - offset < TILE ? count - offset : TILE;
            const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(Word)), 0, 0, 0};
            DataCopyPad(xGlobal[offset], zeros, copy);
        }
    }

    __aicore__ inline void Free() { queue.FreeTensor(zeros); }

  private:
    static constexpr uint32_t TILE = 32768 / sizeof(Word);
    TQue<TPosition::VECOUT, 1> queue;
    LocalTensor<Word> zeros;
    GlobalTensor<Word> xGlobal;
    GM_ADDR xList = nullptr;
};

extern "C" __global__ __aicore__ void foreach_zero_inplace(GM_ADDR x, GM_ADDR x_ref, GM_ADDR workspace,
                                                           GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    using Word = std::conditional<sizeof(DTYPE_X) == 2, int16_t, int32_t>::type;
    TPipe pipe;
    KernelForeachZeroInplace<Word> zero;
    zero.Init(&pipe, x_ref);
    foreach::ServeShares<DTYPE_X>(sizes, zero);
    zero.Free();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
