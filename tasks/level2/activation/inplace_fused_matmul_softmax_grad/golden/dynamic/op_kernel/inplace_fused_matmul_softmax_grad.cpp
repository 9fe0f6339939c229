// InplaceFusedMatmulSoftmaxGrad: (g - sum of softmax * g) * softmax row by row, in place of softmax, where g is
// gradOutput @ transpose(values).
//
// Blocks of one cube core and two vector cores. Every vector core has a rectangle of g: the cube core leaves it in the
// workspace in float, and the vector core sums its parts of rows. When all have met, every core adds up the parts of
// its rows, whoever summed them, in one order, and computes its rectangle. In the unified buffer rows begin at
// multiples of 16 elements.
#include "row_math.h"
#include "wide.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

template <typename T>
class KernelSoftmaxGrad {
  public:
    using Left = matmul::MatmulType<TPosition::GM, CubeFormat::ND, T>;
    using Right = matmul::MatmulType<TPosition::GM, CubeFormat::ND, T, true>;
    using Products = matmul::MatmulType<TPosition::GM, CubeFormat::ND, float>;

    __aicore__ inline void Init(TPipe* pipe, GM_ADDR softmax, GM_ADDR gradient, GM_ADDR values, GM_ADDR workspace,
                                const TCubeTiling& tiling) {
        const uint64_t m = tiling.M, n = tiling.N, k = tiling.Ka;
        const uint64_t down = (m + tiling.singleCoreM - 1) / tiling.singleCoreM;
        across = (n + tiling.singleCoreN - 1) / tiling.singleCoreN;
        sumsPitch = (m + 7) / 8 * 8;
        const uint64_t row = GetBlockIdx() % down * tiling.singleCoreM, place = GetBlockIdx() / down;
        if (place >= across) {
            return;
        }
        const uint64_t column = place * tiling.singleCoreN;
        height = m - row < tiling.singleCoreM ? m - row : tiling.singleCoreM;
        width = n - column < tiling.singleCoreN ? n - column : tiling.singleCoreN;
        columns = n;
        const uint32_t pitch = Pitch(Length(0));
        tileRows = TILE / pitch < ROWS ? TILE / pitch : ROWS;
        const uint64_t begin = row * n + column, length = (height - 1) * n + width;
        __gm__ float* sums = (__gm__ float*)workspace + m * n;
        gradientGlobal.SetGlobalBuffer((__gm__ T*)gradient + row * k, height * k);
        valuesGlobal.SetGlobalBuffer((__gm__ T*)values + column * k, width * k);
        softmaxGlobal.SetGlobalBuffer((__gm__ T*)softmax + begin, length);
        productsGlobal.SetGlobalBuffer((__gm__ float*)workspace + begin, length);
        ownSums.SetGlobalBuffer(sums + place * sumsPitch + row, height);
        allSums.SetGlobalBuffer(sums + row, (across - 1) * sumsPitch + height);
        pipe->InitBuffer(productsQueue, 2, TILE * sizeof(float));
        pipe->InitBuffer(softmaxQueue, 2, TILE * sizeof(T));
        pipe->InitBuffer(outQueue, 2, TILE * sizeof(T));
        pipe->InitBuffer(sumsQueue, 1, MOST_PARTS * ROWS * sizeof(float));
        pipe->InitBuffer(ownQueue, 2, ROWS * sizeof(float));
        pipe->InitBuffer(wideBuffer, TILE * sizeof(float));
        pipe->InitBuffer(resultBuffer, TILE * sizeof(float));
        pipe->InitBuffer(eighthsBuffer, TILE / 8 * sizeof(float));
        pipe->InitBuffer(rowsBuffer, ROWS * sizeof(float));
        pipe->InitBuffer(blocksBuffer, ROWS * 8 * sizeof(float));
    }

    __aicore__ inline void Process() {
        if (height > 0) {
            product.SetTensorA(gradientGlobal);
            product.SetTensorB(valuesGlobal, true);
            product.SetTail(height, width);
            product.IterateAll(productsGlobal);
            for (uint32_t row = 0; row < height; row += tileRows) {
                SumParts(row, height - row < tileRows ? height - row : tileRows);
            }
        }
        product.End();
        SyncAll();
        for (uint32_t row = 0; row < height; row += tileRows) {
            Compute(row, height - row < tileRows ? height - row : tileRows);
        }
    }

    matmul::Matmul<Left, Right, Products> product;

  private:
    static constexpr uint32_t TILE = 4096;      // elements that are treated at a time
    static constexpr uint32_t ROWS = 64;        // of them, at most
    static constexpr uint32_t PIECE = 2032;     // columns of them; repeats go down the rows up to here
    static constexpr uint32_t MOST_PARTS = 48;  // of a row: one per vector core
    static constexpr uint32_t LANES = 64;

    __aicore__ inline static uint32_t Pitch(uint32_t length) { return (length + 15) / 16 * 16; }
    __aicore__ inline uint32_t Length(uint32_t column) const { return width - column < PIECE ? width - column : PIECE; }

    // Some columns of some rows, at their pitch.
    template <typename U>
    __aicore__ inline void CopyIn(TQue<TPosition::VECIN, 1>& queue, const GlobalTensor<U>& from, uint32_t rows,
                                  uint32_t length) {
        const uint32_t gap = Pitch(length) * sizeof(U) / 32 - (length * sizeof(U) + 31) / 32;
        const uint32_t skipped = (columns - length) * sizeof(U);
        LocalTensor<U> tensor = queue.template AllocTensor<U>();
        DataCopyPad(tensor, from, DataCopyExtParams(rows, length * sizeof(U), skipped, gap, 0),
                    DataCopyPadExtParams<U>());
        queue.EnQue(tensor);
    }

