// ForeachCopy: y[k] = x[k] for every tensor k of a list.
//
// Nothing is computed: tiles go out of the very buffers that they came in, as words of a size that any type has a
// multiple of. Four buffers keep both directions busy.
#include "foreach.h"

using namespace AscendC;

template <typename Word>
class KernelForeachCopy {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y) {
        xList = x;
        yList = y;
        pipe->InitBuffer(queue, 4, TILE * sizeof(Word));
    }

    // Offsets and counts are of elements; `words` make one of them.
    template <uint32_t words>
    struct Elements {
        KernelForeachCopy* copy;
        __aicore__ inline void Serve(uint32_t k, uint64_t begin, uint64_t count) {
            copy->Share(k, begin * words, count * words);
        }
    };

    __aicore__ inline void Share(uint32_t k, uint64_t begin, uint64_t count) {
        xGlobal.SetGlobalBuffer(foreach::TensorOf<Word>(xList, k) + begin, count);
        yGlobal.SetGlobalBuffer(foreach::TensorOf<Word>(yList, k) + begin, count);
        for (uint64_t offset = 0; offset < count; offset += TILE) {
            const uint32_t length = count - offset < TILE ? count - offset : TILE;
            const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(Word)), 0, 0, 0};
            LocalTensor<Word> in = queue.template AllocTensor<Word>();
            DataCopyPad(in, xGlobal[offset], copy, DataCopyPadExtParams<Word>());
            queue.EnQue(in);
            LocalTensor<Word> out = queue.template DeQue<Word>();
            DataCopyPad(yGlobal[offset], out, copy);
            queue.FreeTensor(out);
        }
    }

  private:
    static constexpr uint32_t TILE = 32768 / sizeof(Word);
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    GlobalTensor<Word> xGlobal, yGlobal;
    GM_ADDR xList = nullptr;
    GM_ADDR yList = nullptr;
};

// Words of 1, 2 or 4 bytes: types of 8 bytes are pairs.
template <typename T>
using WordOf = typename std::conditional<
    sizeof(T) == 1, uint8_t, typename std::conditional<sizeof(T) == 2, uint16_t, uint32_t>::type>::type;

extern "C" __global__ __aicore__ void foreach_copy(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    using Word = WordOf<DTYPE_X>;
    TPipe pipe;
    KernelForeachCopy<Word> copy;
    copy.Init(&pipe, x, y);
    KernelForeachCopy<Word>::Elements<sizeof(DTYPE_X) / sizeof(Word)> elements{&copy};
    foreach::ServeShares<DTYPE_X>(sizes, elements);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
