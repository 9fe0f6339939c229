// MaskedSelectV3: y = the elements of x whose mask is 1, packed; shapeout = (1, their number).
//
// Every core counts the ones in its share of the mask, and leaves the number in the workspace. The numbers of the
// cores before it say where its own elements begin. Then it packs tile by tile: a comparison turns the mask into
// bits, by which GatherMask chooses. That works on words of two or four bytes: bytes are seen as halves meanwhile,
// and for elements of eight bytes every bit stands twice.
#include "kernel_operator.h"

using namespace AscendC;

template <typename T>
class KernelMaskedSelect {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR mask, GM_ADDR y, GM_ADDR shape, GM_ADDR workspace,
                                const MaskedSelectV3TilingData& sizes) {
        const uint64_t begin = GetBlockIdx() * sizes.share;
        if (begin < sizes.total) {
            count = sizes.total - begin < sizes.share ? sizes.total - begin : sizes.share;
        }
        this->pipe = pipe;
        tile = sizes.tile;
        xGlobal.SetGlobalBuffer((__gm__ uint8_t*)x + begin * BYTES, count * BYTES);
        maskGlobal.SetGlobalBuffer((__gm__ uint8_t*)mask + begin, count);
        yGlobal.SetGlobalBuffer((__gm__ uint8_t*)y);
        shapeGlobal.SetGlobalBuffer((__gm__ uint32_t*)shape, 4);
        numbersGlobal.SetGlobalBuffer((__gm__ uint32_t*)workspace, GetBlockNum() * BLOCK);
        pipe->InitBuffer(xQueue, 2, tile * BYTES);
        pipe->InitBuffer(maskQueue, 2, tile);
        pipe->InitBuffer(yQueue, 2, tile * BYTES);
        pipe->InitBuffer(wideBuffer, tile * sizeof(float));
        pipe->InitBuffer(lanesBuffer, tile * sizeof(float));
        pipe->InitBuffer(truthBuffer, tile * WORDS * sizeof(half));
        pipe->InitBuffer(chosenBuffer, tile * sizeof(half));
        pipe->InitBuffer(bitsBuffer, tile * WORDS / 8);
        pipe->InitBuffer(wordsBuffer, BLOCK * sizeof(uint32_t));
        pipe->InitBuffer(numbersBuffer, GetBlockNum() * BLOCK * sizeof(uint32_t));
    }

    __aicore__ inline void Process() {
        uint64_t place = 0;
        if (GetBlockNum() > 1) {
            Publish(Ones());
            SyncAll();
            place = OnesBefore(GetBlockIdx());
        }
        for (uint64_t offset = 0; offset < count; offset += tile) {
            const uint32_t length = count - offset < tile ? count - offset : tile;
            CopyIn(offset, length);
            const uint32_t chosen = Choose(length);
            CopyOut(place, chosen);
            place += chosen;
        }
        if (GetBlockIdx() == 0) {
            WriteShape(GetBlockNum() > 1 ? OnesBefore(GetBlockNum()) : place);
        }
    }

  private:
    __aicore__ inline void CopyMaskIn(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length, 0, 0, 0);
        LocalTensor<uint8_t> mask = maskQueue.AllocTensor<uint8_t>();
        DataCopyPad(mask, maskGlobal[offset], copy, DataCopyPadExtParams<uint8_t>());
        maskQueue.EnQue(mask);
    }

    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length * BYTES, 0, 0, 0);
        LocalTensor<uint8_t> x = xQueue.AllocTensor<uint8_t>();
        CopyMaskIn(offset, length);
        DataCopyPad(x, xGlobal[offset * BYTES], copy, DataCopyPadExtParams<uint8_t>());
        xQueue.EnQue(x);
    }

    // The next tile of the mask as halves.
    __aicore__ inline LocalTensor<half> MaskAsHalves(uint32_t length) {
        LocalTensor<uint8_t> mask = maskQueue.DeQue<uint8_t>();
        LocalTensor<half> truth = truthBuffer.Get<half>();
        Cast(truth, mask, RoundMode::CAST_NONE, length);
        maskQueue.FreeTensor(mask);
        return truth;
    }

    __aicore__ inline uint32_t Ones() {
        LocalTensor<float> lanes = lanesBuffer.Get<float>();
        LocalTensor<float> wide = wideBuffer.Get<float>();
        Duplicate(lanes, 0.0f, tile);
        for (uint64_t offset = 0; offset < count; offset += tile) {
            const uint32_t length = count - offset < tile ? count - offset : tile;
            CopyMaskIn(offset, length);
            Cast(wide, MaskAsHalves(length), RoundMode::CAST_NONE, length);
            Add(lanes, lanes, wide, length);
        }
        ReduceSum(wide, lanes, wide, tile);
        Wait<HardEvent::V_S>();
        return static_cast<uint32_t>(wide.GetValue(0));
    }

    __aicore__ inline void Publish(uint32_t ones) {
        LocalTensor<uint32_t> words = wordsBuffer.Get<uint32_t>();
        words.SetValue(0, ones);
        Wait<HardEvent::S_MTE3>();
        const DataCopyExtParams one(1, sizeof(uint32_t), 0, 0, 0);
        DataCopyPad(numbersGlobal[GetBlockIdx() * BLOCK], words, one);
        Wait<HardEvent::MTE3_S>();
    }

    // In the shares of the first `cores` cores.
    __aicore__ inline uint64_t OnesBefore(uint32_t cores) {
        if (cores == 0) {
            return 0;
        }
        LocalTensor<uint32_t> numbers = numbersBuffer.Get<uint32_t>();
        const DataCopyExtParams each(cores, sizeof(uint32_t), (BLOCK - 1) * sizeof(uint32_t), 0, 0);
        DataCopyPad(numbers, numbersGlobal, each, DataCopyPadExtParams<uint32_t>());
        Wait<HardEvent::MTE2_S>();
        uint64_t ones = 0;
        for (uint32_t core = 0; core < cores; ++core) {
            ones += numbers.GetValue(core * BLOCK);
        }
        return ones;
    }

    // Bits of the words to choose.
    __aicore__ inline void FindBits(uint32_t length) {
        LocalTensor<half> truth = MaskAsHalves(length);
        if constexpr (WORDS == 2) {
            constexpr int32_t TWICE = 65537;  // a one in either half of the word
            LocalTensor<int32_t> twice = wideBuffer.Get<int32_t>();
            Cast(twice, truth, RoundMode::CAST_RINT, length);
            Muls(twice, twice, TWICE, length);
            Cast(truth, twice.ReinterpretCast<int16_t>(), RoundMode::CAST_NONE, 2 * length);
        }
        constexpr uint32_t REPEAT = 256 / sizeof(half);
        const uint32_t lanes = (WORDS * length + REPEAT - 1) / REPEAT * REPEAT;
        CompareScalar(bitsBuffer.Get<uint8_t>(), truth, static_cast<half>(0), CMPMODE::NE, lanes);
    }

    // Packs a tile; how many elements that are.
    __aicore__ inline uint32_t Choose(uint32_t length) {
        const GatherMaskParams once(1, 1, 8, 8);
        uint64_t words = 0;
        FindBits(length);
        LocalTensor<uint8_t> x = xQueue.DeQue<uint8_t>();
        LocalTensor<uint8_t> y = yQueue.AllocTensor<uint8_t>();
        LocalTensor<Pattern> bits = bitsBuffer.Get<Pattern>();
        if constexpr (BYTES == 1) {
            LocalTensor<half> wide = wideBuffer.Get<half>();
            LocalTensor<half> chosen = chosenBuffer.Get<half>();
            Cast(wide, x, RoundMode::CAST_NONE, length);
            GatherMask(chosen, wide, bits, true, length, once, words);
            Cast(y, chosen, RoundMode::CAST_RINT, static_cast<uint32_t>(words));
        } else {
            GatherMask(y.ReinterpretCast<Pattern>(), x.ReinterpretCast<Pattern>(), bits, true, WORDS * length, once,
                       words);
        }
        yQueue.EnQue(y);
        xQueue.FreeTensor(x);
        return words / WORDS;
    }

    __aicore__ inline void CopyOut(uint64_t place, uint32_t chosen) {
        LocalTensor<uint8_t> y = yQueue.DeQue<uint8_t>();
        if (chosen > 0) {
            const DataCopyExtParams copy(1, chosen * BYTES, 0, 0, 0);
            DataCopyPad(yGlobal[place * BYTES], y, copy);
        }
        yQueue.FreeTensor(y);
    }

    // Two words of 64 bits, of which this chip stores the lower half first.
    __aicore__ inline void WriteShape(uint64_t chosen) {
        LocalTensor<uint32_t> words = wordsBuffer.Get<uint32_t>();
        words.SetValue(0, 1);
        words.SetValue(1, 0);
        words.SetValue(2, static_cast<uint32_t>(chosen));
        words.SetValue(3, static_cast<uint32_t>(chosen >> 32));
        Wait<HardEvent::S_MTE3>();
        const DataCopyExtParams both(1, 4 * sizeof(uint32_t), 0, 0, 0);
        DataCopyPad(shapeGlobal, words, both);
    }

    template <HardEvent EVENT>
    __aicore__ inline void Wait() {
        const event_t event = static_cast<event_t>(pipe->FetchEventID(EVENT));
        SetFlag<EVENT>(event);
        WaitFlag<EVENT>(event);
    }

    static constexpr uint32_t BYTES = sizeof(T);
    static constexpr uint32_t WORDS = BYTES == 8 ? 2 : 1;  // that GatherMask moves for an element
    static constexpr uint32_t BLOCK = 32 / sizeof(uint32_t);
    using Pattern = typename std::conditional<BYTES <= 2, uint16_t, uint32_t>::type;
    TPipe* pipe = nullptr;
    TQue<TPosition::VECIN, 1> xQueue, maskQueue;
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> wideBuffer, lanesBuffer, truthBuffer, chosenBuffer, bitsBuffer, wordsBuffer, numbersBuffer;
    GlobalTensor<uint8_t> xGlobal, maskGlobal, yGlobal;
    GlobalTensor<uint32_t> shapeGlobal, numbersGlobal;
    uint64_t count = 0;
    uint32_t tile = 0;
};

extern "C" __global__ __aicore__ void masked_select_v3(GM_ADDR x, GM_ADDR mask, GM_ADDR y, GM_ADDR shapeout,
                                                       GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelMaskedSelect<DTYPE_X> op;
    op.Init(&pipe, x, mask, y, shapeout, GetUserWorkspace(workspace), sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
