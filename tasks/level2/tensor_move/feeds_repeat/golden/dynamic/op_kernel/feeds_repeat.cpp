// FeedsRepeat: rows, each repeated its own number of times, padded with zeros.
//
// Every core takes a contiguous share of the rows of the output, so that all have the same to write whatever the counts
// are. It reads the counts until it knows where its share begins; from there on every row, or piece of a long one, is
// read once and written as often as its count says.
#include "kernel_operator.h"

using namespace AscendC;

template <typename T, typename C>
class KernelFeedsRepeat {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR feeds, GM_ADDR times, GM_ADDR y,
                                const FeedsRepeatTilingData& tiling) {
        rows = tiling.rows;
        columns = tiling.columns;
        tile = tiling.tile;
        begin = GetBlockIdx() * tiling.share;
        end = begin + tiling.share < tiling.outputRows ? begin + tiling.share : tiling.outputRows;
        feedsGlobal.SetGlobalBuffer((__gm__ T*)feeds, rows * columns);
        timesGlobal.SetGlobalBuffer((__gm__ C*)times, rows);
        yGlobal.SetGlobalBuffer((__gm__ T*)y, tiling.outputRows * columns);
        pipe->InitBuffer(feedsQueue, 2, (tile * sizeof(T) + 31) / 32 * 32);
        pipe->InitBuffer(zerosBuffer, (tile * sizeof(T) + 31) / 32 * 32);
        pipe->InitBuffer(timesBuffer, COUNTS * sizeof(C));
    }

    __aicore__ inline void Process() {
        if (columns == 0 || end <= begin) {
            return;
        }
        uint64_t row = 0;  // of the output, where the next row of feeds belongs
        for (uint64_t chunk = 0; chunk < rows && row < end; chunk += COUNTS) {
            const uint32_t length = rows - chunk < COUNTS ? rows - chunk : COUNTS;
            LocalTensor<C> times = LoadTimes(chunk, length);
            for (uint32_t i = 0; i < length && row < end; ++i) {
                const uint64_t next = row + times.GetValue(i);
                if (begin < next) {
                    Repeat(chunk + i, row < begin ? begin : row, next < end ? next : end);
                }
                row = next;
            }
        }
        if (row < end) {
            Clear(row < begin ? begin : row);
        }
    }

  private:
    // The scalar unit reads the counts in the unified buffer, and must have done so before the next ones arrive.
    __aicore__ inline LocalTensor<C> LoadTimes(uint64_t chunk, uint32_t length) {
        const DataCopyExtParams copy(1, length * sizeof(C), 0, 0, 0);
        LocalTensor<C> times = timesBuffer.Get<C>();
        const event_t read = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::S_MTE2));
        SetFlag<HardEvent::S_MTE2>(read);
        WaitFlag<HardEvent::S_MTE2>(read);
        DataCopyPad(times, timesGlobal[chunk], copy, DataCopyPadExtParams<C>());
        const event_t loaded = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::MTE2_S));
        SetFlag<HardEvent::MTE2_S>(loaded);
        WaitFlag<HardEvent::MTE2_S>(loaded);
        return times;
    }

    __aicore__ inline void Repeat(uint64_t feed, uint64_t first, uint64_t last) {
        if (first == last) {
            return;
        }
        for (uint64_t column = 0; column < columns; column += tile) {
            const uint32_t length = columns - column < tile ? columns - column : tile;
            const DataCopyExtParams copy(1, length * sizeof(T), 0, 0, 0);
            LocalTensor<T> feeds = feedsQueue.AllocTensor<T>();
            DataCopyPad(feeds, feedsGlobal[feed * columns + column], copy, DataCopyPadExtParams<T>());
            feedsQueue.EnQue(feeds);
            feeds = feedsQueue.DeQue<T>();
            for (uint64_t row = first; row < last; ++row) {
                DataCopyPad(yGlobal[row * columns + column], feeds, copy);
            }
            feedsQueue.FreeTensor(feeds);
        }
    }

    // The rows of the share from `row` on. Zeros have a buffer of their own: rows may still be on their way out of the
    // queue's, and the vector unit does not wait for them.
    __aicore__ inline void Clear(uint64_t row) {
        const event_t cleared = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_MTE3));
        LocalTensor<T> zeros = zerosBuffer.Get<T>();
        const int32_t words = tile * sizeof(T) / sizeof(int16_t);
        Duplicate(zeros.template ReinterpretCast<int16_t>(), static_cast<int16_t>(0), words);
        SetFlag<HardEvent::V_MTE3>(cleared);
        WaitFlag<HardEvent::V_MTE3>(cleared);
        for (uint64_t offset = row * columns; offset < end * columns; offset += tile) {
            const uint32_t length = end * columns - offset < tile ? end * columns - offset : tile;
            DataCopyPad(yGlobal[offset], zeros, DataCopyExtParams(1, length * sizeof(T), 0, 0, 0));
        }
    }

    static constexpr uint32_t COUNTS = 2048;  // counts at a time
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> feedsQueue;
    TBuf<TPosition::VECCALC> timesBuffer, zerosBuffer;
    GlobalTensor<T> feedsGlobal, yGlobal;
    GlobalTensor<C> timesGlobal;
    uint64_t rows = 0, columns = 0, begin = 0, end = 0;
    uint32_t tile = 0;
};

extern "C" __global__ __aicore__ void feeds_repeat(GM_ADDR feeds, GM_ADDR feedsRepeatTimes, GM_ADDR y,
                                                   GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelFeedsRepeat<DTYPE_FEEDS, DTYPE_FEEDS_REPEAT_TIMES> op;
    op.Init(&pipe, feeds, feedsRepeatTimes, y, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
