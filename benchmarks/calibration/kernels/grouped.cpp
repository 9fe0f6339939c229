// Eight products of int8, each of 128 × 1024 by 1024 × 8192, on CORES blocks: cube cores multiply block by block into
// the workspace, vector cores scale the sums by column and by row, and store halfs. KIND: of the kernel, with VECTORS
// vector cores to a cube core; SLOTS: blocks of sums that a cube core can be ahead; BUFFERS: of the vector cores'
// queues.
#define ASCENDC_CUBE_ONLY
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
using namespace AscendC;

constexpr uint32_t kGroups = 8, kM = 128, kK = 1024, kN = 8192, kBaseN = 256, kRows = 16;
constexpr uint32_t kShare = kN / CORES, kBlocks = kGroups * kShare / kBaseN;
constexpr uint16_t kFull = 4, kFree = 5;

template <typename T>
__aicore__ inline GlobalTensor<T> At(GM_ADDR address) {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer((__gm__ T*)address);
    return tensor;
}

// Of block number `i`: its group, its first column, and where its sums lie.
__aicore__ inline uint32_t Group(uint32_t i) { return i * kBaseN / kShare; }
__aicore__ inline uint32_t Column(uint32_t block, uint32_t i) { return block * kShare + i * kBaseN % kShare; }
__aicore__ inline uint32_t Place(uint32_t block, uint32_t i) { return (block * SLOTS + i % SLOTS) * kM * kBaseN; }

__aicore__ inline void Products(GM_ADDR x, GM_ADDR w, GM_ADDR tiling, GlobalTensor<int32_t> sums) {
    using In = MatmulType<TPosition::GM, CubeFormat::ND, int8_t>;
    using Out = MatmulType<TPosition::GM, CubeFormat::ND, int32_t>;
    TCubeTiling t;
    GlobalTensor<int32_t> words = At<int32_t>(tiling);
    for (uint32_t i = 0; i < sizeof(t) / sizeof(int32_t); ++i) ((int32_t*)&t)[i] = words.GetValue(i);
    TPipe pipe;
    MatmulImpl<In, In, Out, Out, CFG_MDL> mm;
    mm.SetSubBlockIdx(0);
    mm.Init(&t, &pipe);
    mm.SetOrgShape(kM, kN, kK, kK, kBaseN);
    for (uint32_t i = 0; i < kBlocks; ++i) {
        if (i >= SLOTS) CrossCoreWaitFlag(kFree);
        mm.SetTensorA(At<int8_t>(x)[Group(i) * kM * kK]);
        mm.SetTensorB(At<int8_t>(w)[(uint64_t)Group(i) * kK * kN + Column(GetBlockIdx(), i)]);
        mm.IterateAll(sums[Place(GetBlockIdx(), i)]);
        CrossCoreSetFlag<2, PIPE_FIX>(kFull);
    }
    for (uint32_t i = 0; i < SLOTS; ++i) CrossCoreWaitFlag(kFree);
    mm.End();
}

__aicore__ inline void Scale(GM_ADDR columns, GM_ADDR rows, GM_ADDR out, GlobalTensor<int32_t> sums) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in, factors;
    TQue<TPosition::VECOUT, 1> results;
    TBuf<TPosition::VECCALC> floats;
    pipe.InitBuffer(in, BUFFERS, kRows * kBaseN * sizeof(int32_t));
    pipe.InitBuffer(factors, BUFFERS, kBaseN * sizeof(float));
    pipe.InitBuffer(results, BUFFERS, kRows * kBaseN * sizeof(half));
    pipe.InitBuffer(floats, kRows * kBaseN * sizeof(float));
    LocalTensor<float> scaled = floats.Get<float>();
    GlobalTensor<float> of_rows = At<float>(rows);
    const uint32_t block = GetBlockIdx() / VECTORS, share = kM / VECTORS, first = GetSubBlockIdx() * share;
    for (uint32_t i = 0; i < kBlocks; ++i) {
        CrossCoreWaitFlag(kFull);
        LocalTensor<float> by = factors.AllocTensor<float>();
        DataCopy(by, At<float>(columns)[Group(i) * kN + Column(block, i)], kBaseN);
        factors.EnQue(by);
        by = factors.DeQue<float>();
        for (uint32_t row = first; row < first + share; row += kRows) {
            LocalTensor<int32_t> raw = in.AllocTensor<int32_t>();
            DataCopy(raw, sums[Place(block, i) + row * kBaseN], kRows * kBaseN);
            in.EnQue(raw);
            raw = in.DeQue<int32_t>();
            Cast(scaled, raw, RoundMode::CAST_NONE, kRows * kBaseN);
            in.FreeTensor(raw);
            for (uint32_t r = 0; r < kRows; ++r) {
                Mul(scaled[r * kBaseN], scaled[r * kBaseN], by, kBaseN);
                Muls(scaled[r * kBaseN], scaled[r * kBaseN], of_rows.GetValue(Group(i) * kM + row + r), kBaseN);
            }
            LocalTensor<half> ready = results.AllocTensor<half>();
            Cast(ready, scaled, RoundMode::CAST_RINT, kRows * kBaseN);
            results.EnQue(ready);
            ready = results.DeQue<half>();
            DataCopy(At<half>(out)[(uint64_t)(Group(i) * kM + row) * kN + Column(block, i)], ready,
                     DataCopyParams{kRows, kBaseN / 16, 0, (kN - kBaseN) / 16});
            results.FreeTensor(ready);
        }
        factors.FreeTensor(by);
        CrossCoreSetFlag<2, PIPE_MTE2>(kFree);
    }
}

extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR w, GM_ADDR columns, GM_ADDR rows, GM_ADDR tiling,
                                            GM_ADDR out, GM_ADDR workspace) {
    KERNEL_TASK_TYPE_DEFAULT(KIND);
    GlobalTensor<int32_t> sums = At<int32_t>(out + (uint64_t)kGroups * kM * kN * sizeof(half));
    if ASCEND_IS_AIC {
        if (GetBlockIdx() < CORES) Products(x, w, tiling, sums);
    }
    if ASCEND_IS_AIV {
        if (GetBlockIdx() < CORES * VECTORS) Scale(columns, rows, out, sums);
    }
}
