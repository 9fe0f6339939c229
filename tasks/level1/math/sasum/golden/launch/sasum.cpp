// Sum of absolute values in two kernels: every core leaves its part in device memory, then one core adds the parts.
#include "acl/acl.h"
#include "pieces.h"

using namespace AscendC;

constexpr uint32_t kBlock = 32;                     // bytes
constexpr uint32_t kPart = kBlock / sizeof(float);  // a core's part: the sum, then zeros

struct Strided {
    Vectors vectors;
    int64_t distance;  // of elements in x
};

// Elements that lie apart get a block of 32 bytes each, filled up with zeros; returns how many elements there are then.
template <typename T>
__aicore__ inline uint32_t Spread(const LocalTensor<T>& tile, const GlobalTensor<T>& from, uint32_t count,
                                  int64_t distance) {
    constexpr uint8_t fill = kBlock / sizeof(T) - 1;
    if (distance == 1) {
        DataCopyExtParams shape{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(tile, from, shape, DataCopyPadExtParams<T>{false, 0, 0, 0});
        return count;
    }
    DataCopyExtParams shape{static_cast<uint16_t>(count), sizeof(T), static_cast<uint32_t>((distance - 1) * sizeof(T)),
                            0, 0};
    DataCopyPad(tile, from, shape, DataCopyPadExtParams<T>{true, 0, fill, 0});
    return count * (fill + 1);
}

template <typename T>
__global__ __aicore__ void sum_parts(GM_ADDR x, GM_ADDR parts, Strided strided) {
    const Vectors& vectors = strided.vectors;
    const uint32_t room = vectors.tile * kBlock / sizeof(T);
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> in;
    TQue<QuePosition::VECOUT, 1> out;
    TBuf<TPosition::VECCALC> wide, partial;
    pipe.InitBuffer(in, 2, room * sizeof(T));
    pipe.InitBuffer(out, 1, kBlock);
    pipe.InitBuffer(wide, 2 * room * sizeof(float));
    pipe.InitBuffer(partial, kBlock);
    GlobalTensor<T> from;
    GlobalTensor<float> to;
    from.SetGlobalBuffer((__gm__ T*)x);
    to.SetGlobalBuffer((__gm__ float*)parts);
    LocalTensor<float> values = wide.Get<float>(), scratch = values[room], part = partial.Get<float>();
    LocalTensor<float> sum = out.AllocTensor<float>();
    Duplicate(sum, 0.0f, kPart);
    ForTiles<T>(vectors, [&](int64_t at, uint32_t count) {
        LocalTensor<T> tile = in.template AllocTensor<T>();
        const uint32_t spread = Spread(tile, from[at * strided.distance], count, strided.distance);
        in.EnQue(tile);
        tile = in.template DeQue<T>();
        if constexpr (sizeof(T) == sizeof(float)) {
            Abs(values, tile, spread);
        } else {
            Cast(values, tile, RoundMode::CAST_NONE, spread);
            Abs(values, values, spread);
        }
        in.FreeTensor(tile);
        ReduceSum<float>(part, values, scratch, spread);
        Add(sum, sum, part, 1);
    });
    out.EnQue(sum);
    sum = out.DeQue<float>();
    DataCopy(to[GetBlockIdx() * kPart], sum, kPart);
    out.FreeTensor(sum);
}

template <typename T>
__global__ __aicore__ void add_parts(GM_ADDR parts, GM_ADDR result, uint32_t cores) {
    const uint32_t count = cores * kPart;
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> in;
    TQue<QuePosition::VECOUT, 1> out;
    TBuf<TPosition::VECCALC> work;
    pipe.InitBuffer(in, 1, count * sizeof(float));
    pipe.InitBuffer(out, 1, kBlock);
    pipe.InitBuffer(work, count * sizeof(float) + kBlock);
    GlobalTensor<float> from;
    GlobalTensor<T> to;
    from.SetGlobalBuffer((__gm__ float*)parts, count);
    to.SetGlobalBuffer((__gm__ T*)result, 1);
    LocalTensor<float> sum = work.Get<float>(), scratch = sum[kPart];
    LocalTensor<float> all = in.AllocTensor<float>();
    DataCopy(all, from, count);
    in.EnQue(all);
    all = in.DeQue<float>();
    ReduceSum<float>(sum, all, scratch, count);
    in.FreeTensor(all);
    LocalTensor<T> last = out.template AllocTensor<T>();
    if constexpr (sizeof(T) == sizeof(float)) {
        Adds(last, sum, 0.0f, 1);
    } else {
        Cast(last, sum, RoundMode::CAST_RINT, 1);
    }
    out.EnQue(last);
    Store<T>(out, to, 1);
}

template <typename T>
void launch(uint32_t cores, void* stream, uint8_t* x, uint8_t* result, const Strided& strided) {
    void* parts = nullptr;
    aclrtMalloc(&parts, cores * kBlock, ACL_MEM_MALLOC_HUGE_FIRST);
    sum_parts<T><<<cores, nullptr, stream>>>(x, static_cast<uint8_t*>(parts), strided);
    add_parts<T><<<1, nullptr, stream>>>(static_cast<uint8_t*>(parts), result, cores);
    aclrtSynchronizeStream(stream);
    aclrtFree(parts);
}

extern "C" void sasum_do(uint32_t blocks, void* stream, uint8_t* x, uint8_t* result, int64_t n, int64_t incx,
                         int64_t itemsize) {
    const Strided strided{{n, 512}, incx};
    if (itemsize == 4) {
        launch<float>(blocks, stream, x, result, strided);
    } else {
        launch<half>(blocks, stream, x, result, strided);
    }
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
