// CoalesceSparse: new_values[u] = the sum of all values whose rank is u, new_indices[u] = their coordinates.
//
// Every core has some ranks, and looks for their entries in all of unique_indices: comparisons and GatherMask list
// them. It sums the values of one entry after the other in the unified buffer, in float for half, and stores all its
// ranks at once. No core writes what another one writes, and sums do not depend on which core is faster.
//
// What an entry has is loaded alone where entries of these ranks are rare or values long. Otherwise it comes with its
// neighbours: one transfer of many rows takes less time than a transfer for each row of interest.
#include "kernel_operator.h"

using namespace AscendC;

template <typename Rank, typename Index, typename T>
class KernelCoalesceSparse {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR ranks, GM_ADDR indices, GM_ADDR values, GM_ADDR newIndices,
                                GM_ADDR newValues, const CoalesceSparseTilingData& sizes) {
        this->pipe = pipe;
        this->sizes = &sizes;
        words = sizes.coordinates * sizeof(Index) / sizeof(int32_t);
        pitch = Whole(sizes.width * sizeof(T)) / sizeof(T);
        wordPitch = words == 0 ? 8 : Whole(words * sizeof(int32_t)) / sizeof(int32_t);
        group = Least(GROUP / pitch, GROUP / wordPitch);
        ranksGlobal.SetGlobalBuffer((__gm__ Rank*)ranks, sizes.entries);
        wordsGlobal.SetGlobalBuffer((__gm__ int32_t*)indices, sizes.entries * words);
        valuesGlobal.SetGlobalBuffer((__gm__ T*)values, sizes.entries * sizes.columns);
        newWordsGlobal.SetGlobalBuffer((__gm__ int32_t*)newIndices, sizes.ranks * words);
        newValuesGlobal.SetGlobalBuffer((__gm__ T*)newValues, sizes.ranks * sizes.columns);
        pipe->InitBuffer(ranksQueue, 1, TILE * sizeof(Rank));
        pipe->InitBuffer(rowsQueue, 2, GROUP * sizeof(T));
        pipe->InitBuffer(wordsQueue, 1, GROUP * sizeof(int32_t));
        pipe->InitBuffer(sumQueue, 1, sizes.batch * pitch * sizeof(T));
        pipe->InitBuffer(foundWordsQueue, 1, sizes.batch * wordPitch * sizeof(int32_t));
        if constexpr (WIDENS) {
            pipe->InitBuffer(wideBuffer, GROUP * sizeof(Sum));
            pipe->InitBuffer(sumBuffer, sizes.batch * pitch * sizeof(Sum));
        }
        pipe->InitBuffer(distanceBuffer, TILE * sizeof(float));
        pipe->InitBuffer(numberBuffer, TILE * sizeof(int32_t));
        pipe->InitBuffer(foundRankBuffer, TILE * sizeof(float));
        pipe->InitBuffer(foundEntryBuffer, TILE * sizeof(int32_t));
        pipe->InitBuffer(notBelowBuffer, TILE / 8);
        pipe->InitBuffer(belowBuffer, TILE / 8);
        CreateVecIndex(numberBuffer.Get<int32_t>(), 0, TILE);
    }

    __aicore__ inline void Process() {
        const uint64_t firstRank = GetBlockIdx() / sizes->pieces * sizes->rankShare;
        const uint64_t firstColumn = GetBlockIdx() % sizes->pieces * sizes->columnShare;
        const uint64_t endRank = Least(firstRank + sizes->rankShare, sizes->ranks);
        const uint64_t endColumn = Least(firstColumn + sizes->columnShare, sizes->columns);
        for (uint64_t rank = firstRank; rank < endRank; rank += sizes->batch) {
            for (uint64_t column = firstColumn; column < endColumn; column += sizes->width) {
                const uint32_t ranks = Least(endRank - rank, sizes->batch);
                SumUp({rank, ranks, column, static_cast<uint32_t>(Least(endColumn - column, sizes->width))});
            }
        }
    }

  private:
    using Sum = typename std::conditional<std::is_same<T, half>::value, float, T>::type;
    static constexpr bool WIDENS = !std::is_same<T, Sum>::value;

    // What is summed at a time. The coordinates come with the first columns.
    struct Part {
        uint64_t rank;
        uint32_t ranks;
        uint64_t column;
        uint32_t columns;
    };

    __aicore__ inline static uint64_t Least(uint64_t a, uint64_t b) {
        return a < b ? a : b;
    }

    // Bytes of whole blocks.
    __aicore__ inline static uint32_t Whole(uint32_t bytes) {
        return (bytes + 31) / 32 * 32;
    }

    __aicore__ inline void SumUp(const Part& part) {
        LocalTensor<T> result = sumQueue.template AllocTensor<T>();
        LocalTensor<int32_t> foundWords = foundWordsQueue.template AllocTensor<int32_t>();
        LocalTensor<Sum> sums = SumsIn(result);
        Duplicate(sums, static_cast<Sum>(0), part.ranks * pitch);
        for (uint64_t entry = 0; entry < sizes->entries; entry += TILE) {
            const uint32_t length = Least(sizes->entries - entry, TILE), found = Find(entry, length, part);
            const uint32_t rowCycles = CYCLES_OF_ROW + part.columns * sizeof(T) / BYTES_A_CYCLE;
            const bool isDense = found * CYCLES_ALONE > length * rowCycles;
            uint32_t i = 0;
            for (uint32_t first = 0; i < found; first += group) {
                const uint32_t end = Least(first + group, isDense ? length : found);
                if (!isDense || EntryOf(i) < end) {
                    Load(part, entry, first, end, isDense);
                    i = Add(part, sums, foundWords, i, found, first, end, isDense);
                }
            }
        }
        if constexpr (WIDENS) {
            Cast(result, sums, RoundMode::CAST_RINT, part.ranks * pitch);
        }
        sumQueue.EnQue(result);
        foundWordsQueue.EnQue(foundWords);
        Store(part);
    }

    __aicore__ inline LocalTensor<Sum> SumsIn(const LocalTensor<T>& result) {
        if constexpr (WIDENS) {
            return sumBuffer.Get<Sum>();
        } else {
            return result;
        }
    }

    // Lists those of `length` entries whose rank is one of the part's, with its distance to the first; how many.
    __aicore__ inline uint32_t Find(uint64_t entry, uint32_t length, const Part& part) {
        LocalTensor<Rank> given = ranksQueue.template AllocTensor<Rank>();
        const DataCopyExtParams copy(1, length * sizeof(Rank), 0, 0, 0);
        DataCopyPad(given, ranksGlobal[entry], copy, DataCopyPadExtParams<Rank>());
        ranksQueue.EnQue(given);
        given = ranksQueue.template DeQue<Rank>();
        LocalTensor<float> distance = distanceBuffer.Get<float>();
        Cast(distance, given, RoundMode::CAST_RINT, length);
        ranksQueue.FreeTensor(given);
        Adds(distance, distance, -static_cast<float>(part.rank), length);

        LocalTensor<uint8_t> notBelow = notBelowBuffer.Get<uint8_t>(), below = belowBuffer.Get<uint8_t>();
        const uint32_t lanes = (length + 63) / 64 * 64;
        CompareScalar(notBelow, distance, 0.0f, CMPMODE::GE, lanes);
        CompareScalar(below, distance, static_cast<float>(part.ranks), CMPMODE::LT, lanes);
        LocalTensor<uint16_t> both = below.template ReinterpretCast<uint16_t>();
        And(both, both, notBelow.template ReinterpretCast<uint16_t>(), lanes / 16);

        const GatherMaskParams once(1, 1, 8, 8);
        LocalTensor<uint32_t> bits = below.template ReinterpretCast<uint32_t>();
        uint64_t found = 0;
        Wait<HardEvent::S_V>();
        GatherMask(foundRankBuffer.Get<float>(), distance, bits, true, length, once, found);
        GatherMask(foundEntryBuffer.Get<int32_t>(), numberBuffer.Get<int32_t>(), bits, true, length, once, found);
        Wait<HardEvent::V_S>();
        return found;
    }

    // Of what Find listed: the distance from the first rank, and the entry.
    __aicore__ inline uint32_t PlaceOf(uint32_t i) {
        return foundRankBuffer.Get<float>().GetValue(i);
    }

    __aicore__ inline uint32_t EntryOf(uint32_t i) {
        return foundEntryBuffer.Get<int32_t>().GetValue(i);
    }

    __aicore__ inline bool HasWords(const Part& part) const {
        return part.column == 0 && words > 0;
    }

    // Entries `first` to `end` - 1, or those that Find listed under these numbers.
    __aicore__ inline void Load(const Part& part, uint64_t entry, uint32_t first, uint32_t end, bool isDense) {
        LocalTensor<T> rows = rowsQueue.template AllocTensor<T>();
        LocalTensor<int32_t> rowWords;
        if (HasWords(part)) {
            rowWords = wordsQueue.template AllocTensor<int32_t>();
        }
        if (isDense) {
            LoadRows(part, rows, rowWords, entry + first, end - first);
        } else {
            for (uint32_t i = first; i < end; ++i) {
                const uint32_t at = i - first;
                LoadRows(part, rows[at * pitch], rowWords[at * wordPitch], entry + EntryOf(i), 1);
            }
        }
        rowsQueue.EnQue(rows);
        if (HasWords(part)) {
            wordsQueue.EnQue(rowWords);
        }
    }

    __aicore__ inline void LoadRows(const Part& part, const LocalTensor<T>& rows, const LocalTensor<int32_t>& rowWords,
                                    uint64_t entry, uint32_t count) {
        const uint32_t bytes = part.columns * sizeof(T), wordBytes = words * sizeof(int32_t);
        const uint32_t gap = (sizes->columns - part.columns) * sizeof(T);
        const DataCopyExtParams values(count, bytes, gap, BlocksBehind(pitch * sizeof(T), bytes), 0);
        DataCopyPad(rows, valuesGlobal[entry * sizes->columns + part.column], values, DataCopyPadExtParams<T>());
        if (HasWords(part)) {
            const DataCopyExtParams coordinates(count, wordBytes, 0, 0, 0);
            DataCopyPad(rowWords, wordsGlobal[entry * words], coordinates, DataCopyPadExtParams<int32_t>());
        }
    }

    // Blocks of 32 bytes between a row of so many bytes and the next one.
    __aicore__ inline static uint32_t BlocksBehind(uint32_t pitchBytes, uint32_t bytes) {
        return (pitchBytes - Whole(bytes)) / 32;
    }

    // Adds listed entries from i on, as far as their rows are there, to the sums of their ranks; the first that is
    // left.
    __aicore__ inline uint32_t Add(const Part& part, const LocalTensor<Sum>& sums,
                                   const LocalTensor<int32_t>& foundWords, uint32_t i, uint32_t found,
                                   uint32_t first, uint32_t end, bool isDense) {
        LocalTensor<T> rows = rowsQueue.template DeQue<T>();
        LocalTensor<Sum> wide = Wide(rows, (end - first) * pitch);
        LocalTensor<int32_t> rowWords;
        if (HasWords(part)) {
            rowWords = wordsQueue.template DeQue<int32_t>();
        }
        for (; i < found; ++i) {
            const uint32_t at = isDense ? EntryOf(i) : i;
            if (at >= end) {
                break;
            }
            const uint32_t place = PlaceOf(i);
            AscendC::Add(sums[place * pitch], sums[place * pitch], wide[(at - first) * pitch], part.columns);
            if (HasWords(part)) {
                DataCopy(foundWords[place * wordPitch], rowWords[(at - first) * wordPitch], wordPitch);
            }
        }
        rowsQueue.FreeTensor(rows);
        if (HasWords(part)) {
            wordsQueue.FreeTensor(rowWords);
        }
        return i;
    }

    __aicore__ inline LocalTensor<Sum> Wide(const LocalTensor<T>& rows, uint32_t length) {
        if constexpr (WIDENS) {
            LocalTensor<Sum> wide = wideBuffer.Get<Sum>();
            Cast(wide, rows, RoundMode::CAST_NONE, length);
            return wide;
        } else {
            return rows;
        }
    }

    __aicore__ inline void Store(const Part& part) {
        LocalTensor<T> result = sumQueue.template DeQue<T>();
        LocalTensor<int32_t> foundWords = foundWordsQueue.template DeQue<int32_t>();
        const uint32_t bytes = part.columns * sizeof(T), gap = (sizes->columns - part.columns) * sizeof(T);
        const DataCopyExtParams values(part.ranks, bytes, BlocksBehind(pitch * sizeof(T), bytes), gap, 0);
        DataCopyPad(newValuesGlobal[part.rank * sizes->columns + part.column], result, values);
        if (HasWords(part)) {
            const DataCopyExtParams coordinates(part.ranks, words * sizeof(int32_t), 0, 0, 0);
            DataCopyPad(newWordsGlobal[part.rank * words], foundWords, coordinates);
        }
        sumQueue.FreeTensor(result);
        foundWordsQueue.FreeTensor(foundWords);
    }

    template <HardEvent EVENT>
    __aicore__ inline void Wait() {
        const event_t event = static_cast<event_t>(pipe->FetchEventID(EVENT));
        SetFlag<EVENT>(event);
        WaitFlag<EVENT>(event);
    }

    static constexpr uint64_t TILE = 2048;   // entries that are looked at together
    static constexpr uint32_t GROUP = 4096;  // elements of values, and words of coordinates, that are loaded together
    // About what a transfer takes, and what one of many rows takes within it.
    static constexpr uint32_t CYCLES_ALONE = 270, CYCLES_OF_ROW = 5, BYTES_A_CYCLE = 64;
    TPipe* pipe = nullptr;
    const CoalesceSparseTilingData* sizes = nullptr;
    TQue<TPosition::VECIN, 1> ranksQueue, rowsQueue, wordsQueue;
    TQue<TPosition::VECOUT, 1> sumQueue, foundWordsQueue;
    TBuf<TPosition::VECCALC> wideBuffer, sumBuffer, distanceBuffer, numberBuffer;
    TBuf<TPosition::VECCALC> foundRankBuffer, foundEntryBuffer, notBelowBuffer, belowBuffer;
    GlobalTensor<Rank> ranksGlobal;
    GlobalTensor<int32_t> wordsGlobal, newWordsGlobal;  // coordinates, seen as words of four bytes
    GlobalTensor<T> valuesGlobal, newValuesGlobal;
    uint32_t words = 0;      // of an entry's coordinates
    uint32_t pitch = 0;      // elements from one row of values or sums to the next
    uint32_t wordPitch = 0;  // words from one row of coordinates to the next
    uint32_t group = 0;      // rows that are loaded together
};

extern "C" __global__ __aicore__ void coalesce_sparse(GM_ADDR unique_len, GM_ADDR unique_indices, GM_ADDR indices,
                                                      GM_ADDR values, GM_ADDR new_indices, GM_ADDR new_values,
                                                      GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelCoalesceSparse<DTYPE_UNIQUE_INDICES, DTYPE_INDICES, DTYPE_VALUES> op;
    op.Init(&pipe, unique_indices, indices, values, new_indices, new_values, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
