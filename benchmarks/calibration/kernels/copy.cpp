// All cores read a half matrix of M rows and N columns, tiles of TILE_M rows and TILE_N columns at a time: vector cores
// into UB, or with INTO_L1 cube cores into L1, from row by row into the order of fractals.
// ROWS of one part; every core has one part, or with ALL each reads all parts, in the same ORDER (0) or beginning with
// its own (1). The columns are taken in SPLITS bands, each of them REPEATS times.
#include "kernel_operator.h"
using namespace AscendC;

class Reader {
  public:
    __aicore__ inline Reader(GM_ADDR x, LocalTensor<half> tile) : tile_(tile) {
        from_.SetGlobalBuffer((__gm__ half*)x, M * (uint64_t)N);
    }
    __aicore__ inline void Part(uint64_t first, uint32_t from, uint32_t to) {
        for (uint64_t row = first; row < first + ROWS && row < M; row += TILE_M) {
            for (uint32_t at = from; at < to; at += TILE_N) {
                const uint32_t columns = to - at < TILE_N ? to - at : TILE_N;
#if INTO_L1
                DataCopy(tile_, from_[row * N + at],
                         Nd2NzParams{1, TILE_M, static_cast<uint16_t>(columns), 0, N, TILE_M, 1, 0});
#else
                DataCopyExtParams shape{TILE_M, static_cast<uint32_t>(columns * sizeof(half)),
                                        static_cast<uint32_t>((N - columns) * sizeof(half)), 0, 0};
                DataCopyPad(tile_, from_[row * N + at], shape, DataCopyPadExtParams<half>{false, 0, 0, 0});
#endif
            }
        }
    }

  private:
    GlobalTensor<half> from_;
    LocalTensor<half> tile_;
};

extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
#if INTO_L1
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TBuf<TPosition::A1> buffer;
#else
    TBuf<TPosition::VECCALC> buffer;
#endif
    TPipe pipe;
    pipe.InitBuffer(buffer, TILE_M * TILE_N * sizeof(half));
    Reader reader(x, buffer.Get<half>());
    const uint32_t parts = M / ROWS, own = GetBlockIdx();
    for (uint32_t band = 0; band < SPLITS; ++band) {
        const uint32_t width = N / SPLITS, to = band + 1 == SPLITS ? N : (band + 1) * width;
        for (uint32_t round = 0; round < REPEATS; ++round) {
            for (uint32_t i = 0; i < (ALL ? parts : 1); ++i) {
                const uint32_t part =
                    ALL ? (ORDER ? i / GetBlockNum() * GetBlockNum() + (i + own) % GetBlockNum() : i) : own;
                reader.Part(part * (uint64_t)ROWS, band * width, to);
            }
        }
    }
}
