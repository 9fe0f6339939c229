// CraftRmsprop: param - lr * grad / (sqrt(alpha * v + (1 - alpha) * grad^2) + eps).
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

class KernelCraftRmsprop {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR param, GM_ADDR grad, GM_ADDR v, GM_ADDR param_out,
        const CraftRmspropTilingData& numbers) {
        lr = numbers.lr;
        alpha = numbers.alpha;
        eps = numbers.eps;
        total = numbers.total;
        share = numbers.share;
        tile = numbers.tile;
        paramGlobal.SetGlobalBuffer((__gm__ float*)param);
        gradGlobal.SetGlobalBuffer((__gm__ float*)grad);
        vGlobal.SetGlobalBuffer((__gm__ float*)v);
        param_outGlobal.SetGlobalBuffer((__gm__ float*)param_out);
        pipe->InitBuffer(param_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(grad_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(v_tileQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(resultQueue, 2, Bytes<float>(tile));
        pipe->InitBuffer(temporary0Buffer, Bytes<float>(tile));
        pipe->InitBuffer(temporary1Buffer, Bytes<float>(tile));
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
        LocalTensor<float> v_tile = v_tileQueue.AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(param_tile, paramGlobal[begin + offset], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(grad_tile, gradGlobal[begin + offset], copy2, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(v_tile, vGlobal[begin + offset], copy3, DataCopyPadExtParams<float>{false, 0, 0, 0});
        param_tileQueue.EnQue(param_tile);
        grad_tileQueue.EnQue(grad_tile);
        v_tileQueue.EnQue(v_tile);
    }

    __aicore__ inline void Compute(int64_t length) {
        const uint32_t count = static_cast<uint32_t>(length);
        LocalTensor<float> param_tile = param_tileQueue.DeQue<float>();
        LocalTensor<float> grad_tile = grad_tileQueue.DeQue<float>();
        LocalTensor<float> v_tile = v_tileQueue.DeQue<float>();
        LocalTensor<float> result = resultQueue.AllocTensor<float>();
        LocalTensor<float> temporary0 = temporary0Buffer.Get<float>();
        LocalTensor<float> temporary1 = temporary1Buffer.Get<float>();
        Muls(result, grad_tile, lr, count);
        Mul(temporary0, grad_tile, grad_tile, count);
        Muls(temporary0, temporary0, 1.0f - alpha, count);
        Muls(temporary1, v_tile, alpha, count);
        Add(temporary0, temporary0, temporary1, count);
        Sqrt(temporary0, temporary0, count);
        Adds(temporary0, temporary0, eps, count);
        Div(result, result, temporary0, count);
        Sub(result, param_tile, result, count);
        resultQueue.EnQue(result);
        param_tileQueue.FreeTensor(param_tile);
        grad_tileQueue.FreeTensor(grad_tile);
        v_tileQueue.FreeTensor(v_tile);
    }

    __aicore__ inline void CopyOut(int64_t begin, int64_t offset, int64_t length) {
        LocalTensor<float> result = resultQueue.DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        DataCopyPad(param_outGlobal[begin + offset], result, copy);
        resultQueue.FreeTensor(result);
    }

    GlobalTensor<float> paramGlobal;
    GlobalTensor<float> gradGlobal;
    GlobalTensor<float> vGlobal;
    GlobalTensor<float> param_outGlobal;
    TQue<TPosition::VECIN, 1> param_tileQueue;
    TQue<TPosition::VECIN, 1> grad_tileQueue;
    TQue<TPosition::VECIN, 1> v_tileQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    TBuf<TPosition::VECCALC> temporary1Buffer;
    float lr;
    float alpha;
    float eps;
    int64_t total;
    int64_t share;
    int64_t tile;
};

extern "C" __global__ __aicore__ void craft_rmsprop(GM_ADDR param, GM_ADDR grad, GM_ADDR v, GM_ADDR param_out,
    GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelCraftRmsprop op;
    op.Init(&pipe, param, grad, v, param_out, numbers);
    op.Process();
}
