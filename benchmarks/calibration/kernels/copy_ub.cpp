// All vector cores read a half matrix of M rows and N columns into UB, tiles of TILE_M rows and TILE_N columns at a time.
// ROWS of one part; every core has one part, or with ALL each reads all parts, in the same ORDER (0) or beginning with its own (1).
// The columns are taken in SPLITS bands, each of them REPEATS times.
#include "kernel_operator.h"
using namespace AscendC;

class Reader {
  public:
    __aicore__ inline Reader(GM_ADDR x, LocalTensor<half> tile) : tile_(tile) { from_.SetGlobalBuffer((__gm__ half*)x, M * (uint64_t)N); }
    __aicore__ inline void Part(uint64_t first, uint32_t from, uint32_t to) {
        for (uint64_t row = first; row < first + ROWS && row < M; row += TILE_M) {
            for (uint32_t at = from; at < to; at += TILE_N) {
                const uint32_t columns = to - at < TILE_N ? to - at : TILE_N;
                DataCopyExtParams shape{TILE_M, static_cast<uint32_t>(columns * sizeof(half)),
                                        static_cast<uint32_t>((N - columns) * sizeof(half)), 0, 0};
                DataCopyPad(tile_, from_[row * N + at], shape, DataCopyPadExtParams<half>{false, 0, 0, 0});
            }
        }
    }

  private:
    GlobalTensor<half> from_;
    LocalTensor<half> tile_;
};

extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, TILE_M * TILE_N * sizeof(half));
    Reader reader(x, buffer.Get<half>());
    const uint32_t parts = M / ROWS, own = GetBlockIdx();
    for (uint32_t band = 0; band < SPLITS; ++band) {
        const uint32_t width = N / SPLITS, to = band + 1 == SPLITS ? N : (band + 1) * width;
        for (uint32_t round = 0; round < REPEATS; ++round) {
            for (uint32_t i = 0; i < (ALL ? parts : 1); ++i) {
                const uint32_t part = ALL ? (ORDER ? i / GetBlockNum() * GetBlockNum() + (i + own) % GetBlockNum() : i) : own;
                reader.Part(part * (uint64_t)ROWS, band * width, to);
            }
        }
    }
}
