// MhcPost: y_i = sum_j h_res_ij x_j + h_post_i h_out, four streams per token.
//
// The coefficients of one token are read by the scalar unit; rows longer than a tile are taken piece by piece.
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

// One pipe waits for another.
template <HardEvent EVENT>
__aicore__ inline void Flag() {
    const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(EVENT));
    SetFlag<EVENT>(id);
    WaitFlag<EVENT>(id);
}

// y = x in float.
template <typename T>
__aicore__ inline void Widen(const LocalTensor<float>& y, const LocalTensor<T>& x, uint32_t count) {
    if constexpr (std::is_same<T, float>::value) {
        Adds(y, x, 0.0f, count);
    } else {
        Cast(y, x, RoundMode::CAST_NONE, count);
    }
}

// Where to compute what will be y: in y itself, or in `wide`, from which Narrowed rounds it.
template <typename T>
__aicore__ inline LocalTensor<float> WideResult(const LocalTensor<float>& wide, const LocalTensor<T>& y) {
    if constexpr (std::is_same<T, float>::value) {
        return y;
    } else {
        return wide;
    }
}

template <typename T>
__aicore__ inline void Narrowed(const LocalTensor<T>& y, const LocalTensor<float>& x, uint32_t count) {
    if constexpr (!std::is_same<T, float>::value) {
        Cast(y, x, RoundMode::CAST_RINT, count);
    }
}

// y = x, rounded to the element type of y.
template <typename T>
__aicore__ inline void Narrow(const LocalTensor<T>& y, const LocalTensor<float>& x, uint32_t count) {
    if constexpr (std::is_same<T, float>::value) {
        Adds(y, x, 0.0f, count);
    } else {
        Cast(y, x, RoundMode::CAST_RINT, count);
    }
}
}  // namespace

