// z = x + y over two large half tensors, as a vendor walk-through describes it step by step. TILE elements per
// transfer, BUFFERS per queue, CORES blocks at work, TOTAL elements; BYPASS: inputs go past the L2 cache; SKEW bytes
// between x and y in UB beside the tile; INSIDE: the object holds the pipe; SERIAL: a tile is read when the one before
// has been written, as the published times of its steps add up.
#include "kernel_operator.h"
using namespace AscendC;

class Add2D {
  public:
#if INSIDE
    __aicore__ inline Add2D() {}
#else
    __aicore__ inline Add2D(TPipe& pipe) : pipe_(pipe) {}
#endif
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
        const uint32_t share = (TOTAL / CORES + 255) / 256 * 256;  // of one core
        first_ = share * GetBlockIdx();
        end_ = first_ + share < TOTAL ? first_ + share : TOTAL;
        x_.SetGlobalBuffer((__gm__ half*)x, TOTAL);
        y_.SetGlobalBuffer((__gm__ half*)y, TOTAL);
        z_.SetGlobalBuffer((__gm__ half*)z, TOTAL);
#if BYPASS
        x_.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
        y_.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
#endif
        pipe_.InitBuffer(in_x_, BUFFERS, TILE * sizeof(half) + SKEW);
        pipe_.InitBuffer(in_y_, BUFFERS, TILE * sizeof(half) + SKEW);
        pipe_.InitBuffer(out_, BUFFERS, TILE * sizeof(half));
    }
    __aicore__ inline void Process() {
        for (uint32_t at = first_; at < end_; at += TILE) {
            const uint32_t n = end_ - at < TILE ? end_ - at : TILE;
            LocalTensor<half> x = in_x_.AllocTensor<half>();
            DataCopy(x, x_[at], n);
            in_x_.EnQue(x);
            LocalTensor<half> y = in_y_.AllocTensor<half>();
            DataCopy(y, y_[at], n);
            in_y_.EnQue(y);
            Compute(n);
            LocalTensor<half> z = out_.DeQue<half>();
            DataCopy(z_[at], z, n);
            out_.FreeTensor(z);
#if SERIAL
            SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID7);
            WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID7);
#endif
        }
    }

  private:
    __aicore__ inline void Compute(uint32_t n) {
        LocalTensor<half> x = in_x_.DeQue<half>(), y = in_y_.DeQue<half>(), z = out_.AllocTensor<half>();
#if SCALAR
        for (uint32_t i = 0; i < n; ++i) {
            z.SetValue(i, static_cast<half>(static_cast<float>(x.GetValue(i)) + static_cast<float>(y.GetValue(i))));
        }
#else
        Add(z, x, y, n);
#endif
        out_.EnQue(z);
        in_x_.FreeTensor(x);
        in_y_.FreeTensor(y);
    }
#if INSIDE
    TPipe pipe_;
#else
    TPipe& pipe_;
#endif
    GlobalTensor<half> x_, y_, z_;
    TQue<TPosition::VECIN, 1> in_x_, in_y_;
    TQue<TPosition::VECOUT, 1> out_;
    uint32_t first_, end_;
};

extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    if (GetBlockIdx() >= CORES) return;
#if INSIDE
    Add2D op;
#else
    TPipe pipe;
    Add2D op(pipe);
#endif
    op.Init(x, y, z);
    op.Process();
}
