// Where in a vector with a stride the element of greatest or least magnitude is, counted from one; the first of
// several. The magnitude of a complex number is |Re| + |Im|.
//
// Every lane remembers the best magnitude it has seen, and in which tile. At the end the best of all lanes is looked
// for, among those that have it the earliest tile, and in that tile the first lane: numbers of tiles and lanes are
// small, so that floats hold them. Least magnitudes are greatest negated ones. What the cores found reaches core 0
// through the workspace; a short vector has one core, which waits for nobody.
#ifndef STRIDED_EXTREME_H
#define STRIDED_EXTREME_H
#include "strided.h"

template <uint32_t PARTS, bool LEAST>
class StridedExtreme {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR result, GM_ADDR workspace,
                                const StridedTilingData& sizes) {
        this->pipe = pipe;
        tile = sizes.tile;
        pitch = sizes.pitch;
        room = tile * pitch;
        vector.Init(x, sizes);
        resultGlobal.SetGlobalBuffer((__gm__ int32_t*)result, 1);
        foundGlobal.SetGlobalBuffer((__gm__ float*)workspace, GetBlockNum() * 2 * BLOCK);
        // What the cores found takes a block of each.
        lanes = room < GetBlockNum() * BLOCK ? (GetBlockNum() * BLOCK + 63) / 64 * 64 : room;
        pipe->InitBuffer(xQueue, 2, PARTS * room * sizeof(float));
        pipe->InitBuffer(magnitudeBuffer, lanes * sizeof(float));
        pipe->InitBuffer(bestBuffer, lanes * sizeof(float));
        pipe->InitBuffer(seenBuffer, lanes * sizeof(float));
        pipe->InitBuffer(numberBuffer, lanes * sizeof(float));
        pipe->InitBuffer(bitsBuffer, lanes / 8);
        pipe->InitBuffer(scalarBuffer, 3 * BLOCK * sizeof(float));
        counting.Init(pipe, room, pitch);
        CreateVecIndex(numberBuffer.Get<float>(), 0.0f, lanes);
        Duplicate(bestBuffer.Get<float>(), NONE, lanes);
        Duplicate(seenBuffer.Get<float>(), 0.0f, lanes);
    }

    __aicore__ inline void Process() {
        float number = 0.0f;
        for (uint64_t offset = 0; offset < vector.count; offset += tile) {
            const uint32_t length = vector.count - offset < tile ? vector.count - offset : tile;
            LocalTensor<float> x = xQueue.AllocTensor<float>();
            vector.Load(x, offset, length);
            xQueue.EnQue(x);
            LookAt(vector.Lanes(length), number);
            number += 1.0f;
        }
        LocalTensor<float> best = bestBuffer.Get<float>();
        LocalTensor<float> seen = seenBuffer.Get<float>();
        const float top = Greatest(best, room);
        const uint32_t inTile = Least(seen, best, top, room);
        KeepOnly(seen, best, top, room);
        const uint32_t lane = Least(numberBuffer.Get<float>(), seen, inTile, room);
        int32_t found = vector.first + static_cast<uint64_t>(inTile) * tile + lane / pitch + 1;
        if (GetBlockNum() > 1) {
            Publish(top, found);
            SyncAll();
            if (GetBlockIdx() == 0) {
                found = Collect();
            }
        }
        if (GetBlockIdx() == 0) {
            Write(found);
        }
    }

  private:
    // A tile: lanes in which it has something better remember that.
    __aicore__ inline void LookAt(uint32_t length, float number) {
        LocalTensor<float> x = xQueue.DeQue<float>();
        LocalTensor<float> magnitude = magnitudeBuffer.Get<float>();
        LocalTensor<float> best = bestBuffer.Get<float>();
        LocalTensor<float> seen = seenBuffer.Get<float>();
        LocalTensor<uint8_t> bits = bitsBuffer.Get<uint8_t>();
        if constexpr (PARTS == 2) {
            Abs(x, x, PARTS * length);
            AddPairs(magnitude, x, length);
        } else {
            Abs(magnitude, x, length);
        }
        xQueue.FreeTensor(x);
        if constexpr (LEAST) {
            Muls(magnitude, magnitude, -1.0f, length);
        }
        counting.FillGaps(magnitude, NONE, length);
        Compare(bits, magnitude, best, CMPMODE::LE, (length + 63) / 64 * 64);
        Select(seen, bits, seen, number, SELMODE::VSEL_TENSOR_SCALAR_MODE, length);
        Max(best, best, magnitude, length);
    }

    __aicore__ inline void AddPairs(const LocalTensor<float>& sum, const LocalTensor<float>& x, uint32_t pairs) {
        constexpr uint32_t REPEAT = 64;
        const uint32_t repeats = 2 * pairs / REPEAT, rest = 2 * pairs % REPEAT;
        if (repeats > 0) {
            PairReduceSum(sum, x, repeats, REPEAT, 1, 1, 8);
        }
        if (rest > 0) {
            PairReduceSum(sum[repeats * REPEAT / 2], x[repeats * REPEAT], 1, rest, 1, 1, 8);
        }
    }

    __aicore__ inline float Greatest(const LocalTensor<float>& x, uint32_t count) {
        LocalTensor<float> scalar = scalarBuffer.Get<float>();
        ReduceMax(scalar, x, magnitudeBuffer.Get<float>(), count);
        Wait<HardEvent::V_S>(pipe);
        return scalar.GetValue(0);
    }

    // Where `keys` is not `key`, x becomes greater than any number of a tile or lane.
    __aicore__ inline void KeepOnly(const LocalTensor<float>& x, const LocalTensor<float>& keys, float key,
                                    uint32_t count) {
        LocalTensor<uint8_t> bits = bitsBuffer.Get<uint8_t>();
        Wait<HardEvent::S_V>(pipe);
        CompareScalar(bits, keys, key, CMPMODE::EQ, count);
        Select(x, bits, x, -NONE, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    }

    // The least of those x whose key is `key`.
    __aicore__ inline uint32_t Least(const LocalTensor<float>& x, const LocalTensor<float>& keys, float key,
                                     uint32_t count) {
        LocalTensor<float> scalar = scalarBuffer.Get<float>();
        LocalTensor<float> magnitude = magnitudeBuffer.Get<float>();
        LocalTensor<uint8_t> bits = bitsBuffer.Get<uint8_t>();
        Wait<HardEvent::S_V>(pipe);
        CompareScalar(bits, keys, key, CMPMODE::EQ, count);
        Select(magnitude, bits, x, -NONE, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
        ReduceMin(scalar, magnitude, magnitude, count);
        Wait<HardEvent::V_S>(pipe);
        return scalar.GetValue(0);
    }

    // Two blocks of the workspace: the magnitude and seven that are less than any, and where it is.
    __aicore__ inline void Publish(float top, int32_t found) {
        LocalTensor<float> blocks = scalarBuffer.Get<float>()[BLOCK];
        Wait<HardEvent::S_V>(pipe);
        Duplicate(blocks, NONE, 2 * BLOCK);
        Wait<HardEvent::V_S>(pipe);
        if (vector.count > 0) {
            blocks.SetValue(0, top);
            blocks.ReinterpretCast<int32_t>().SetValue(BLOCK, found);
        }
        Wait<HardEvent::S_MTE3>(pipe);
        DataCopy(foundGlobal[GetBlockIdx() * 2 * BLOCK], blocks, 2 * BLOCK);
    }

    // Cores have the elements in their order: of equal magnitudes the first one is the earliest.
    __aicore__ inline int32_t Collect() {
        const uint16_t cores = GetBlockNum();
        const uint32_t length = cores * BLOCK;
        LocalTensor<float> best = bestBuffer.Get<float>();
        LocalTensor<int32_t> places = seenBuffer.Get<int32_t>();
        Wait<HardEvent::V_MTE2>(pipe);
        const DataCopyParams oneOfTwo(cores, 1, 1, 0);
        DataCopy(best, foundGlobal, oneOfTwo);
        DataCopy(places.ReinterpretCast<float>(), foundGlobal[BLOCK], oneOfTwo);
        Wait<HardEvent::MTE2_V>(pipe);
        Wait<HardEvent::MTE2_S>(pipe);
        const uint32_t whole = (length + 63) / 64 * 64;
        if (whole > length) {
            Duplicate(best[length], NONE, whole - length);
        }
        const float top = Greatest(best, whole);
        const uint32_t lane = Least(numberBuffer.Get<float>(), best, top, whole);
        return places.GetValue(lane);
    }

    __aicore__ inline void Write(int32_t found) {
        LocalTensor<int32_t> result = scalarBuffer.Get<int32_t>();
        result.SetValue(0, found);
        Wait<HardEvent::S_MTE3>(pipe);
        const DataCopyExtParams one(1, sizeof(int32_t), 0, 0, 0);
        DataCopyPad(resultGlobal, result, one);
    }

    static constexpr uint32_t BLOCK = 32 / sizeof(float);
    static constexpr float NONE = -__builtin_inff();
    TPipe* pipe = nullptr;
    StridedVector<float, PARTS> vector;
    Counting counting;
    TQue<TPosition::VECIN, 1> xQueue;
    TBuf<TPosition::VECCALC> magnitudeBuffer, bestBuffer, seenBuffer, numberBuffer, bitsBuffer;
    TBuf<TPosition::VECCALC> scalarBuffer;  // a result, and what is published
    GlobalTensor<int32_t> resultGlobal;
    GlobalTensor<float> foundGlobal;
    uint32_t tile = 0;   // elements that count
    uint32_t pitch = 1;
    uint32_t room = 0;   // elements with gaps
    uint32_t lanes = 0;  // room, or more where the cores' results need it
};

template <uint32_t PARTS, bool LEAST>
__aicore__ inline void RunStridedExtreme(GM_ADDR x, GM_ADDR result, GM_ADDR workspace,
                                         const StridedTilingData& sizes) {
    TPipe pipe;
    StridedExtreme<PARTS, LEAST> op;
    op.Init(&pipe, x, result, GetUserWorkspace(workspace), sizes);
    op.Process();
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
