// MulSigmoidMulAddCustom: outputs = sigmoid(input * mulscalar1) * mulscalar2 + addscalar3, the scalars of one element.
//
// Every core takes one contiguous share of the tensor and walks through it in tiles; only the last share and the last
// tile of a share are shorter. Two buffers per queue let the copies of one tile run beside the computation of another.
// All arithmetic is in float: the result of the sigmoid must not be rounded before the summand takes most of it away.
#include "wide.h"

using namespace AscendC;

class KernelMulSigmoidMulAddCustom {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR input, GM_ADDR mulscalar1, GM_ADDR mulscalar2, GM_ADDR addscalar3,
                                GM_ADDR outputs, const MulSigmoidMulAddCustomTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.share;
        if (begin < tiling.total) {
            count = tiling.total - begin < tiling.share ? tiling.total - begin : tiling.share;
        }
        tile = tiling.tile;
        inner = ReadScalar(mulscalar1);
        outer = ReadScalar(mulscalar2);
        summand = ReadScalar(addscalar3);
        inputGlobal.SetGlobalBuffer((__gm__ half*)input + begin, count);
        outputsGlobal.SetGlobalBuffer((__gm__ half*)outputs + begin, count);
        pipe->InitBuffer(inputQueue, 2, tile * sizeof(half));
        pipe->InitBuffer(outputsQueue, 2, tile * sizeof(half));
        pipe->InitBuffer(wideBuffer, tile * sizeof(float));
        pipe->InitBuffer(outerBuffer, tile * sizeof(float));
    }

    __aicore__ inline void Process() {
        Duplicate(outerBuffer.Get<float>(), outer, tile);
        for (uint64_t offset = 0; offset < count; offset += tile) {
            const uint32_t length = count - offset < tile ? count - offset : tile;
            CopyIn(offset, length);
            Compute(length);
            CopyOut(offset, length);
        }
    }

  private:
    __aicore__ inline float ReadScalar(GM_ADDR address) {
        GlobalTensor<half> scalar;
        scalar.SetGlobalBuffer((__gm__ half*)address, 1);
        return static_cast<float>(scalar.GetValue(0));
    }

    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length * sizeof(half), 0, 0, 0);
        LocalTensor<half> input = inputQueue.AllocTensor<half>();
        DataCopyPad(input, inputGlobal[offset], copy, DataCopyPadExtParams<half>());
        inputQueue.EnQue(input);
    }

    // outer / (1 + exp(-inner * x)) + summand
    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<half> input = inputQueue.DeQue<half>();
        LocalTensor<half> outputs = outputsQueue.AllocTensor<half>();
        LocalTensor<float> wide = Widen(input, wideBuffer, length);
        Muls(wide, wide, -inner, length);
        Exp(wide, wide, length);
        Adds(wide, wide, 1.0f, length);
        Div(wide, outerBuffer.Get<float>(), wide, length);
        Adds(wide, wide, summand, length);
        Narrow(outputs, wide, length);
        outputsQueue.EnQue(outputs);
        inputQueue.FreeTensor(input);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy(1, length * sizeof(half), 0, 0, 0);
        LocalTensor<half> outputs = outputsQueue.DeQue<half>();
        DataCopyPad(outputsGlobal[offset], outputs, copy);
        outputsQueue.FreeTensor(outputs);
    }

    TQue<TPosition::VECIN, 1> inputQueue;
    TQue<TPosition::VECOUT, 1> outputsQueue;
    TBuf<TPosition::VECCALC> wideBuffer, outerBuffer;
    GlobalTensor<half> inputGlobal, outputsGlobal;
    uint64_t count = 0;
    uint32_t tile = 0;
    float inner = 0.0f, outer = 0.0f, summand = 0.0f;
};

extern "C" __global__ __aicore__ void mul_sigmoid_mul_add_custom(GM_ADDR input, GM_ADDR mulscalar1, GM_ADDR mulscalar2,
                                                                 GM_ADDR addscalar3, GM_ADDR outputs, GM_ADDR workspace,
                                                                 GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelMulSigmoidMulAddCustom op;
    op.Init(&pipe, input, mulscalar1, mulscalar2, addscalar3, outputs, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
