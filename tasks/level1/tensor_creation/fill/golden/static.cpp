// Fill: every element of y becomes the one element of value. The extents in dims are known beforehand.
//
// Every core takes one contiguous share of the bytes of y, which begins at a multiple of 512 bytes, the granule in
// which global memory is served. It fills one tile and copies it as often as its share demands; the last copy may be
// shorter.
//
// What matters of the element type is its width: Duplicate writes 16 or 32 bits, so one byte is written as a pair of
// bytes, and 64 bits as a low word into the even lanes and a high word into the odd ones.
using namespace AscendC;

constexpr uint32_t WIDTH = sizeof(DTYPE_Y);
constexpr uint32_t TOTAL = task_case::Y_SIZE * WIDTH;  // bytes, as everything below
constexpr uint32_t GRANULE = 512;
constexpr uint32_t TILE = 32768;

class FillKernel {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR value, GM_ADDR y) {
        const uint32_t stripe = GetBlockNum() * GRANULE;  // one granule for every core
        const uint32_t share = (TOTAL + stripe - 1) / stripe * GRANULE;
        const uint32_t begin = GetBlockIdx() * share;
        if (begin < TOTAL) {
            count = TOTAL - begin < share ? TOTAL - begin : share;
        }
        this->value = value;
        yGlobal.SetGlobalBuffer((__gm__ uint8_t*)y + begin, count);
        pipe->InitBuffer(yQueue, 1, TILE);
    }

    __aicore__ inline void Process() {
        if (count == 0) {
            return;
        }
        Compute();
        LocalTensor<uint8_t> tile = yQueue.DeQue<uint8_t>();
        for (uint32_t offset = 0; offset < count; offset += TILE) {
            const uint32_t length = count - offset < TILE ? count - offset : TILE;
            const DataCopyExtParams copy{1, length, 0, 0, 0};
            DataCopyPad(yGlobal[offset], tile, copy);
        }
        yQueue.FreeTensor(tile);
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
        LocalTensor<uint8_t> tile = yQueue.AllocTensor<uint8_t>();
        LocalTensor<uint16_t> narrow = tile.ReinterpretCast<uint16_t>();
        LocalTensor<uint32_t> wide = tile.ReinterpretCast<uint32_t>();
        if constexpr (WIDTH == 1) {
            Duplicate(narrow, static_cast<uint16_t>(Bits<uint8_t>(0) * 0x0101), TILE / 2);
        } else if constexpr (WIDTH == 2) {
            Duplicate(narrow, Bits<uint16_t>(0), TILE / 2);
        } else if constexpr (WIDTH == 4) {
            Duplicate(wide, Bits<uint32_t>(0), TILE / 4);
        } else {
            uint64_t even[2] = {0x5555555555555555, 0};
            uint64_t odd[2] = {0xAAAAAAAAAAAAAAAA, 0};
            Duplicate(wide, Bits<uint32_t>(0), even, TILE / 256, 1, 8);
            Duplicate(wide, Bits<uint32_t>(1), odd, TILE / 256, 1, 8);
        }
        yQueue.EnQue(tile);
    }

    TQue<TPosition::VECOUT, 1> yQueue;
    GlobalTensor<uint8_t> yGlobal;
    GM_ADDR value = nullptr;
    uint32_t count = 0;
};

extern "C" __global__ __aicore__ void fill(GM_ADDR dims, GM_ADDR value, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    FillKernel op;
    op.Init(&pipe, value, y);
    op.Process();
}
