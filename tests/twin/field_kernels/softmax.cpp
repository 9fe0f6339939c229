#include "kernel_operator.h"
using namespace AscendC;

// rows of 1000 floats, numerically stable softmax with pad, one row per step
template <typename T> class KSoftmax {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t cols, TPipe* p) {
        pipe = p;
        this->rows = rows;
        this->cols = cols;
        padded = (cols + 7) / 8 * 8;
        uint32_t bn = GetBlockNum(), bi = GetBlockIdx();
        uint32_t per = rows / bn, rest = rows % bn;
        begin = bi * per + (bi < rest ? bi : rest);
        count = per + (bi < rest ? 1 : 0);
        xGm.SetGlobalBuffer((__gm__ T*)x, rows * cols);
        yGm.SetGlobalBuffer((__gm__ T*)y, rows * cols);
        pipe->InitBuffer(inQ, 2, padded * sizeof(T));
        pipe->InitBuffer(outQ, 2, padded * sizeof(T));
        pipe->InitBuffer(work, padded * sizeof(T));
        pipe->InitBuffer(stat, 64);
    }
    __aicore__ inline void Process() {
        for (uint32_t r = 0; r < count; ++r) {
            In(begin + r);
            Calc();
            Out(begin + r);
        }
    }
private:
    __aicore__ inline void In(uint32_t r) {
        LocalTensor<T> x = inQ.template AllocTensor<T>();
        DataCopyExtParams cp{1, static_cast<uint32_t>(cols * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> pp{true, 0, static_cast<uint8_t>(padded - cols), static_cast<T>(-3.0e38f)};
        DataCopyPad(x, xGm[r * cols], cp, pp);
        inQ.EnQue(x);
    }
    __aicore__ inline void Calc() {
        LocalTensor<T> x = inQ.template DeQue<T>();
        LocalTensor<T> y = outQ.template AllocTensor<T>();
        LocalTensor<T> w = work.template Get<T>(), s = stat.template Get<T>();
        ReduceMax<T>(s, x, w, static_cast<int32_t>(padded), false);
        event_t e = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
        SetFlag<HardEvent::V_S>(e);
        WaitFlag<HardEvent::V_S>(e);
        T m = s.GetValue(0);
        event_t e2 = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::S_V));
        SetFlag<HardEvent::S_V>(e2);
        WaitFlag<HardEvent::S_V>(e2);
        Adds(y, x, static_cast<T>(-m), padded);
        PipeBarrier<PIPE_V>();
        Exp(y, y, padded);
        PipeBarrier<PIPE_V>();
        ReduceSum<T>(s, y, w, padded);
        SetFlag<HardEvent::V_S>(e);
        WaitFlag<HardEvent::V_S>(e);
        T sum = s.GetValue(0);
        SetFlag<HardEvent::S_V>(e2);
        WaitFlag<HardEvent::S_V>(e2);
        Muls(y, y, static_cast<T>(1.0f / sum), padded);
        outQ.EnQue(y);
        inQ.FreeTensor(x);
    }
    __aicore__ inline void Out(uint32_t r) {
        LocalTensor<T> y = outQ.template DeQue<T>();
        DataCopyExtParams cp{1, static_cast<uint32_t>(cols * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[r * cols], y, cp);
        outQ.FreeTensor(y);
    }
    TPipe* pipe;
    TQue<TPosition::VECIN, 1> inQ;
    TQue<TPosition::VECOUT, 1> outQ;
    TBuf<TPosition::VECCALC> work, stat;
    GlobalTensor<T> xGm, yGm;
    uint32_t rows, cols, padded, begin, count;
};
extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    KSoftmax<float> op;
    op.Init(x, y, 100, 1003, &pipe);
    op.Process();
}
