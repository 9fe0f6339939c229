// What kernels that launch themselves have in common: one core's part of a vector, cut into tiles.
#pragma once
#include "kernel_operator.h"

struct Vectors {
    int64_t count;  // elements of every tensor
    uint32_t tile;  // elements that are worked on at a time, a multiple of 32 bytes
};

// The core's tiles: core i takes the tiles i, i + cores, i + 2 * cores and so on.
template <typename T, typename Body>
__aicore__ inline void ForTiles(const Vectors& vectors, Body body) {
    const int64_t step = static_cast<int64_t>(vectors.tile) * AscendC::GetBlockNum();
    for (int64_t at = static_cast<int64_t>(vectors.tile) * AscendC::GetBlockIdx(); at < vectors.count; at += step) {
        const int64_t left = vectors.count - at;
        body(at, static_cast<uint32_t>(left < vectors.tile ? left : vectors.tile));
    }
}

// Exactly these elements, whatever their number.
template <typename T, typename Queue>
__aicore__ inline void Load(Queue& queue, const AscendC::GlobalTensor<T>& from, uint32_t count) {
    AscendC::LocalTensor<T> tile = queue.template AllocTensor<T>();
    AscendC::DataCopyExtParams shape{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    AscendC::DataCopyPad(tile, from, shape, AscendC::DataCopyPadExtParams<T>{false, 0, 0, 0});
    queue.EnQue(tile);
}
template <typename T, typename Queue>
__aicore__ inline void Store(Queue& queue, const AscendC::GlobalTensor<T>& to, uint32_t count) {
    AscendC::LocalTensor<T> tile = queue.template DeQue<T>();
    AscendC::DataCopyExtParams shape{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    AscendC::DataCopyPad(to, tile, shape);
    queue.FreeTensor(tile);
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
