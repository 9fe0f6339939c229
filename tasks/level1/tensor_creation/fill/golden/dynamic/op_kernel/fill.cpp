// Fill: every element of y becomes the one element of value. The extents in dims are those of y.
//
// Every core takes one contiguous share of the bytes of y. It fills one tile and copies it as often as its share
// demands; the last copy may be shorter.
//
// What matters of the element type is its width: Duplicate writes 16 or 32 bits, so one byte is written as a pair of
// bytes, and 64 bits as a low word into the even lanes and a high word into the odd ones.
#include "kernel_operator.h"

using namespace AscendC;

template <uint32_t WIDTH>
class KernelFill {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR value, GM_ADDR y, const ElementwiseTilingData& sizes) {
        const uint64_t begin = GetBlockIdx() * sizes.share;
        if (begin < sizes.total) {
            count = sizes.total - begin < sizes.share ? sizes.total - begin : sizes.share;
        }
        tile = sizes.tile;
        this->value = value;
        yGlobal.SetGlobalBuffer((__gm__ uint8_t*)y + begin, count);
        pipe->InitBuffer(yQueue, 1, tile);
    }

    __aicore__ inline void Process() {
        if (count == 0) {
            return;
        }
        Compute();
        LocalTensor<uint8_t> filled = yQueue.DeQue<uint8_t>();
        for (uint64_t offset = 0; offset < count; offset += tile) {
            const uint32_t length = count - offset < tile ? count - offset : tile;
            const DataCopyExtParams copy{1, length, 0, 0, 0};
            DataCopyPad(yGlobal[offset], filled, copy);
        }
        yQueue.FreeTensor(filled);
    }

  private:
    // The element's bits at index, counted in words of type Word.
    template <typename Word>
    __aicore__ inline Word Bits(uint32_t index) {
        GlobalTensor<Word> words;
        words.SetGlobalBuffer((__gm__ Word*)value, WIDTH / sizeof(Word));
        return words.GetValue(index);
    }

    __aicore__ inline void Compute() {
        LocalTensor<uint8_t> filled = yQueue.AllocTensor<uint8_t>();
        LocalTensor<uint16_t> narrow = filled.ReinterpretCast<uint16_t>();
        LocalTensor<uint32_t> wide = filled.ReinterpretCast<uint32_t>();
        if constexpr (WIDTH == 1) {
            Duplicate(narrow, static_cast<uint16_t>(Bits<uint8_t>(0) * 0x0101), tile / 2);
        } else if constexpr (WIDTH == 2) {
            Duplicate(narrow, Bits<uint16_t>(0), tile / 2);
        } else if constexpr (WIDTH == 4) {
            Duplicate(wide, Bits<uint32_t>(0), tile / 4);
        } else {
            uint64_t even[2] = {0x5555555555555555, 0};
            uint64_t odd[2] = {0xAAAAAAAAAAAAAAAA, 0};
            Duplicate(wide, Bits<uint32_t>(0), even, tile / 256, 1, 8);
            Duplicate(wide, Bits<uint32_t>(1), odd, tile / 256, 1, 8);
        }
        yQueue.EnQue(filled);
    }

    TQue<TPosition::VECOUT, 1> yQueue;
    GlobalTensor<uint8_t> yGlobal;
    GM_ADDR value = nullptr;
    uint64_t count = 0;  // bytes, as the tile
    uint32_t tile = 0;
};

extern "C" __global__ __aicore__ void fill(GM_ADDR dims, GM_ADDR value, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelFill<sizeof(DTYPE_VALUE)> op;
    op.Init(&pipe, value, y, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
