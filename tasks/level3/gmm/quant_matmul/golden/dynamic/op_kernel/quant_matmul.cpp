// QuantMatmul: d = (a @ b) * scale * per_token_scale for matrices of int8, a scale per column and one per row.
//
// Blocks of one cube core and two vector cores. Every vector core has a rectangle of the product: it has the cube core
// multiply, which leaves sums of int32 in the rectangle's own part of the workspace, and then scales them in float,
// some rows at a time, rounding once. In the unified buffer rows begin at multiples of 16 elements, whole 32-byte
// blocks of half.
#include "row_math.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

class KernelQuantMatmul {
  public:
    using Bytes = matmul::MatmulType<TPosition::GM, CubeFormat::ND, int8_t>;
    using Sums = matmul::MatmulType<TPosition::GM, CubeFormat::ND, int32_t>;

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR a, GM_ADDR b, GM_ADDR scale, GM_ADDR perToken, GM_ADDR d,
                                GM_ADDR sums, const TCubeTiling& tiling) {
        const uint64_t m = tiling.M, n = tiling.N, k = tiling.Ka;
        const uint64_t down = (m + tiling.singleCoreM - 1) / tiling.singleCoreM;
        const uint64_t row = GetBlockIdx() % down * tiling.singleCoreM;
        const uint64_t column = GetBlockIdx() / down * tiling.singleCoreN;
        if (column >= n) {
            return;
        }
        height = m - row < tiling.singleCoreM ? m - row : tiling.singleCoreM;
        width = n - column < tiling.singleCoreN ? n - column : tiling.singleCoreN;
        columns = n;
        aGlobal.SetGlobalBuffer((__gm__ int8_t*)a + row * k, height * k);
        bGlobal.SetGlobalBuffer((__gm__ int8_t*)b + column, k * n - column);
        scaleGlobal.SetGlobalBuffer((__gm__ half*)scale + column, width);
        perTokenGlobal.SetGlobalBuffer((__gm__ half*)perToken + row, height);
        sumsGlobal.SetGlobalBuffer((__gm__ int32_t*)sums + row * n + column, (height - 1) * n + width);
        dGlobal.SetGlobalBuffer((__gm__ half*)d + row * n + column, (height - 1) * n + width);
        pipe->InitBuffer(sumsQueue, 2, TILE * sizeof(int32_t));
        pipe->InitBuffer(outQueue, 2, TILE * sizeof(half));
        pipe->InitBuffer(perTokenQueue, 2, (MAX_ROWS + 8) * sizeof(half));
        pipe->InitBuffer(scaleQueue, 1, PIECE * sizeof(half));
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
        pipe->InitBuffer(scaleBuffer, PIECE * sizeof(float));
        pipe->InitBuffer(perTokenBuffer, (MAX_ROWS + 8) * sizeof(float));
        pipe->InitBuffer(blocksBuffer, (MAX_ROWS + 8) * 8 * sizeof(float));
    }

    __aicore__ inline void Process() {
        if (height > 0) {
            product.SetTensorA(aGlobal);
            product.SetTensorB(bGlobal);
            product.SetTail(height, width);
            product.IterateAll(sumsGlobal);
            for (uint32_t column = 0; column < width; column += PIECE) {
                Scale(column, width - column < PIECE ? width - column : PIECE);
            }
        }
        product.End();
    }

    matmul::Matmul<Bytes, Bytes, Sums> product;

  private:
    static constexpr uint32_t TILE = 8192;   // elements that are scaled at a time
    static constexpr uint32_t PIECE = 2032;  // columns of a tile; repeats go down the rows up to here

    // All rows of some columns.
    __aicore__ inline void Scale(uint32_t column, uint32_t length) {
        const uint32_t pitch = (length + 15) / 16 * 16;
        const uint32_t tileRows = TILE / pitch < MAX_ROWS ? TILE / pitch : MAX_ROWS;
        const LocalTensor<float> scale = LoadScale(column, length);
        for (uint32_t row = 0; row < height; row += tileRows) {
            const uint32_t rows = height - row < tileRows ? height - row : tileRows;
            CopyIn(row, column, rows, length);
            Compute(scale, rows, length, pitch);
            CopyOut(row, column, rows, length);
        }
    }

    __aicore__ inline LocalTensor<float> LoadScale(uint32_t column, uint32_t length) {
        const DataCopyExtParams copy(1, length * sizeof(half), 0, 0, 0);
        LocalTensor<half> narrow = scaleQueue.AllocTensor<half>();
        DataCopyPad(narrow, scaleGlobal[column], copy, DataCopyPadExtParams<half>());
        scaleQueue.EnQue(narrow);
        narrow = scaleQueue.DeQue<half>();
        const LocalTensor<float> scale = scaleBuffer.Get<float>();
        Cast(scale, narrow, RoundMode::CAST_NONE, length);
        scaleQueue.FreeTensor(narrow);
        return scale;
    }

    __aicore__ inline void CopyIn(uint32_t row, uint32_t column, uint32_t rows, uint32_t length) {
        const uint32_t gap = (length + 15) / 16 * 2 - (length + 7) / 8;  // blocks up to the pitch
        const uint32_t skipped = (columns - length) * sizeof(int32_t);
        LocalTensor<int32_t> sums = sumsQueue.AllocTensor<int32_t>();
        DataCopyPad(sums, sumsGlobal[row * columns + column],
                    DataCopyExtParams(rows, length * sizeof(int32_t), skipped, gap, 0),
                    DataCopyPadExtParams<int32_t>());
        sumsQueue.EnQue(sums);
        LocalTensor<half> perToken = perTokenQueue.AllocTensor<half>();
        DataCopyPad(perToken, perTokenGlobal[row], DataCopyExtParams(1, rows * sizeof(half), 0, 0, 0),
                    DataCopyPadExtParams<half>());
        perTokenQueue.EnQue(perToken);
    }

    __aicore__ inline void Compute(const LocalTensor<float>& scale, uint32_t rows, uint32_t length, uint32_t pitch) {
        const LocalTensor<float> wide = wideBuffer.Get<float>(), perToken = perTokenBuffer.Get<float>();
        const LocalTensor<float> blocks = blocksBuffer.Get<float>();
        LocalTensor<half> narrow = perTokenQueue.DeQue<half>();
        Cast(perToken, narrow, RoundMode::CAST_NONE, rows);
        perTokenQueue.FreeTensor(narrow);
        Brcb(blocks, perToken, (rows + 7) / 8, {1, 8});
        LocalTensor<int32_t> sums = sumsQueue.DeQue<int32_t>();
        Cast(wide, sums, RoundMode::CAST_RINT, rows * pitch);
        sumsQueue.FreeTensor(sums);
        MulColumns(wide, wide, scale, rows, length, pitch);
        MulRows(wide, wide, blocks, rows, length, pitch);
        LocalTensor<half> out = outQueue.AllocTensor<half>();
        Cast(out, wide, RoundMode::CAST_RINT, rows * pitch);
        outQueue.EnQue(out);
    }

    __aicore__ inline void CopyOut(uint32_t row, uint32_t column, uint32_t rows, uint32_t length) {
        const uint32_t skipped = (columns - length) * sizeof(half);
        LocalTensor<half> out = outQueue.DeQue<half>();
        DataCopyPad(dGlobal[row * columns + column], out,
                    DataCopyExtParams(rows, length * sizeof(half), 0, skipped, 0));
        outQueue.FreeTensor(out);
    }

    TQue<TPosition::VECIN, 1> sumsQueue, scaleQueue, perTokenQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> wideBuffer, scaleBuffer, perTokenBuffer, blocksBuffer;
    GlobalTensor<int8_t> aGlobal, bGlobal;
    GlobalTensor<int32_t> sumsGlobal;
    GlobalTensor<half> scaleGlobal, perTokenGlobal, dGlobal;
    uint64_t columns = 0;                // of the whole result
    uint32_t height = 0, width = 0;      // of this core's rectangle
};

extern "C" __global__ __aicore__ void quant_matmul(GM_ADDR a, GM_ADDR b, GM_ADDR scale, GM_ADDR per_token_scale,
                                                   GM_ADDR d, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA(tilingData, tiling);
    TPipe pipe;
    KernelQuantMatmul op;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), op.product, &tilingData.cube);
    op.Init(&pipe, a, b, scale, per_token_scale, d, GetUserWorkspace(workspace), tilingData.cube);
    op.Process();
}