    __aicore__ inline void SumParts(uint32_t row, uint32_t rows) {
        const LocalTensor<float> part = rowsBuffer.Get<float>(), result = resultBuffer.Get<float>();
        LocalTensor<float> sums = ownQueue.AllocTensor<float>();
        Duplicate(sums, 0.0f, rows);
        for (uint32_t column = 0; column < width; column += PIECE) {
            const uint32_t length = Length(column), pitch = Pitch(length);
            CopyIn(productsQueue, productsGlobal[row * columns + column], rows, length);
            CopyIn(softmaxQueue, softmaxGlobal[row * columns + column], rows, length);
            LocalTensor<float> products = productsQueue.template DeQue<float>();
            LocalTensor<T> softmax = softmaxQueue.template DeQue<T>();
            Mul(result, products, Widen(softmax, wideBuffer, rows * pitch), rows * pitch);
            productsQueue.FreeTensor(products);
            softmaxQueue.FreeTensor(softmax);
            SumRows(part, result, eighthsBuffer.Get<float>(), rows, length, pitch);
            Add(sums, sums, part, rows);
        }
        ownQueue.EnQue(sums);
        sums = ownQueue.template DeQue<float>();
        DataCopyPad(ownSums[row], sums, DataCopyExtParams(1, rows * sizeof(float), 0, 0, 0));
        ownQueue.FreeTensor(sums);
    }

    __aicore__ inline void Compute(uint32_t row, uint32_t rows) {
        AddParts(row, rows);
        for (uint32_t column = 0; column < width; column += PIECE) {
            const uint32_t length = Length(column), pitch = Pitch(length);
            CopyIn(productsQueue, productsGlobal[row * columns + column], rows, length);
            CopyIn(softmaxQueue, softmaxGlobal[row * columns + column], rows, length);
            LocalTensor<float> products = productsQueue.template DeQue<float>();
            LocalTensor<T> softmax = softmaxQueue.template DeQue<T>();
            LocalTensor<T> out = outQueue.template AllocTensor<T>();
            SubRows(products, rows, length, pitch);
            const LocalTensor<float> result = WideResult(out, resultBuffer);
            Mul(result, products, Widen(softmax, wideBuffer, rows * pitch), rows * pitch);
            Narrow(out, result, rows * pitch);
            productsQueue.FreeTensor(products);
            softmaxQueue.FreeTensor(softmax);
            outQueue.EnQue(out);
            CopyOut(row, column, rows, length);
        }
    }

    // The sums of rows, a block of 8 for each, in `blocks`.
    __aicore__ inline void AddParts(uint32_t row, uint32_t rows) {
        const uint32_t pitch = (rows + 7) / 8 * 8;
        LocalTensor<float> parts = sumsQueue.AllocTensor<float>();
        const DataCopyExtParams copy(across, rows * sizeof(float), (sumsPitch - rows) * sizeof(float), 0, 0);
        DataCopyPad(parts, allSums[row], copy, DataCopyPadExtParams<float>());
        sumsQueue.EnQue(parts);
        parts = sumsQueue.template DeQue<float>();
        for (uint32_t part = 1; part < across; ++part) {
            Add(parts, parts, parts[part * pitch], rows);
        }
        Brcb(blocksBuffer.Get<float>(), parts, pitch / 8, {1, 8});
        sumsQueue.FreeTensor(parts);
    }

    // x less a number per row, in place.
    __aicore__ inline void SubRows(const LocalTensor<float>& x, uint32_t rows, uint32_t length, uint32_t pitch) {
        const uint8_t distance = pitch / 8;
        for (uint32_t column = 0; column < length; column += LANES) {
            const uint32_t lanes = length - column < LANES ? length - column : LANES;
            Sub(x[column], x[column], blocksBuffer.Get<float>(), lanes, rows, {1, 1, 0, distance, distance, 1});
        }
    }

    __aicore__ inline void CopyOut(uint32_t row, uint32_t column, uint32_t rows, uint32_t length) {
        const uint32_t gap = Pitch(length) * sizeof(T) / 32 - (length * sizeof(T) + 31) / 32;
        const uint32_t skipped = (columns - length) * sizeof(T);
        LocalTensor<T> out = outQueue.template DeQue<T>();
        DataCopyPad(softmaxGlobal[row * columns + column], out,
                    DataCopyExtParams(rows, length * sizeof(T), gap, skipped, 0));
        outQueue.FreeTensor(out);
    }

    TQue<TPosition::VECIN, 1> productsQueue, softmaxQueue, sumsQueue;
    TQue<TPosition::VECOUT, 1> outQueue, ownQueue;
    TBuf<TPosition::VECCALC> wideBuffer, resultBuffer, eighthsBuffer, rowsBuffer, blocksBuffer;
    GlobalTensor<T> gradientGlobal, valuesGlobal, softmaxGlobal;
    GlobalTensor<float> productsGlobal, ownSums, allSums;
    uint64_t columns = 0;            // of the whole result
    uint32_t height = 0, width = 0;  // of this core's rectangle
    uint32_t tileRows = 0;           // that are treated at a time
    uint32_t across = 0;             // rectangles side by side
    uint32_t sumsPitch = 0;          // from parts of rows to the next ones
};

extern "C" __global__ __aicore__ void inplace_fused_matmul_softmax_grad(
    GM_ADDR softmaxOutput, GM_ADDR gradOutput, GM_ADDR values, GM_ADDR output, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA(tilingData, tiling);
    TPipe pipe;
    KernelSoftmaxGrad<DTYPE_SOFTMAXOUTPUT> op;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), op.product, &tilingData.cube);
    op.Init(&pipe, output, gradOutput, values, GetUserWorkspace(workspace), tilingData.cube);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
