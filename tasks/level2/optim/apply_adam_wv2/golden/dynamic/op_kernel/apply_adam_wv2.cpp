// ApplyAdamWV2: one step of Adam with decoupled weight decay, in place.
//
//     m = beta1 * m + (1 - beta1) * grad     v = beta2 * v + (1 - beta2) * grad^2     largest = max(largest, v)
//     var = var * (1 - rate * weightDecay) - rate / c1 * m / (sqrt(s / c2) + epsilon)
//
// s is v, or the largest second moment so far; c1 and c2 correct the moments for their start at zero. The gradient
// changes its sign to climb. Every core takes one contiguous share of the tensors and walks through it in tiles; all
// arithmetic is in float.
#include "row_tensors.h"

template <typename T, typename S>
class KernelApplyAdamWV2 {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR var, GM_ADDR m, GM_ADDR v, GM_ADDR grad, GM_ADDR step,
                                GM_ADDR largest, const ApplyAdamWV2TilingData& tiling) {
        const uint64_t first = GetBlockIdx() * tiling.share;
        begin = first < tiling.total ? first : tiling.total;
        end = tiling.total - begin < tiling.share ? tiling.total : begin + tiling.share;
        tileLength = tiling.tile;
        usesLargest = tiling.largest != 0;
        sign = tiling.sign;
        beta1 = tiling.beta1;
        beta2 = tiling.beta2;
        epsilon = tiling.epsilon;
        decay = 1.0f - tiling.rate * tiling.weightDecay;
        GlobalTensor<S> stepGlobal;
        stepGlobal.SetGlobalBuffer((__gm__ S*)step, 1);
        const int64_t steps = static_cast<int64_t>(stepGlobal.GetValue(0)) + 1;
        scaledRate = tiling.rate / Complement(1.0f - beta1, steps);
        correction = 1.0f / Complement(1.0f - beta2, steps);
        varIn.Init(pipe, var, tileLength);
        mIn.Init(pipe, m, tileLength);
        vIn.Init(pipe, v, tileLength);
        gradIn.Init(pipe, grad, tileLength);
        varOut.Init(pipe, var, tileLength);
        mOut.Init(pipe, m, tileLength);
        vOut.Init(pipe, v, tileLength);
        if (usesLargest) {
            largestIn.Init(pipe, largest, tileLength);
            largestOut.Init(pipe, largest, tileLength);
        }
        pipe->InitBuffer(stepBuffer, tileLength * sizeof(float));
    }

    __aicore__ inline void Process() {
        for (uint64_t offset = begin; offset < end; offset += tileLength) {
            const uint32_t length = end - offset < tileLength ? end - offset : tileLength;
            Step({offset, 0}, {1, length, tileLength});
        }
    }

  private:
    // 1 - (1 - x)^n by squaring. Complements are added up as a + b - ab, so that nothing cancels where x is small.
    __aicore__ inline float Complement(float x, int64_t n) {
        float result = 0.0f;
        for (float power = x; n > 0; n >>= 1) {
            if ((n & 1) != 0) {
                result += power * (1.0f - result);
            }
            power *= 2.0f - power;
        }
        return result;
    }

    __aicore__ inline void Step(const Place& place, const Tile& tile) {
        const uint32_t length = tile.columns;
        LocalTensor<float> grad = gradIn.Take(place, tile);
        LocalTensor<float> m = mOut.Begin();
        Muls(m, mIn.Take(place, tile), beta1, length);
        mIn.Drop();
        Axpy(m, grad, sign * (1.0f - beta1), length);
        LocalTensor<float> step = stepBuffer.Get<float>();
        Mul(step, grad, grad, length);
        gradIn.Drop();
        LocalTensor<float> v = vOut.Begin();
        Muls(v, vIn.Take(place, tile), beta2, length);
        vIn.Drop();
        Axpy(v, step, 1.0f - beta2, length);
        if (usesLargest) {
            LocalTensor<float> largest = largestOut.Begin();
            Max(largest, largestIn.Take(place, tile), v, length);
            largestIn.Drop();
            Muls(step, largest, correction, length);
            largestOut.Store(place, tile);
        } else {
            Muls(step, v, correction, length);
        }
        vOut.Store(place, tile);
        Sqrt(step, step, length);
        Adds(step, step, epsilon, length);
        Div(step, m, step, length);
        mOut.Store(place, tile);
        LocalTensor<float> var = varOut.Begin();
        Muls(var, varIn.Take(place, tile), decay, length);
        varIn.Drop();
        Axpy(var, step, -scaledRate, length);
        varOut.Store(place, tile);
    }

    RowsIn<T> varIn, mIn, vIn, gradIn, largestIn;
    RowsOut<T> varOut, mOut, vOut, largestOut;
    TBuf<TPosition::VECCALC> stepBuffer;
    uint64_t begin = 0, end = 0;
    uint32_t tileLength = 0;
    bool usesLargest = false;
    float sign = 1.0f, beta1 = 0.0f, beta2 = 0.0f, epsilon = 0.0f;
    float decay = 1.0f, scaledRate = 0.0f, correction = 1.0f;  // 1 - rate * weightDecay, rate / c1 and 1 / c2
};

// The results are written to the memory of the inputs; the tensors that begin with new are that memory.
extern "C" __global__ __aicore__ void apply_adam_wv2(GM_ADDR var, GM_ADDR m, GM_ADDR v, GM_ADDR grad, GM_ADDR step,
                                                     GM_ADDR maxGradNorm, GM_ADDR newVar, GM_ADDR newM, GM_ADDR newV,
                                                     GM_ADDR newMaxGradNorm, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelApplyAdamWV2<DTYPE_VAR, DTYPE_STEP> op;
    op.Init(&pipe, var, m, v, grad, step, maxGradNorm, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
