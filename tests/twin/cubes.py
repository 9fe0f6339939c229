"""A matrix product of one block, step by step through the memories of the cube core, for tests to vary.

``CUBE`` is C++ that a kernel may put before its entry. Every step takes its sizes as arguments; steps are kept apart by
barriers of all pipes, so that tests of order have to write their own.
"""

from __future__ import annotations

#: A buffer in each memory of a product's operands and sums.
BUFFERS = """
    TBuf<TPosition::A1> a1;
    TBuf<TPosition::B1> b1;
    TBuf<TPosition::A2> a2;
    TBuf<TPosition::B2> b2;
    TBuf<TPosition::CO1> co1;
"""

CUBE = (
    """
constexpr uint32_t Up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

template <typename T>
constexpr uint32_t kC0 = 32 / sizeof(T);

struct Cube {
    TPipe pipe;
"""
    + BUFFERS
    + """    TBuf<TPosition::C2> c2;
    TBuf<TPosition::C2PIPE2GM> fb;
    __aicore__ inline Cube() {
        pipe.InitBuffer(a1, 256 * 1024);
        pipe.InitBuffer(b1, 256 * 1024);
        pipe.InitBuffer(a2, 64 * 1024);
        pipe.InitBuffer(b2, 64 * 1024);
        pipe.InitBuffer(co1, 128 * 1024);
        pipe.InitBuffer(c2, 1024);
        pipe.InitBuffer(fb, 2048);
    }

    // Rows of `columns` elements in global memory into fractals: columns of 32 bytes, `rows` rounded up to `to`.
    template <typename T>
    __aicore__ inline void Fractals(LocalTensor<T> dst, GlobalTensor<T> src, uint32_t rows, uint32_t columns,
                                    uint32_t to = 16) {
        Nd2NzParams p;
        p.ndNum = 1;
        p.nValue = rows;
        p.dValue = columns;
        p.srcDValue = columns;
        p.dstNzC0Stride = Up(rows, to);
        p.dstNzNStride = 1;
        DataCopy(dst, src, p);
        PipeBarrier<PIPE_ALL>();
    }

    // m rows and k columns of L1 into L0A.
    template <typename T>
    __aicore__ inline void Left(uint32_t m, uint32_t k) {
        uint32_t depth = Up(k, kC0<T>) / kC0<T>;
        LoadData2DParams p;
        p.repeatTimes = depth;
        p.srcStride = Up(m, 16) / 16;
        for (uint32_t i = 0; i < Up(m, 16) / 16; ++i) {
            LoadData(a2.Get<T>()[i * depth * 16 * kC0<T>], a1.Get<T>()[i * 16 * kC0<T>], p);
        }
        PipeBarrier<PIPE_ALL>();
    }

    // k rows and n columns of L1 into L0B. Bytes need k rounded up to 32.
    template <typename T>
    __aicore__ inline void Right(uint32_t k, uint32_t n) {
        LocalTensor<T> from = b1.Get<T>(), to = b2.Get<T>();
        uint32_t panels = Up(n, 16) / 16;
        if constexpr (sizeof(T) == 2) {
            LoadData2DParams p;
            p.repeatTimes = panels;
            p.srcStride = Up(k, 16) / 16;
            p.ifTranspose = true;
            for (uint32_t i = 0; i < Up(k, 16) / 16; ++i) LoadData(to[i * panels * 256], from[i * 256], p);
        } else if constexpr (sizeof(T) == 1) {
            // Two panels at a time: n must be a multiple of 32.
            LoadData2dTransposeParams p;
            p.repeatTimes = panels / 2;
            p.srcStride = Up(k, 32) / 32;
            p.dstGap = 1;
            for (uint32_t i = 0; i < Up(k, 32) / 32; ++i) {
                LoadDataWithTranspose(to[i * panels * 512], from[i * 1024], p);
            }
        } else {
            LoadData3DParamsV2<T> p;
            p.l1H = 1;
            p.l1W = Up(k, 16);
            p.channelSize = Up(n, 8);
            p.kExtension = n;
            p.mExtension = k;
            LoadData(to, from, p);
        }
        PipeBarrier<PIPE_ALL>();
    }

    template <typename C, typename T>
    __aicore__ inline void Multiply(uint32_t m, uint32_t n, uint32_t k, bool zero = true) {
        MmadParams p;
        p.m = m;
        p.n = n;
        p.k = k;
        p.cmatrixInitVal = zero;
        Mmad(co1.Get<C>(), a2.Get<T>(), b2.Get<T>(), p);
        PipeBarrier<PIPE_ALL>();
    }

    template <typename D, typename C>
    __aicore__ inline void Out(GlobalTensor<D> dst, uint32_t m, uint32_t n, QuantMode_t mode = NoQuant,
                               uint32_t stride = 0) {
        FixpipeParamsV220 p;
        p.nSize = n;
        p.mSize = m;
        p.srcStride = Up(m, 16);
        p.dstStride = stride == 0 ? n : stride;
        p.quantPre = mode;
        Fixpipe<D, C, CFG_ROW_MAJOR>(dst, co1.Get<C>(), p);
        PipeBarrier<PIPE_ALL>();
    }
};

template <typename T>
__aicore__ inline GlobalTensor<T> Gm(GM_ADDR address) {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer((__gm__ T*)address);
    return tensor;
}
"""
)
