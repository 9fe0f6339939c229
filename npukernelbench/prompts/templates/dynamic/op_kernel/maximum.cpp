#include "kernel_operator.h"

using namespace AscendC;

using Source = TQue<TPosition::VECIN, 1>;

template <typename T>
__aicore__ inline void CopyIn(Source& queue, const GlobalTensor<T>& from, const DataCopyExtParams& copy)
{
    LocalTensor<T> tensor = queue.AllocTensor<T>();
    DataCopyPad(tensor, from, copy, DataCopyPadExtParams<T>{false, 0, 0, static_cast<T>(0)});
    queue.EnQue(tensor);
}

template <typename T>
__aicore__ inline void RunMaximum(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint64_t total, uint64_t perCore, uint32_t tile)
{
    const uint64_t begin = GetBlockIdx() * perCore;
    const uint64_t count = begin >= total ? 0 : total - begin < perCore ? total - begin : perCore;
    GlobalTensor<T> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ T*)x + begin, count);
    yGm.SetGlobalBuffer((__gm__ T*)y + begin, count);
    zGm.SetGlobalBuffer((__gm__ T*)z + begin, count);
    TPipe pipe;
    Source xQueue, yQueue;
    TQue<TPosition::VECOUT, 1> zQueue;
    pipe.InitBuffer(xQueue, 2, tile * sizeof(T));
    pipe.InitBuffer(yQueue, 2, tile * sizeof(T));
    pipe.InitBuffer(zQueue, 2, tile * sizeof(T));
    for (uint64_t offset = 0; offset < count; offset += tile) {
        const uint32_t length = count - offset < tile ? count - offset : tile;
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        CopyIn<T>(xQueue, xGm[offset], copy);
        CopyIn<T>(yQueue, yGm[offset], copy);
        LocalTensor<T> x = xQueue.DeQue<T>();
        LocalTensor<T> y = yQueue.DeQue<T>();
        LocalTensor<T> z = zQueue.AllocTensor<T>();
        Max(z, x, y, length);
        xQueue.FreeTensor(x);
        yQueue.FreeTensor(y);
        zQueue.EnQue(z);
        z = zQueue.DeQue<T>();
        DataCopyPad(zGm[offset], z, copy);
        zQueue.FreeTensor(z);
    }
}

extern "C" __global__ __aicore__ void maximum(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling)
{
    GET_TILING_DATA(sizes, tiling);
    RunMaximum<DTYPE_X>(x, y, z, sizes.total, sizes.perCore, sizes.tile);
}
