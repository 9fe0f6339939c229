// All cores read: PIECE bytes per transfer, BYTES in all per core, beginning OFFSET bytes into the tensor, STEP bytes
// from one core's part to the next.
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 2, PIECE);
    GlobalTensor<uint8_t> from;
    from.SetGlobalBuffer((__gm__ uint8_t*)x);
    for (uint64_t at = 0; at < BYTES; at += PIECE) {
        LocalTensor<uint8_t> tile = queue.AllocTensor<uint8_t>();
        DataCopy(tile, from[OFFSET + GetBlockIdx() * (uint64_t)STEP + at], PIECE);
        queue.EnQue(tile);
        tile = queue.DeQue<uint8_t>();
        queue.FreeTensor(tile);
    }
}
