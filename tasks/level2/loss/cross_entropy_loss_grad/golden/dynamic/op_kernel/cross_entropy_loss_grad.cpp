// CrossEntropyLossGrad: the gradient of the cross entropy of rows of logits, whose log-probabilities are given.
//
//     p = exp(logProb)     hard = d * (1 - s) * weight[t]     soft = d * s / c     z = zGrad * scale * 2 / n * lse
//     xGrad = p * (hard + soft * sum(weight) + z) - soft * weight, less hard where the class t stands
//
// d is the gradient of the row's loss, 0 if the row does not count. Every core takes a contiguous share of the rows and
// works on as many whole rows at a time as fit a tile. Numbers per row, and the element of its class, which would be
// cancelled where p is near 1, are the scalar unit's business.
#include "target_rows.h"

struct CrossEntropyTensors {
    GM_ADDR gradLoss;
    GM_ADDR logProb;
    GM_ADDR target;
    GM_ADDR weight;
    GM_ADDR gradZloss;
    GM_ADDR lse;
    GM_ADDR xGrad;
};

template <typename T>
class KernelCrossEntropyLossGrad {
  public:
    __aicore__ inline void Init(TPipe* pipe, const CrossEntropyTensors& tensors, GM_ADDR workspace,
                                const CrossEntropyTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.plan.share;
        rowBegin = begin < tiling.plan.rows ? begin : tiling.plan.rows;
        rowEnd = tiling.plan.rows - rowBegin < tiling.plan.share ? tiling.plan.rows : rowBegin + tiling.plan.share;
        columns = tiling.plan.columns;
        width = tiling.plan.width;
        pitch = tiling.plan.pitch;
        tileRows = tiling.plan.tileRows;
        smoothing = tiling.smoothing;
        gradPerRow = tiling.keepsRows != 0;
        divides = tiling.divides != 0;
        squares = tiling.squares != 0;
        const uint32_t numbers = (tileRows + 7) / 8 * 8;
        targets.Init(tensors.target, tensors.weight, tiling.plan.rows, columns, tiling.ignored);
        gradGlobal.SetGlobalBuffer((__gm__ T*)tensors.gradLoss);
        lseGlobal.SetGlobalBuffer((__gm__ T*)tensors.lse);
        if (squares) {
            GlobalTensor<T> zGlobal;
            zGlobal.SetGlobalBuffer((__gm__ T*)tensors.gradZloss, 1);
            zFactor = Number(zGlobal, 0) * tiling.squareScale * 2.0f / tiling.plan.rows;
        }
        logIn.Init(pipe, tensors.logProb, tileRows * pitch);
        gradOut.Init(pipe, tensors.xGrad, tileRows * pitch);
        if (HoldsWeights() || UsesWeights()) {
            weightIn.Init(pipe, tensors.weight, pitch, 1);
        }
        if (divides) {
            sums.Init(pipe, workspace);
        }
        pipe->InitBuffer(softBuffer, tileRows * pitch * sizeof(float));
        pipe->InitBuffer(eighthBuffer, (pitch / 8 + REPEAT) * sizeof(float));
        pipe->InitBuffer(factorBuffer, numbers * sizeof(float));
        pipe->InitBuffer(shiftBuffer, numbers * sizeof(float));
        pipe->InitBuffer(factorBlockBuffer, numbers * 32);
        pipe->InitBuffer(shiftBlockBuffer, numbers * 32);
    }

    __aicore__ inline void Process() {
        if (columns == 0) {
            return;
        }
        weightSum = columns;
        if (UsesWeights()) {
            AddWeights();
        }
        if (HoldsWeights()) {
            weights = weightIn.Take({0, 0}, {1, width, pitch});
            targets.Hold(weights);
        }
        if (divides) {
            DivideByWeights();
        }
        for (uint64_t row = rowBegin; row < rowEnd; row += tileRows) {
            rows = rowEnd - row < tileRows ? rowEnd - row : tileRows;
            PrepareRows(row);
            for (uint64_t column = 0; column < columns; column += width) {
                Differentiate(row, column);
            }
        }
        if (HoldsWeights()) {
            weightIn.Drop();
        }
    }

  private:
    __aicore__ inline bool HoldsWeights() const { return columns == width && targets.HasWeights(); }

    __aicore__ inline bool UsesWeights() const { return smoothing != 0.0f && targets.HasWeights(); }

    __aicore__ inline float Number(const GlobalTensor<T>& global, uint64_t index) {
        if constexpr (std::is_same<T, bfloat16_t>::value) {
            return ToFloat(global.GetValue(index));
        } else {
            return static_cast<float>(global.GetValue(index));
        }
    }

    // The mean of losses divides by the weights of the rows that count, those of all cores.
    __aicore__ inline void DivideByWeights() {
        float totals[CoreSums::MOST] = {};
        for (uint64_t row = rowBegin; row < rowEnd; ++row) {
            const int64_t target = targets.Class(row);
            totals[0] += target < 0 ? 0.0f : targets.Weight(target);
        }
        sums.Share(totals);
        divisor = totals[0];
    }

    __aicore__ inline void AddWeights() {
        LocalTensor<float> sum = factorBuffer.Get<float>();
        weightSum = 0.0f;
        for (uint64_t column = 0; column < columns; column += width) {
            const uint32_t length = columns - column < width ? columns - column : width;
            ReduceSum(sum, weightIn.Take({column, 0}, {1, length, pitch}), eighthBuffer.Get<float>(), length);
            weightIn.Drop();
            Await<HardEvent::V_S>();
            weightSum += sum.GetValue(0);
            Await<HardEvent::S_V>();
        }
    }

