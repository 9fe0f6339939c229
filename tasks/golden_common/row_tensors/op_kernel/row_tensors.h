// Tensors of rows in global memory, of any element type, seen as tiles of floats on the device.
#ifndef ROW_TENSORS_H
#define ROW_TENSORS_H
#include "row_math.h"
#include "wide.h"

using namespace AscendC;

// One pipe waits for another.
template <HardEvent EVENT>
__aicore__ inline void Await() {
    const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(EVENT));
    SetFlag<EVENT>(id);
    WaitFlag<EVENT>(id);
}

// So many rows of so many columns, `pitch` floats apart; the pitch is a whole number of blocks in every element type.
struct Tile {
    uint32_t rows, columns, pitch;

    __aicore__ inline uint32_t Length() const { return rows == 1 ? columns : rows * pitch; }
};

// Where the rows of a tile lie in global memory: the place of the first one, and the distance to the next.
struct Place {
    uint64_t start, stride;
};

template <typename T>
__aicore__ inline uint32_t Gap(const Tile& tile) {
    return (tile.pitch * sizeof(T) - (tile.columns * sizeof(T) + 31) / 32 * 32) / 32;
}

template <typename T>
__aicore__ inline uint32_t Skip(const Tile& tile, const Place& place) {
    return tile.rows == 1 ? 0 : (place.stride - tile.columns) * sizeof(T);
}

// Tiles on their way in. With two buffers the next tile is copied while the last one is worked on.
template <typename T>
class RowsIn {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR address, uint32_t elements, uint32_t depth = 2) {
        global.SetGlobalBuffer((__gm__ T*)address);
        pipe->InitBuffer(queue, depth, elements * sizeof(T));
        if constexpr (!IS_FLOAT<T>) {
            pipe->InitBuffer(wideBuffer, elements * sizeof(float));
        }
    }

    // The tile as floats, until Drop.
    __aicore__ inline LocalTensor<float> Take(const Place& place, const Tile& tile) {
        Load(place, tile);
        return Use(tile);
    }

    // Take in two steps, for loads ahead of what the scalar unit waits for.
    __aicore__ inline void Load(const Place& place, const Tile& tile) {
        const DataCopyExtParams copy(tile.rows, tile.columns * sizeof(T), Skip<T>(tile, place), Gap<T>(tile), 0);
        LocalTensor<T> coming = queue.template AllocTensor<T>();
        DataCopyPad(coming, global[place.start], copy, DataCopyPadExtParams<T>());
        queue.EnQue(coming);
    }

    __aicore__ inline LocalTensor<float> Use(const Tile& tile) {
        local = queue.template DeQue<T>();
        if constexpr (IS_FLOAT<T>) {
            return local;
        } else {
            constexpr RoundMode MODE = std::is_same<T, int32_t>::value ? RoundMode::CAST_RINT : RoundMode::CAST_NONE;
            LocalTensor<float> wide = wideBuffer.template Get<float>();
            Cast(wide, local, MODE, tile.Length());
            queue.FreeTensor(local);
            return wide;
        }
    }

    __aicore__ inline void Drop() {
        if constexpr (IS_FLOAT<T>) {
            queue.FreeTensor(local);
        }
    }

  private:
    GlobalTensor<T> global;
    TQue<TPosition::VECIN, 1> queue;
    TBuf<TPosition::VECCALC> wideBuffer;
    LocalTensor<T> local;
};

