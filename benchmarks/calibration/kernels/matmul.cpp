// A product of halfs by an object of the library, divided as `tiling` says: parts of singleCoreM by singleCoreN by
// singleCoreK, one after the other over CORES cores; parts along K are added to what lies there. CONFIG: the object's
// configuration, or with STATIC the one whose numbers stand in the place of the tiling. KIND: of the kernel; CUBE_ONLY:
// the object lives on cube cores. SHARE_A, SHARE_B: both vector cores of a block use the same matrix. POLICY: how
// matrices come into L1. L2_M: pieces of a part that all cores go through together. FRACTALS: vector cores first bring
// the right matrix into the order of fractals.
#if CUBE_ONLY
#define ASCENDC_CUBE_ONLY
#endif
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
using namespace AscendC;

using A = MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NONE, SHARE_A>;
#if FRACTALS
using B = MatmulType<TPosition::GM, CubeFormat::NZ, half>;
#else
using B = MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NONE, SHARE_B>;
#endif
using C = MatmulType<TPosition::GM, CubeFormat::ND, half>;

#if STATIC
constexpr MatmulApiStaticTiling kObject = GetMatmulApiTiling<A, B, C, C>(CONFIG);
#else
constexpr MatmulConfig kObject = CONFIG;
#endif

template <typename T>
__aicore__ inline GlobalTensor<T> At(GM_ADDR address) {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer((__gm__ T*)address);
    return tensor;
}

template <typename Object>
__aicore__ inline void Multiply(Object& mm, const TCubeTiling& t, GM_ADDR a, GM_ADDR b, GM_ADDR c) {
    const uint32_t own = GetBlockIdx() / (SHARE_A && SHARE_B ? 2 : 1);
    const uint32_t down = (t.M + t.singleCoreM - 1) / t.singleCoreM, across = (t.N + t.singleCoreN - 1) / t.singleCoreN,
                   deep = (t.Ka + t.singleCoreK - 1) / t.singleCoreK;
    for (uint32_t part = own; own < CORES && part < down * across * deep; part += CORES) {
        const uint32_t row = part % down * t.singleCoreM, column = part / down % across * t.singleCoreN,
                       at = part / down / across * t.singleCoreK;
        const uint32_t rows = min(t.M - row, (uint32_t)t.singleCoreM);
        const uint32_t columns = min(t.N - column, (uint32_t)t.singleCoreN),
                       depth = min(t.Ka - at, (uint32_t)t.singleCoreK);
        for (uint32_t piece = 0; piece < L2_M; ++piece) {
            const uint32_t from = row + piece * rows / L2_M;
            mm.SetTail(rows / L2_M, columns, depth);
            mm.SetTensorA(At<half>(a)[(uint64_t)from * t.Ka + at]);
#if FRACTALS
            mm.SetTensorB(At<half>(b)[(uint64_t)column * t.Kb + at * 16]);
#else
            mm.SetTensorB(At<half>(b)[(uint64_t)at * t.N + column]);
#endif
            mm.IterateAll(At<half>(c)[(uint64_t)from * t.N + column], deep > 1);
        }
    }
    mm.End();
}

#if FRACTALS
constexpr uint32_t kRows = 8, kPitch = kRows + 1;  // blocks from column to column of fractals: in different banks

// Rows of a matrix of `height` by `width` halfs into columns of fractals, some rows at a time.
__aicore__ inline void Fold(TPipe& pipe, GM_ADDR nd, GM_ADDR nz, uint32_t height, uint32_t width) {
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    const uint32_t fractals = (width + 15) / 16;
    pipe.InitBuffer(in, 1, kRows * fractals * 32);
    pipe.InitBuffer(out, 1, kPitch * fractals * 32);
    for (uint32_t row = GetBlockIdx() * kRows; row < height; row += CORES * kRows) {
        LocalTensor<half> rows = in.AllocTensor<half>();
        DataCopyExtParams some{kRows, static_cast<uint32_t>(width * sizeof(half)), 0, 0, 0};
        DataCopyPad(rows, At<half>(nd)[(uint64_t)row * width], some,
                    DataCopyPadExtParams<half>{true, 0, static_cast<uint8_t>(fractals * 16 - width), 0});
        in.EnQue(rows);
        rows = in.DeQue<half>();
        LocalTensor<half> columns = out.AllocTensor<half>();
        for (uint32_t i = 0; i < kRows; ++i) {
            Copy(columns[i * 16], rows[i * fractals * 16], 128, static_cast<uint8_t>(fractals / 8),
                 CopyRepeatParams{kPitch, 1, 8 * kPitch, 8});
        }
        in.FreeTensor(rows);
        out.EnQue(columns);
        columns = out.DeQue<half>();
        DataCopy(At<half>(nz)[row * 16], columns,
                 DataCopyParams{static_cast<uint16_t>(fractals), kRows, kPitch - kRows,
                                static_cast<uint16_t>(height - kRows)});
        out.FreeTensor(columns);
    }
}
#endif

extern "C" __global__ __aicore__ void probe(GM_ADDR a, GM_ADDR b, GM_ADDR tiling, GM_ADDR c, GM_ADDR workspace) {
    KERNEL_TASK_TYPE_DEFAULT(KIND);
    TCubeTiling t;
    GlobalTensor<int32_t> words = At<int32_t>(tiling);
    for (uint32_t i = 0; i < sizeof(t) / sizeof(int32_t); ++i) ((int32_t*)&t)[i] = words.GetValue(i);
    TPipe pipe;
#if CUBE_ONLY
    MatmulImpl<A, B, C, C, kObject, MatmulCallBackFunc<>, POLICY> mm;
    mm.SetSubBlockIdx(0);
    mm.Init(&t, &pipe);
#else
    Matmul<A, B, C, C, kObject, MatmulCallBackFunc<>, POLICY> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
#endif
#if FRACTALS
    // Their place is behind the result.
    GM_ADDR nz = c + (uint64_t)t.M * t.N * sizeof(half);
    Fold(pipe, b, nz, t.Kb, t.N);
    SyncAll();
    b = nz;
#endif
    Multiply(mm, t, a, b, c);
}
