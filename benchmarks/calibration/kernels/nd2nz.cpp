// A half matrix of 8192 × 8192 into the order of fractals, 16 columns by 16: tiles of 144 rows and 128 columns are
// copied inside UB, block columns STRIDE blocks apart. 6 × 8 cores share the matrix; two sets of buffers alternate.
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t kSide = 8192, kRows = 144, kColumns = 128, kBlock = 16, kFractals = kColumns / kBlock;
constexpr uint32_t kDown = 6, kAcross = 8;

extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 2, kRows * kColumns * sizeof(half));
    pipe.InitBuffer(out, 2, STRIDE * kFractals * kBlock * sizeof(half));
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer((__gm__ half*)x, kSide * kSide);
    to.SetGlobalBuffer((__gm__ half*)y, kSide * kSide);
    const uint32_t tiles = (kSide + kRows - 1) / kRows, down = GetBlockIdx() / kAcross,
                   across = GetBlockIdx() % kAcross;
    const uint32_t share = (tiles + kDown - 1) / kDown, width = kSide / kAcross;
    for (uint32_t tile = down * share; tile < (down + 1) * share && tile < tiles; ++tile) {
        const uint32_t row = tile * kRows, rows = kSide - row < kRows ? kSide - row : kRows;
        for (uint32_t column = across * width; column < (across + 1) * width; column += kColumns) {
            LocalTensor<half> nd = in.AllocTensor<half>();
            DataCopy(nd, from[row * kSide + column],
                     DataCopyParams{static_cast<uint16_t>(rows), kFractals, (kSide - kColumns) / kBlock, 0});
            in.EnQue(nd);
            nd = in.DeQue<half>();
            LocalTensor<half> nz = out.AllocTensor<half>();
            Copy(nz, nd, kColumns, static_cast<uint8_t>(rows), CopyRepeatParams{STRIDE, 1, 1, kFractals});
            out.EnQue(nz);
            in.FreeTensor(nd);
            nz = out.DeQue<half>();
            for (uint32_t i = 0; i < kFractals; ++i) {
                DataCopy(to[(column / kBlock + i) * kSide * kBlock + row * kBlock], nz[i * STRIDE * kBlock],
                         rows * kBlock);
            }
            out.FreeTensor(nz);
        }
    }
}