// Tiles on their way out: computed as floats between Begin and Store, which rounds them.
template <typename T>
class RowsOut {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR address, uint32_t elements) {
        global.SetGlobalBuffer((__gm__ T*)address);
        pipe->InitBuffer(queue, 2, elements * sizeof(T));
        if constexpr (!IS_FLOAT<T>) {
            pipe->InitBuffer(wideBuffer, elements * sizeof(float));
        }
        if constexpr (std::is_same<T, int8_t>::value) {
            pipe->InitBuffer(wholeBuffer, elements * sizeof(int16_t));
        }
    }

    __aicore__ inline LocalTensor<float> Begin() {
        if constexpr (IS_FLOAT<T>) {
            local = queue.template AllocTensor<T>();
            return local;
        } else {
            return wideBuffer.template Get<float>();
        }
    }

    __aicore__ inline void Store(const Place& place, const Tile& tile) {
        if constexpr (!IS_FLOAT<T>) {
            local = queue.template AllocTensor<T>();
            Round(tile.Length());
        }
        queue.EnQue(local);
        const DataCopyExtParams copy(tile.rows, tile.columns * sizeof(T), Gap<T>(tile), Skip<T>(tile, place), 0);
        LocalTensor<T> going = queue.template DeQue<T>();
        DataCopyPad(global[place.start], going, copy);
        queue.FreeTensor(going);
    }

  private:
    // Halves and bfloat16 to the nearest, ties to even. Bytes are saturated and rounded as floats, because a half that
    // is no integer would be rounded twice.
    __aicore__ inline void Round(uint32_t length) {
        LocalTensor<float> wide = wideBuffer.template Get<float>();
        if constexpr (std::is_same<T, int8_t>::value) {
            Mins(wide, wide, 127.0f, length);
            Maxs(wide, wide, -128.0f, length);
            LocalTensor<int16_t> whole = wholeBuffer.template Get<int16_t>();
            LocalTensor<half> narrow = wholeBuffer.template Get<half>();
            Cast(whole, wide, RoundMode::CAST_RINT, length);
            Cast(narrow, whole, RoundMode::CAST_NONE, length);
            Cast(local, narrow, RoundMode::CAST_RINT, length);
        } else if constexpr (!IS_FLOAT<T>) {
            Cast(local, wide, RoundMode::CAST_RINT, length);
        }
    }

    GlobalTensor<T> global;
    TQue<TPosition::VECOUT, 1> queue;
    TBuf<TPosition::VECCALC> wideBuffer, wholeBuffer;
    LocalTensor<T> local;
};

// sum[r] = the sum of row r. `lanes` has the layout of x and may be x, which is then overwritten; `eighths` has room
// for an eighth of it.
__aicore__ inline void SumTile(const LocalTensor<float>& sum, const LocalTensor<float>& x,
                               const LocalTensor<float>& lanes, const LocalTensor<float>& eighths, const Tile& tile) {
    const uint32_t columns = tile.columns;
    const bool whole = columns % REPEAT == 0 && tile.pitch == columns;
    if (columns <= REPEAT || whole || tile.pitch > MAX_PITCH || tile.rows == 1) {
        SumRows(sum, x, eighths, tile.rows, columns, tile.pitch);
        return;
    }
    // Every row is folded to 64 lanes, all rows at once.
    const uint8_t distance = tile.pitch / 8;
    const BinaryRepeatParams fold(1, 1, 1, distance, distance, distance);
    uint32_t column = 2 * REPEAT;
    if (columns >= column) {
        Add(lanes, x, x[REPEAT], REPEAT, tile.rows, fold);
    } else {
        Adds(lanes, x, 0.0f, REPEAT, tile.rows, UnaryRepeatParams(1, 1, distance, distance));
        column = REPEAT;
    }
    for (; column < columns; column += REPEAT) {
        const uint32_t left = columns - column < REPEAT ? columns - column : REPEAT;
        Add(lanes, lanes, x[column], left, tile.rows, fold);
    }
    WholeReduceSum(sum, lanes, REPEAT, tile.rows, 1, 1, distance);
}

// Adds all rows of x to its first one.
__aicore__ inline void FoldRows(const LocalTensor<float>& x, uint32_t rows, uint32_t pitch) {
    while (rows > 1) {
        const uint32_t half = (rows + 1) / 2;
        Add(x, x, x[half * pitch], (rows - half) * pitch);
        rows = half;
    }
}

// x = 1 / x.
__aicore__ inline void Invert(const LocalTensor<float>& x, const LocalTensor<float>& ones, uint32_t length) {
    Duplicate(ones, 1.0f, length);
    Div(x, ones, x, length);
}

// A block of eight per number, as WithRows wants them.
__aicore__ inline void Spread(const LocalTensor<float>& blocks, const LocalTensor<float>& numbers, uint32_t count) {
    Brcb(blocks, numbers, (count + 7) / 8, BrcbRepeatParams(1, 8));
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
