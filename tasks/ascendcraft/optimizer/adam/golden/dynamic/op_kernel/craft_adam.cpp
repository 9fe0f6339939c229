// CraftAdam: one step of Adam with bias correction; the corrections are computed once, on the host.
//
// Lowered from a tile program.

#include "kernel_operator.h"

using namespace AscendC;

namespace {
template <typename T>
__aicore__ inline T Least(T a, T b) {
    return a < b ? a : b;
}

// Bytes of so many elements, in whole repeats of the vector unit.
template <typename T>
__aicore__ inline uint32_t Bytes(int64_t elements) {
    return static_cast<uint32_t>((elements * sizeof(T) + 255) / 256 * 256);
}
}  // namespace

class KernelCraftAdam {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR param, GM_ADDR grad, GM_ADDR m, GM_ADDR v, GM_ADDR param_out,
        const CraftAdamTilingData& numbers) {
        beta1 = numbers.beta1;
        beta2 = numbers.beta2;
        lr = numbers.lr;
        eps = numbers.eps;
        step = numbers.step;
        total = numbers.total;
        share = numbers.share;
        tile = numbers.tile;
        correction1 = numbers.correction1;
        correction2 = numbers.correction2;
        paramGlobal.SetGlobalBuffer((__gm__ float*)param);
        gradGlobal.SetGlobalBuffer((__gm__ float*)grad);
        mGlobal.SetGlobalBuffer((__gm__ float*)m);
        vGlobal.SetGlobalBuffer((__gm__ float*)v);
        param_outGlobal.SetGlobalBuffer((__gm__ float*)param_out);
        pipe->InitBuffer(param_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(grad_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(m_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(v_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(resultQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(denominatorBuffer, Bytes<float>(tile));
        pipe->InitBuffer(temporary0Buffer, Bytes<float>(tile));
    }

    __aicore__ inline void Process() {
        const int64_t begin = static_cast<int64_t>(GetBlockIdx()) * share;
        const int64_t count_ = Least<int64_t>(share, total - begin);
        for (int64_t offset = 0; offset < count_; offset += tile) {
            const int64_t length = Least<int64_t>(tile, count_ - offset);
            CopyIn(begin, offset, length);
            Compute(length);
            CopyOut(begin, offset, length);
        }
    }

  private:
    __aicore__ inline void CopyIn(int64_t begin, int64_t offset, int64_t length) {
        LocalTensor<float> param_tile = param_tileQueue.AllocTensor<float>();
        LocalTensor<float> grad_tile = grad_tileQueue.AllocTensor<float>();
        LocalTensor<float> m_tile = m_tileQueue.AllocTensor<float>();
        LocalTensor<float> v_tile = v_tileQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(param_tile, paramGlobal[begin + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(grad_tile, gradGlobal[begin + offset], copy2, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(m_tile, mGlobal[begin + offset], copy3, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy4{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(v_tile, vGlobal[begin + offset], copy4, DataCopyPadExtParams<float>{false, 0, 0, 0});
        param_tileQueue.EnQue(param_tile);
        grad_tileQueue.EnQue(grad_tile);
        m_tileQueue.EnQue(m_tile);
        v_tileQueue.EnQue(v_tile);
    }

    __aicore__ inline void Compute(int64_t length) {
        const uint32_t count = static_cast<uint32_t>(length);
        LocalTensor<float> grad_tile = grad_tileQueue.DeQue<float>();
        LocalTensor<float> v_tile = v_tileQueue.DeQue<float>();
        LocalTensor<float> param_tile = param_tileQueue.DeQue<float>();
        LocalTensor<float> m_tile = m_tileQueue.DeQue<float>();
        LocalTensor<float> denominator = denominatorBuffer.Get<float>();
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        Mul(denominator, grad_tile, grad_tile, count);
        Muls(denominator, denominator, 1.0f - beta2, count);
        Muls(temporary0, v_tile, beta2, count);
        Add(denominator, denominator, temporary0, count);
        Muls(denominator, denominator, correction2, count);
        Sqrt(denominator, denominator, count);
        Adds(denominator, denominator, eps, count);
        Muls(result, grad_tile, 1.0f - beta1, count);
        Muls(temporary0, m_tile, beta1, count);
        Add(result, result, temporary0, count);
        Muls(result, result, correction1 * lr, count);
        Div(result, result, denominator, count);
        Sub(result, param_tile, result, count);
        resultQueue.EnQue(result);
        grad_tileQueue.FreeTensor(grad_tile);
        v_tileQueue.FreeTensor(v_tile);
        param_tileQueue.FreeTensor(param_tile);
        m_tileQueue.FreeTensor(m_tile);
    }

    __aicore__ inline void CopyOut(int64_t begin, int64_t offset, int64_t length) {
        LocalTensor<float> result = resultQueue.DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(param_outGlobal[begin + offset], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<float> paramGlobal;
    GlobalTensor<float> gradGlobal;
    GlobalTensor<float> mGlobal;
    GlobalTensor<float> vGlobal;
    GlobalTensor<float> param_outGlobal;
    TQue<TPosition::VECIN, 1> param_tileQueue;
    TQue<TPosition::VECIN, 1> grad_tileQueue;
    TQue<TPosition::VECIN, 1> m_tileQueue;
    TQue<TPosition::VECIN, 1> v_tileQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> denominatorBuffer;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    float beta1;
    float beta2;
    float lr;
    float eps;
    int64_t step;
    int64_t total;
    int64_t share;
    int64_t tile;
    float correction1;
    float correction2;
};

extern "C" __global__ __aicore__ void craft_adam(GM_ADDR param, GM_ADDR grad, GM_ADDR m, GM_ADDR v,
    GM_ADDR param_out, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftAdam op;
    op.Init(&pipe, param, grad, m, v, param_out, numbers);
    op.Process();
}
