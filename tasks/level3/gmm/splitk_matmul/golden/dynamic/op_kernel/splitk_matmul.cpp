// SplitkMatmul: c = a @ b for matrices of half, added up in float and rounded once.
//
// Where k is long, cube cores share the work by parts of k, too: they leave sums of every part in the workspace, and
// when all have met, vector cores add the parts up, always in the same order, and round. Otherwise cube cores multiply
// over the whole of k, one rectangle each, and no vector core is started.
#include "rectangles.h"

using namespace AscendC;

// What a vector core does: it adds up its share of the result.
class PartSums {
  public:
    __aicore__ inline PartSums(TPipe* pipe, GM_ADDR sums, GM_ADDR c, uint64_t elements)
        : sums((__gm__ float*)sums), elements(elements) {
        cGlobal.SetGlobalBuffer((__gm__ half*)c, elements);
        pipe->InitBuffer(partQueue, 2, TILE * sizeof(float));
        pipe->InitBuffer(outQueue, 2, TILE * sizeof(half));
        pipe->InitBuffer(totalBuffer, TILE * sizeof(float));
    }

    __aicore__ inline void Add(uint64_t share, uint32_t parts) {
        const uint64_t begin = GetBlockIdx() * share, end = begin + share < elements ? begin + share : elements;
        for (uint64_t place = begin; place < end; place += TILE) {
            const uint32_t count = end - place < TILE ? end - place : TILE;
            const LocalTensor<float> total = totalBuffer.Get<float>();
            Duplicate(total, 0.0f, count);
            for (uint32_t part = 0; part < parts; ++part) {
                CopyIn(part * elements + place, count);
                LocalTensor<float> sum = partQueue.DeQue<float>();
                AscendC::Add(total, total, sum, count);
                partQueue.FreeTensor(sum);
            }
            LocalTensor<half> out = outQueue.AllocTensor<half>();
            Cast(out, total, RoundMode::CAST_RINT, count);
            outQueue.EnQue(out);
            out = outQueue.DeQue<half>();
            DataCopyPad(cGlobal[place], out, DataCopyExtParams(1, count * sizeof(half), 0, 0, 0));
            outQueue.FreeTensor(out);
        }
    }

  private:
    static constexpr uint32_t TILE = 4096;  // elements that are added up at a time

    __aicore__ inline void CopyIn(uint64_t place, uint32_t count) {
        GlobalTensor<float> from;
        from.SetGlobalBuffer(sums + place, count);
        LocalTensor<float> sum = partQueue.AllocTensor<float>();
        DataCopyPad(sum, from, DataCopyExtParams(1, count * sizeof(float), 0, 0, 0), DataCopyPadExtParams<float>());
        partQueue.EnQue(sum);
    }

    TQue<TPosition::VECIN, 1> partQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> totalBuffer;
    GlobalTensor<half> cGlobal;
    __gm__ float* sums;
    uint64_t elements;
};

// The rectangle of a part of k that this cube core has.
__aicore__ inline void MultiplyPart(TPipe* pipe, GM_ADDR a, GM_ADDR b, GM_ADDR sums,
                                    const SplitkMatmulTilingData& sizes) {
    const TCubeTiling& cube = sizes.cube;
    const uint64_t m = cube.M, n = cube.N, k = cube.Ka;
    const Grid grid(m, n, cube.singleCoreM, cube.singleCoreN);
    const uint64_t part = GetBlockIdx() / grid.Count(), first = part * sizes.depth;
    if (part >= sizes.parts) {
        return;
    }
    RectangleProduct<half, float> product;
    product.Init(pipe, cube);
    product.SetMatrices(m, k, n, n);
    product.SetDepth(k - first < sizes.depth ? k - first : sizes.depth);
    product.Multiply((__gm__ half*)a + first, (__gm__ half*)b + first * n, (__gm__ float*)sums + part * m * n,
                     grid.At(GetBlockIdx() % grid.Count()));
    product.End();
}

__aicore__ inline void MultiplyWhole(TPipe* pipe, GM_ADDR a, GM_ADDR b, GM_ADDR c, const TCubeTiling& cube) {
    const Grid grid(cube.M, cube.N, cube.singleCoreM, cube.singleCoreN);
    if (GetBlockIdx() >= grid.Count()) {
        return;
    }
    RectangleProduct<half> product;
    product.Init(pipe, cube);
    product.Multiply((__gm__ half*)a, (__gm__ half*)b, (__gm__ half*)c, grid.At(GetBlockIdx()));
    product.End();
}

extern "C" __global__ __aicore__ void splitk_matmul(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace,
                                                    GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    KERNEL_TASK_TYPE(0, KERNEL_TYPE_AIC_ONLY);
    GET_TILING_DATA(tilingData, tiling);
    TPipe pipe;
    if (TILING_KEY_IS(0)) {
        MultiplyWhole(&pipe, a, b, c, tilingData.cube);
    } else if (TILING_KEY_IS(1)) {
        GM_ADDR sums = GetUserWorkspace(workspace);
        if ASCEND_IS_AIC {
            MultiplyPart(&pipe, a, b, sums, tilingData);
        }
        SyncAll<false>();
        if ASCEND_IS_AIV {
            PartSums(&pipe, sums, c, uint64_t(tilingData.cube.M) * tilingData.cube.N)
                .Add(tilingData.share, tilingData.parts);
        }
    }
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