template <typename T>
class KernelMhcPost {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR h_res, GM_ADDR h_out, GM_ADDR h_post, GM_ADDR y,
        const MhcPostTilingData& numbers) {
        n = numbers.n;
        d = numbers.d;
        share = numbers.share;
        width = numbers.width;
        xGlobal.SetGlobalBuffer((__gm__ T*)x);
        h_resGlobal.SetGlobalBuffer((__gm__ float*)h_res);
        h_outGlobal.SetGlobalBuffer((__gm__ T*)h_out);
        h_postGlobal.SetGlobalBuffer((__gm__ float*)h_post);
        yGlobal.SetGlobalBuffer((__gm__ T*)y);
        pipe->InitBuffer(mixBuffer, Bytes<float>(16));
        pipe->InitBuffer(weightBuffer, Bytes<float>(4));
        pipe->InitBuffer(layerQueue, 2, Bytes<T>(width));
        pipe->InitBuffer(x0Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(x1Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(x2Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(x3Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(y0Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(y1Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(y2Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(y3Queue, 2, Bytes<T>(width));
        pipe->InitBuffer(wide0Buffer, Bytes<float>(width));
        pipe->InitBuffer(wide1Buffer, Bytes<float>(width));
        pipe->InitBuffer(wide2Buffer, Bytes<float>(width));
        pipe->InitBuffer(wide3Buffer, Bytes<float>(width));
        pipe->InitBuffer(wide_layerBuffer, Bytes<float>(width));
        pipe->InitBuffer(totalBuffer, Bytes<float>(width));
        pipe->InitBuffer(temporary0Buffer, Bytes<float>(width));
    }

    __aicore__ inline void Process() {
        const int64_t begin = static_cast<int64_t>(GetBlockIdx()) * share;
        for (int64_t t = begin; t < Least<int64_t>(begin + share, n); ++t) {
            ReadCoefficients(t);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h00 = mixBuffer.template Get<float>().GetValue(0);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h01 = mixBuffer.template Get<float>().GetValue(1);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h02 = mixBuffer.template Get<float>().GetValue(2);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h03 = mixBuffer.template Get<float>().GetValue(3);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float p0 = weightBuffer.template Get<float>().GetValue(0);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h10 = mixBuffer.template Get<float>().GetValue(4);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h11 = mixBuffer.template Get<float>().GetValue(5);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h12 = mixBuffer.template Get<float>().GetValue(6);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h13 = mixBuffer.template Get<float>().GetValue(7);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float p1 = weightBuffer.template Get<float>().GetValue(1);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h20 = mixBuffer.template Get<float>().GetValue(8);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h21 = mixBuffer.template Get<float>().GetValue(9);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h22 = mixBuffer.template Get<float>().GetValue(10);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h23 = mixBuffer.template Get<float>().GetValue(11);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float p2 = weightBuffer.template Get<float>().GetValue(2);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h30 = mixBuffer.template Get<float>().GetValue(12);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h31 = mixBuffer.template Get<float>().GetValue(13);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h32 = mixBuffer.template Get<float>().GetValue(14);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float h33 = mixBuffer.template Get<float>().GetValue(15);
            Flag<HardEvent::V_S>();
            Flag<HardEvent::MTE2_S>();
            const float p3 = weightBuffer.template Get<float>().GetValue(3);
            for (int64_t c = 0; c < d; c += width) {
                const int64_t cols_ = Least<int64_t>(width, d - c);
                CopyIn(t, c, cols_);
                MixStreams(cols_, h00, h01, h02, h03, p0, h10, h11, h12, h13, p1, h20, h21, h22, h23, p2, h30, h31,
                    h32, h33, p3);
                CopyOut(t, c, cols_);
            }
        }
    }

  private:
    __aicore__ inline void ReadCoefficients(int64_t t) {
        Flag<HardEvent::V_MTE2>();
        Flag<HardEvent::MTE3_MTE2>();
        LocalTensor<float> mix = mixBuffer.template Get<float>();
        LocalTensor<float> weight = weightBuffer.template Get<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(16 * sizeof(float)), 0, 0, 0};
        DataCopyPad(mix, h_resGlobal[t * 16], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(4 * sizeof(float)), 0, 0, 0};
        DataCopyPad(weight, h_postGlobal[t * 4], copy2, DataCopyPadExtParams<float>{false, 0, 0, 0});
        Flag<HardEvent::MTE2_V>();
    }

    __aicore__ inline void CopyIn(int64_t t, int64_t c, int64_t cols_) {
        LocalTensor<T> layer = layerQueue.template AllocTensor<T>();
        LocalTensor<T> x0 = x0Queue.template AllocTensor<T>();
        LocalTensor<T> x1 = x1Queue.template AllocTensor<T>();
        LocalTensor<T> x2 = x2Queue.template AllocTensor<T>();
        LocalTensor<T> x3 = x3Queue.template AllocTensor<T>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(layer, h_outGlobal[t * d + c], copy, DataCopyPadExtParams<T>{false, 0, 0, 0});
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(x0, xGlobal[(t * 4 + 0) * d + c], copy2, DataCopyPadExtParams<T>{false, 0, 0, 0});
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(x1, xGlobal[(t * 4 + 1) * d + c], copy3, DataCopyPadExtParams<T>{false, 0, 0, 0});
        const DataCopyExtParams copy4{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(x2, xGlobal[(t * 4 + 2) * d + c], copy4, DataCopyPadExtParams<T>{false, 0, 0, 0});
        const DataCopyExtParams copy5{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(x3, xGlobal[(t * 4 + 3) * d + c], copy5, DataCopyPadExtParams<T>{false, 0, 0, 0});
        layerQueue.EnQue(layer);
        x0Queue.EnQue(x0);
        x1Queue.EnQue(x1);
        x2Queue.EnQue(x2);
        x3Queue.EnQue(x3);
    }

    __aicore__ inline void MixStreams(int64_t cols_, float h00, float h01, float h02, float h03, float p0, float h10,
        float h11, float h12, float h13, float p1, float h20, float h21, float h22, float h23, float p2, float h30,
            float h31, float h32, float h33, float p3) {
        const uint32_t count = static_cast<uint32_t>(cols_);
        LocalTensor<T> layer = layerQueue.template DeQue<T>();
        LocalTensor<T> x0 = x0Queue.template DeQue<T>();
        LocalTensor<T> x1 = x1Queue.template DeQue<T>();
        LocalTensor<T> x2 = x2Queue.template DeQue<T>();
        LocalTensor<T> x3 = x3Queue.template DeQue<T>();
        LocalTensor<float> wide0 = wide0Buffer.template Get<float>();
        LocalTensor<float> wide1 = wide1Buffer.template Get<float>();
        LocalTensor<float> wide2 = wide2Buffer.template Get<float>();
        LocalTensor<float> wide3 = wide3Buffer.template Get<float>();
        LocalTensor<float> wide_layer = wide_layerBuffer.template Get<float>();
        LocalTensor<float> total = totalBuffer.template Get<float>();
        LocalTensor<T> y0 = y0Queue.template AllocTensor<T>();
        LocalTensor<T> y1 = y1Queue.template AllocTensor<T>();
        LocalTensor<T> y2 = y2Queue.template AllocTensor<T>();
        LocalTensor<T> y3 = y3Queue.template AllocTensor<T>();
        LocalTensor<float> temporary0 = temporary0Buffer.template Get<float>();
        Widen(wide_layer, layer, count);
        Widen(wide0, x0, count);
        Widen(wide1, x1, count);
        Widen(wide2, x2, count);
        Widen(wide3, x3, count);
        Muls(total, wide0, h00, count);
        Muls(temporary0, wide1, h01, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide2, h02, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide3, h03, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide_layer, p0, count);
        Add(total, total, temporary0, count);
        LocalTensor<float> y0Wide = WideResult(temporary0Buffer.template Get<float>(), y0);
        Narrow(y0, total, count);
        Muls(total, wide0, h10, count);
        Muls(temporary0, wide1, h11, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide2, h12, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide3, h13, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide_layer, p1, count);
        Add(total, total, temporary0, count);
        LocalTensor<float> y1Wide = WideResult(temporary0Buffer.template Get<float>(), y1);
        Narrow(y1, total, count);
        Muls(total, wide0, h20, count);
        Muls(temporary0, wide1, h21, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide2, h22, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide3, h23, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide_layer, p2, count);
        Add(total, total, temporary0, count);
        LocalTensor<float> y2Wide = WideResult(temporary0Buffer.template Get<float>(), y2);
        Narrow(y2, total, count);
        Muls(total, wide0, h30, count);
        Muls(temporary0, wide1, h31, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide2, h32, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide3, h33, count);
        Add(total, total, temporary0, count);
        Muls(temporary0, wide_layer, p3, count);
        Add(total, total, temporary0, count);
        LocalTensor<float> y3Wide = WideResult(temporary0Buffer.template Get<float>(), y3);
        Narrow(y3, total, count);
        y0Queue.EnQue(y0);
        y1Queue.EnQue(y1);
        y2Queue.EnQue(y2);
        y3Queue.EnQue(y3);
        layerQueue.FreeTensor(layer);
        x0Queue.FreeTensor(x0);
        x1Queue.FreeTensor(x1);
        x2Queue.FreeTensor(x2);
        x3Queue.FreeTensor(x3);
    }

    __aicore__ inline void CopyOut(int64_t t, int64_t c, int64_t cols_) {
        LocalTensor<T> y0 = y0Queue.template DeQue<T>();
        LocalTensor<T> y1 = y1Queue.template DeQue<T>();
        LocalTensor<T> y2 = y2Queue.template DeQue<T>();
        LocalTensor<T> y3 = y3Queue.template DeQue<T>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGlobal[(t * 4 + 0) * d + c], y0, copy);
        const DataCopyExtParams copy2{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGlobal[(t * 4 + 1) * d + c], y1, copy2);
        const DataCopyExtParams copy3{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGlobal[(t * 4 + 2) * d + c], y2, copy3);
        const DataCopyExtParams copy4{1, static_cast<uint32_t>(cols_ * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGlobal[(t * 4 + 3) * d + c], y3, copy4);
        y0Queue.FreeTensor(y0);
        y1Queue.FreeTensor(y1);
        y2Queue.FreeTensor(y2);
        y3Queue.FreeTensor(y3);
    }

    GlobalTensor<T> xGlobal;
    GlobalTensor<float> h_resGlobal;
    GlobalTensor<T> h_outGlobal;
    GlobalTensor<float> h_postGlobal;
    GlobalTensor<T> yGlobal;
    TBuf<TPosition::VECCALC> mixBuffer;
    TBuf<TPosition::VECCALC> weightBuffer;
    TQue<TPosition::VECIN, 1> layerQueue;
    TQue<TPosition::VECIN, 1> x0Queue;
    TQue<TPosition::VECIN, 1> x1Queue;
    TQue<TPosition::VECIN, 1> x2Queue;
    TQue<TPosition::VECIN, 1> x3Queue;
    TQue<TPosition::VECOUT, 1> y0Queue;
    TQue<TPosition::VECOUT, 1> y1Queue;
    TQue<TPosition::VECOUT, 1> y2Queue;
    TQue<TPosition::VECOUT, 1> y3Queue;
    TBuf<TPosition::VECCALC> wide0Buffer;
    TBuf<TPosition::VECCALC> wide1Buffer;
    TBuf<TPosition::VECCALC> wide2Buffer;
    TBuf<TPosition::VECCALC> wide3Buffer;
    TBuf<TPosition::VECCALC> wide_layerBuffer;
    TBuf<TPosition::VECCALC> totalBuffer;
    TBuf<TPosition::VECCALC> temporary0Buffer;
    int64_t n;
    int64_t d;
    int64_t share;
    int64_t width;
};

extern "C" __global__ __aicore__ void mhc_post(GM_ADDR x, GM_ADDR h_res, GM_ADDR h_out, GM_ADDR h_post, GM_ADDR y,
    GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(numbers, tiling);
    TPipe pipe;
    KernelMhcPost<DTYPE_X> op;
    op.Init(&pipe, x, h_res, h_out, h_post, y, numbers);
    op.Process();
}
