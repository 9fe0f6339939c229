// Interpolation: a kernel for every element type, chosen by the host function.
#include "pieces.h"

using namespace AscendC;

template <typename T>
__global__ __aicore__ void interpolate(GM_ADDR start, GM_ADDR end, GM_ADDR weight, GM_ADDR y, Vectors vectors) {
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> starts, ends, weights;
    TQue<QuePosition::VECOUT, 2> results;
    TBuf<TPosition::VECCALC> wide;
    pipe.InitBuffer(starts, 2, vectors.tile * sizeof(T));
    pipe.InitBuffer(ends, 2, vectors.tile * sizeof(T));
    pipe.InitBuffer(weights, 2, vectors.tile * sizeof(T));
    pipe.InitBuffer(results, 2, vectors.tile * sizeof(T));
    pipe.InitBuffer(wide, 3 * vectors.tile * sizeof(float));
    GlobalTensor<T> from, to, by, out;
    from.SetGlobalBuffer((__gm__ T*)start, vectors.count);
    to.SetGlobalBuffer((__gm__ T*)end, vectors.count);
    by.SetGlobalBuffer((__gm__ T*)weight, vectors.count);
    out.SetGlobalBuffer((__gm__ T*)y, vectors.count);
    LocalTensor<float> a = wide.Get<float>(), b = a[vectors.tile], w = b[vectors.tile];
    ForTiles<T>(vectors, [&](int64_t at, uint32_t count) {
        Load<T>(starts, from[at], count);
        Load<T>(ends, to[at], count);
        Load<T>(weights, by[at], count);
        LocalTensor<T> p = starts.template DeQue<T>(), q = ends.template DeQue<T>(), f = weights.template DeQue<T>();
        LocalTensor<T> result = results.template AllocTensor<T>();
        if constexpr (sizeof(T) == sizeof(float)) {
            Sub(b, q, p, count);
            Mul(b, b, f, count);
            Add(result, b, p, count);
        } else {
            Cast(a, p, RoundMode::CAST_NONE, count);
            Cast(b, q, RoundMode::CAST_NONE, count);
            Cast(w, f, RoundMode::CAST_NONE, count);
            Sub(b, b, a, count);
            Mul(b, b, w, count);
            Add(b, b, a, count);
            Cast(result, b, RoundMode::CAST_RINT, count);
        }
        results.EnQue(result);
        starts.FreeTensor(p);
        ends.FreeTensor(q);
        weights.FreeTensor(f);
        Store<T>(results, out[at], count);
    });
}

extern "C" void lerp_do(uint32_t blocks, void* stream, uint8_t* start, uint8_t* end, uint8_t* weight, uint8_t* y,
                        int64_t size, int64_t itemsize) {
    const Vectors vectors{size, 2048};
    if (itemsize == 4) {
        interpolate<float><<<blocks, nullptr, stream>>>(start, end, weight, y, vectors);
    } else {
        interpolate<half><<<blocks, nullptr, stream>>>(start, end, weight, y, vectors);
    }
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