    __aicore__ inline float GradOf(uint64_t row) {
        return Number(gradGlobal, gradPerRow ? row : 0) / (divides ? divisor : 1.0f);
    }

    __aicore__ inline float SquareOf(uint64_t row) { return squares ? zFactor * Number(lseGlobal, row) : 0.0f; }

    // The factor of p and of the weights in every row.
    __aicore__ inline void PrepareRows(uint64_t row) {
        LocalTensor<float> factors = factorBuffer.Get<float>();
        LocalTensor<float> shifts = shiftBuffer.Get<float>();
        Await<HardEvent::V_S>();
        for (uint32_t r = 0; r < rows; ++r) {
            const int64_t target = targets.Class(row + r);
            float factor = SquareOf(row + r), soft = 0.0f;
            if (target >= 0) {
                const float grad = GradOf(row + r);
                soft = grad * smoothing / columns;
                factor += grad * (1.0f - smoothing) * targets.Weight(target) + soft * weightSum;
            }
            factors.SetValue(r, factor);
            shifts.SetValue(r, -soft);
        }
        Await<HardEvent::S_V>();
        Spread(factorBlockBuffer.Get<float>(), factors, rows);
        Spread(shiftBlockBuffer.Get<float>(), shifts, rows);
    }

    __aicore__ inline void Differentiate(uint64_t row, uint64_t column) {
        const uint32_t length = columns - column < width ? columns - column : width;
        const Tile tile{rows, length, pitch};
        const Place place{row * columns + column, columns};
        LocalTensor<float> logs = logIn.Take(place, tile);
        LocalTensor<float> result = gradOut.Begin();
        Exp(result, logs, tile.Length());
        WithRows<Times>(result, result, factorBlockBuffer.Get<float>(), rows, length, pitch);
        if (smoothing != 0.0f) {
            Soften(result, column, tile);
        }
        Await<HardEvent::V_S>();
        for (uint32_t r = 0; r < rows; ++r) {
            const int64_t target = targets.Class(row + r);
            const int64_t index = target - static_cast<int64_t>(column);
            if (target >= 0 && index >= 0 && index < length) {
                SetTarget(result, logs, row + r, r * pitch + index, target);
            }
        }
        Await<HardEvent::S_V>();
        Await<HardEvent::S_MTE3>();
        logIn.Drop();
        gradOut.Store(place, tile);
    }

    __aicore__ inline void Soften(const LocalTensor<float>& result, uint64_t column, const Tile& tile) {
        LocalTensor<float> soft = softBuffer.Get<float>();
        if (!targets.HasWeights()) {
            WithRows<Plus>(result, result, shiftBlockBuffer.Get<float>(), rows, tile.columns, pitch);
            return;
        }
        if (columns != width) {
            weights = weightIn.Take({column, 0}, {1, tile.columns, pitch});
        }
        Duplicate(soft, 1.0f, tile.Length());
        WithColumns<Times>(soft, soft, weights, rows, tile.columns, pitch);
        WithRows<Times>(soft, soft, shiftBlockBuffer.Get<float>(), rows, tile.columns, pitch);
        Add(result, result, soft, tile.Length());
        if (columns != width) {
            weightIn.Drop();
        }
    }

    // The element where the class stands. p - 1 = exp(x) - 1 comes from a series where p is near 1.
    __aicore__ inline void SetTarget(const LocalTensor<float>& result, const LocalTensor<float>& logs, uint64_t row,
                                     uint32_t index, int64_t target) {
        const float x = logs.GetValue(index);
        const float grad = GradOf(row);
        const float weight = targets.Weight(target);
        const float hard = grad * (1.0f - smoothing) * weight;
        if (x < -0.5f) {
            result.SetValue(index, result.GetValue(index) - hard);
            return;
        }
        float less = 0.0f;
        for (int32_t i = 9; i > 0; --i) {
            less = x / i * (1.0f + less);
        }
        const float soft = grad * smoothing / columns;
        const float p = 1.0f + less;
        result.SetValue(index, hard * less + soft * (p * weightSum - weight) + SquareOf(row) * p);
    }

    TargetRows targets;
    CoreSums sums;
    GlobalTensor<T> gradGlobal, lseGlobal;
    RowsIn<T> logIn;
    RowsIn<float> weightIn;
    RowsOut<T> gradOut;
    LocalTensor<float> weights;
    TBuf<TPosition::VECCALC> softBuffer, eighthBuffer;
    TBuf<TPosition::VECCALC> factorBuffer, shiftBuffer, factorBlockBuffer, shiftBlockBuffer;  // numbers per row
    uint64_t rowBegin = 0, rowEnd = 0, columns = 0;
    uint32_t width = 0, pitch = 0, tileRows = 0;
    uint32_t rows = 0;  // of the tile that is worked on
    bool gradPerRow = false, divides = false, squares = false;
    float smoothing = 0.0f, zFactor = 0.0f, divisor = 1.0f, weightSum = 0.0f;
};

extern "C" __global__ __aicore__ void cross_entropy_loss_grad(GM_ADDR gradLoss, GM_ADDR logProb, GM_ADDR target,
                                                              GM_ADDR weight, GM_ADDR gradZloss, GM_ADDR lseForZloss,
                                                              GM_ADDR xGrad, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelCrossEntropyLossGrad<DTYPE_LOG_PROB> op;
    op.Init(&pipe, {gradLoss, logProb, target, weight, gradZloss, lseForZloss, xGrad}, GetUserWorkspace(workspace),
            sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
