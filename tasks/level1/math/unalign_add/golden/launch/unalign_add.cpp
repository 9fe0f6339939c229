// The sum of two tensors of any length, as the launch file of a PyTorch extension has it: tensors in, a tensor out.
#include "pieces.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "torch/extension.h"

using namespace AscendC;

__global__ __aicore__ void unalign_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, Vectors vectors) {
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> in;
    TQue<QuePosition::VECOUT, 2> out;
    pipe.InitBuffer(in, 2, 2 * vectors.tile * sizeof(half));
    pipe.InitBuffer(out, 2, vectors.tile * sizeof(half));
    GlobalTensor<half> first, second, sums;
    first.SetGlobalBuffer((__gm__ half*)x, vectors.count);
    second.SetGlobalBuffer((__gm__ half*)y, vectors.count);
    sums.SetGlobalBuffer((__gm__ half*)z, vectors.count);
    ForTiles<half>(vectors, [&](int64_t at, uint32_t count) {
        DataCopyExtParams shape{1, static_cast<uint32_t>(count * sizeof(half)), 0, 0, 0};
        DataCopyPadExtParams<half> no{false, 0, 0, 0};
        LocalTensor<half> both = in.AllocTensor<half>();  // one behind the other
        DataCopyPad(both, first[at], shape, no);
        DataCopyPad(both[vectors.tile], second[at], shape, no);
        in.EnQue(both);
        both = in.DeQue<half>();
        LocalTensor<half> sum = out.AllocTensor<half>();
        Add(sum, both, both[vectors.tile], count);
        out.EnQue(sum);
        in.FreeTensor(both);
        Store<half>(out, sums[at], count);
    });
}

at::Tensor run_unalign_add(const at::Tensor& x, const at::Tensor& y, int64_t blocks) {
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    at::Tensor z = at::empty_like(x);
    unalign_add<<<static_cast<uint32_t>(blocks), nullptr, stream>>>((GM_ADDR)x.data_ptr(), (GM_ADDR)y.data_ptr(),
                                                                    (GM_ADDR)z.data_ptr(), Vectors{x.numel(), 8192});
    return z;
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
