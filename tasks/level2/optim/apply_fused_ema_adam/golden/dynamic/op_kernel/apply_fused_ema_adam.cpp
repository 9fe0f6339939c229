// ApplyFusedEmaAdam: one step of Adam with a moving average of the weights, in place.
//
//     g = grad + weightDecay * var unless decoupled, else grad
//     m = beta1 * m + (1 - beta1) * g
//     v = beta2 * v + (1 - beta2) * g^2
//     var = var - rate * (m / c1) / (sqrt(v / c2) + epsilon), less rate * weightDecay * var if decoupled
//     s = emaDecay * s + (1 - emaDecay) * var
//
// Every core takes one contiguous share of the tensors and walks through it in tiles; only the last share and the last
// tile of a share are shorter. Two buffers per queue let the copies of one tile run beside the computation of another.
// All arithmetic is in float.
#include "wide.h"

using namespace AscendC;

template <typename T>
class KernelApplyFusedEmaAdam {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR grad, GM_ADDR var, GM_ADDR m, GM_ADDR v, GM_ADDR s, GM_ADDR step,
                                const ApplyFusedEmaAdamTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.share;
        if (begin < tiling.total) {
            count = tiling.total - begin < tiling.share ? tiling.total - begin : tiling.share;
        }
        tile = tiling.tile;
        decoupled = tiling.decoupled != 0;
        rate = tiling.rate;
        emaDecay = tiling.emaDecay;
        beta1 = tiling.beta1;
        beta2 = tiling.beta2;
        epsilon = tiling.epsilon;
        weightDecay = tiling.weightDecay;
        scaledRate = rate;
        if (tiling.corrected != 0) {
            GlobalTensor<int64_t> stepGlobal;
            stepGlobal.SetGlobalBuffer((__gm__ int64_t*)step, 1);
            const int64_t steps = stepGlobal.GetValue(0);
            scaledRate = rate / Complement(1.0f - beta1, steps);
            correction = 1.0f / Complement(1.0f - beta2, steps);
        }
        GM_ADDR addresses[TENSORS] = {grad, var, m, v, s};
        for (uint32_t i = 0; i < TENSORS; ++i) {
            globals[i].SetGlobalBuffer((__gm__ T*)addresses[i] + begin, count);
            pipe->InitBuffer(inQueues[i], 2, tile * sizeof(T));
            if constexpr (!IS_FLOAT<T>) {
                pipe->InitBuffer(wideBuffers[i], tile * sizeof(float));
            }
        }
        for (uint32_t i = VAR; i < TENSORS; ++i) {
            pipe->InitBuffer(outQueues[i], 2, tile * sizeof(T));
        }
        pipe->InitBuffer(stepBuffer, tile * sizeof(float));
    }

    __aicore__ inline void Process() {
        for (uint64_t offset = 0; offset < count; offset += tile) {
            const uint32_t length = count - offset < tile ? count - offset : tile;
            CopyIn(offset, length);
            Compute(length);
            CopyOut(offset, length);
        }
    }

  private:
    enum { GRAD, VAR, M, V, S, TENSORS };

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

    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length * sizeof(T), 0, 0, 0);
        for (uint32_t i = 0; i < TENSORS; ++i) {
            LocalTensor<T> tensor = inQueues[i].template AllocTensor<T>();
            DataCopyPad(tensor, globals[i][offset], copy, DataCopyPadExtParams<T>());
            inQueues[i].EnQue(tensor);
        }
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<T> in[TENSORS], out[TENSORS];
        LocalTensor<float> x[TENSORS], y[TENSORS];  // before and after the step
        for (uint32_t i = 0; i < TENSORS; ++i) {
            in[i] = inQueues[i].template DeQue<T>();
            x[i] = Widen(in[i], wideBuffers[i], length);
        }
        for (uint32_t i = VAR; i < TENSORS; ++i) {
            out[i] = outQueues[i].template AllocTensor<T>();
            y[i] = WideResult(out[i], wideBuffers[i]);
        }
        Step(x, y, length);
        for (uint32_t i = VAR; i < TENSORS; ++i) {
            Narrow(out[i], y[i], length);
            outQueues[i].EnQue(out[i]);
        }
        for (uint32_t i = 0; i < TENSORS; ++i) {
            inQueues[i].FreeTensor(in[i]);
        }
    }

    __aicore__ inline void Step(LocalTensor<float> (&x)[TENSORS], LocalTensor<float> (&y)[TENSORS], uint32_t length) {
        LocalTensor<float> step = stepBuffer.Get<float>();
        if (!decoupled) {
            Axpy(x[GRAD], x[VAR], weightDecay, length);
        }
        Muls(y[M], x[M], beta1, length);
        Axpy(y[M], x[GRAD], 1.0f - beta1, length);
        Mul(x[GRAD], x[GRAD], x[GRAD], length);
        Muls(y[V], x[V], beta2, length);
        Axpy(y[V], x[GRAD], 1.0f - beta2, length);

        Muls(step, y[V], correction, length);
        Sqrt(step, step, length);
        Adds(step, step, epsilon, length);
        Div(step, y[M], step, length);
        Muls(step, step, scaledRate, length);
        if (decoupled) {
            Axpy(step, x[VAR], rate * weightDecay, length);
        }
        Sub(y[VAR], x[VAR], step, length);
        Muls(y[S], x[S], emaDecay, length);
        Axpy(y[S], y[VAR], 1.0f - emaDecay, length);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length * sizeof(T), 0, 0, 0);
        for (uint32_t i = VAR; i < TENSORS; ++i) {
            LocalTensor<T> tensor = outQueues[i].template DeQue<T>();
            DataCopyPad(globals[i][offset], tensor, copy);
            outQueues[i].FreeTensor(tensor);
        }
    }

    TQue<TPosition::VECIN, 1> inQueues[TENSORS];
    TQue<TPosition::VECOUT, 1> outQueues[TENSORS];  // none for the gradient
    TBuf<TPosition::VECCALC> wideBuffers[TENSORS], stepBuffer;
    GlobalTensor<T> globals[TENSORS];
    uint64_t count = 0;
    uint32_t tile = 0;
    bool decoupled = false;
    float rate = 0.0f, emaDecay = 0.0f, beta1 = 0.0f, beta2 = 0.0f, epsilon = 0.0f, weightDecay = 0.0f;
    float scaledRate = 0.0f, correction = 1.0f;  // rate / c1 and 1 / c2
};

// The results are written to the memory of the inputs; newVar, newM, newV and newS are that memory.
extern "C" __global__ __aicore__ void apply_fused_ema_adam(GM_ADDR grad, GM_ADDR var, GM_ADDR m, GM_ADDR v, GM_ADDR s,
                                                           GM_ADDR step, GM_ADDR newVar, GM_ADDR newM, GM_ADDR newV,
                                                           GM_ADDR newS, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelApplyFusedEmaAdam<DTYPE_GRAD> op;
    op.Init(&pipe, grad, var, m, v, s, step, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
