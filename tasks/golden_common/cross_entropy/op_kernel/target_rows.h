// What the cross entropy and its gradient have in common on the device: classes of rows and their weights, which the
// scalar unit reads one by one, and sums over all rows of all cores.
#ifndef TARGET_ROWS_H
#define TARGET_ROWS_H
#include "row_tensors.h"

class TargetRows {
  public:
    __aicore__ inline void Init(GM_ADDR target, GM_ADDR weight, uint64_t rows, uint64_t columns, int64_t ignored) {
        targetGlobal.SetGlobalBuffer((__gm__ int64_t*)target, rows);
        weightGlobal.SetGlobalBuffer((__gm__ float*)weight, columns);
        weighted = weight != nullptr;
        this->ignored = ignored;
    }

    // The class of a row, or -1 if the row does not count.
    __aicore__ inline int64_t Class(uint64_t row) {
        const int64_t target = targetGlobal.GetValue(row);
        return target == ignored ? -1 : target;
    }

    // From global memory, or much faster from where all weights are held on the chip.
    __aicore__ inline float Weight(int64_t target) {
        return !weighted ? 1.0f : held ? weights.GetValue(target) : weightGlobal.GetValue(target);
    }

    __aicore__ inline void Hold(const LocalTensor<float>& all) {
        weights = all;
        held = true;
        Await<HardEvent::MTE2_S>();
    }

    __aicore__ inline bool HasWeights() const { return weighted; }

  private:
    GlobalTensor<int64_t> targetGlobal;
    GlobalTensor<float> weightGlobal;
    int64_t ignored = 0;
    LocalTensor<float> weights;
    bool weighted = false, held = false;
};

// Sums of a few numbers over all cores, always in the same order.
class CoreSums {
  public:
    static constexpr uint32_t MOST = 8;  // numbers of a core: a block of 32 bytes

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR workspace) {
        mine.Init(pipe, workspace, MOST);
        all.Init(pipe, workspace, GetBlockNum() * MOST, 1);
    }

    // `numbers` of this core become those of all cores; every core must come here.
    __aicore__ inline void Share(float (&numbers)[MOST]) {
        LocalTensor<float> block = mine.Begin();
        Await<HardEvent::MTE3_S>();
        for (uint32_t i = 0; i < MOST; ++i) {
            block.SetValue(i, numbers[i]);
        }
        Await<HardEvent::S_MTE3>();
        mine.Store({static_cast<uint64_t>(GetBlockIdx()) * MOST, 0}, {1, MOST, MOST});
        PipeBarrier<PIPE_ALL>();
        SyncAll();
        const uint32_t length = GetBlockNum() * MOST;
        LocalTensor<float> blocks = all.Take({0, 0}, {1, length, length});
        FoldRows(blocks, GetBlockNum(), MOST);
        Await<HardEvent::V_S>();
        for (uint32_t i = 0; i < MOST; ++i) {
            numbers[i] = blocks.GetValue(i);
        }
        all.Drop();
    }

  private:
    RowsOut<float> mine;
    RowsIn<float> all;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
