// Device side of element-wise operators: the walk over the tensors. What happens to a tile is the operator's business.
//
// Every core takes one contiguous share of the tensors and walks through it in tiles; only the last share and the last
// tile of a share are shorter. Two buffers per queue let the copies of one tile run beside the computation of another.
#ifndef ELEMENTWISE_H
#define ELEMENTWISE_H
#include "kernel_operator.h"
#include "wide.h"

using namespace AscendC;

// `Operator` has the types `In` and `Out`, the number `INPUTS`, `Init(pipe, sizes)` for buffers of its own, and
// `Compute(y, x, length)` for the tiles x[0], x[1], ... that ends up in y.
template <typename Operator>
class Elementwise {
  public:
    using In = typename Operator::In;
    using Out = typename Operator::Out;
    static constexpr uint32_t INPUTS = Operator::INPUTS;

    __aicore__ inline Elementwise(Operator& op) : op(op) {}

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR const (&x)[INPUTS], GM_ADDR y,
                                const ElementwiseTilingData& sizes) {
        const uint64_t begin = GetBlockIdx() * sizes.share;
        if (begin < sizes.total) {
            count = sizes.total - begin < sizes.share ? sizes.total - begin : sizes.share;
        }
        tile = sizes.tile;
        for (uint32_t i = 0; i < INPUTS; ++i) {
            xGlobal[i].SetGlobalBuffer((__gm__ In*)x[i] + begin, count);
            pipe->InitBuffer(xQueue[i], 2, tile * sizeof(In));
            if (i == 0 && INPUTS > 1) {
                pipe->InitBuffer(bankOffset, 256);
            }
        }
        yGlobal.SetGlobalBuffer((__gm__ Out*)y + begin, count);
        pipe->InitBuffer(yQueue, 2, tile * sizeof(Out));
        op.Init(pipe, sizes);
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
    __aicore__ inline void CopyIn(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(In)), 0, 0, 0};
        for (uint32_t i = 0; i < INPUTS; ++i) {
            LocalTensor<In> x = xQueue[i].template AllocTensor<In>();
            DataCopyPad(x, xGlobal[i][offset], copy, DataCopyPadExtParams<In>());
            xQueue[i].EnQue(x);
        }
    }

    __aicore__ inline void Compute(uint32_t length) {
        LocalTensor<In> x[INPUTS];
        for (uint32_t i = 0; i < INPUTS; ++i) {
            x[i] = xQueue[i].template DeQue<In>();
        }
        LocalTensor<Out> y = yQueue.template AllocTensor<Out>();
        op.Compute(y, x, length);
        yQueue.EnQue(y);
        for (uint32_t i = 0; i < INPUTS; ++i) {
            xQueue[i].FreeTensor(x[i]);
        }
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length) {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(Out)), 0, 0, 0};
        LocalTensor<Out> y = yQueue.template DeQue<Out>();
        DataCopyPad(yGlobal[offset], y, copy);
        yQueue.FreeTensor(y);
    }

    Operator& op;
    TQue<TPosition::VECIN, 1> xQueue[INPUTS];
    TQue<TPosition::VECOUT, 1> yQueue;
    TBuf<TPosition::VECCALC> bankOffset;  // the inputs in different halves of the banks, so that they are read at once
    GlobalTensor<In> xGlobal[INPUTS];
    GlobalTensor<Out> yGlobal;
    uint64_t count = 0;
    uint32_t tile = 0;
};

// An operator that computes in float whatever the element type: half types are widened, and rounded once at the end.
// `Function` has the number `INPUTS`, `Init(pipe, sizes)` and `Apply(y, x, length)`, where y is none of the x.
template <typename T, typename Function>
class InFloat {
  public:
    using In = T;
    using Out = T;
    static constexpr uint32_t INPUTS = Function::INPUTS;

    __aicore__ inline InFloat() {}
    __aicore__ inline explicit InFloat(const Function& function) : function(function) {}

    __aicore__ inline void Init(TPipe* pipe, const ElementwiseTilingData& sizes) {
        if constexpr (!IS_FLOAT<T>) {
            for (uint32_t i = 0; i < INPUTS; ++i) {
                pipe->InitBuffer(wideBuffer[i], sizes.tile * sizeof(float));
            }
            pipe->InitBuffer(resultBuffer, sizes.tile * sizeof(float));
        }
        function.Init(pipe, sizes);
    }

    __aicore__ inline void Compute(const LocalTensor<T>& y, const LocalTensor<T> (&x)[INPUTS], uint32_t length) {
        LocalTensor<float> wide[INPUTS];
        for (uint32_t i = 0; i < INPUTS; ++i) {
            wide[i] = Widen(x[i], wideBuffer[i], length);
        }
        LocalTensor<float> result = WideResult(y, resultBuffer);
        function.Apply(result, wide, length);
        Narrow(y, result, length);
    }

  private:
    Function function;
    TBuf<TPosition::VECCALC> wideBuffer[INPUTS];
    TBuf<TPosition::VECCALC> resultBuffer;
};

// The one number that an argument holds, as a float.
template <typename T>
__aicore__ inline float NumberAt(GM_ADDR address) {
    GlobalTensor<T> global;
    global.SetGlobalBuffer((__gm__ T*)address, 1);
    if constexpr (std::is_same<T, bfloat16_t>::value) {
        return ToFloat(global.GetValue(0));
    } else {
        return static_cast<float>(global.GetValue(0));
    }
}

template <typename Operator>
__aicore__ inline void RunElementwise(Operator& op, GM_ADDR const (&x)[Operator::INPUTS], GM_ADDR y,
                                      const ElementwiseTilingData& sizes) {
    TPipe pipe;
    Elementwise<Operator> walk(op);
    walk.Init(&pipe, x, y, sizes);
    walk.Process();
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
