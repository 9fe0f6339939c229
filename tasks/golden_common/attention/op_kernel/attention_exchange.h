// Where the cores of a block that compute attention hand over to each other.
#ifndef ATTENTION_EXCHANGE_H
#define ATTENTION_EXCHANGE_H
#include "kernel_operator.h"

constexpr uint32_t KEYS = 128;  // of a tile
constexpr uint32_t SIDE = 16;   // of a fractal of 16-bit elements

// Flags between the cube core and the vector cores of a block.
constexpr uint16_t SCORES_READY = 0, POWERS_READY = 1, PRODUCTS_READY = 2;

__aicore__ inline uint32_t Up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

// What a block's cores leave for each other in the workspace: scores in two places in turn, powers and products in one.
template <typename T>
struct Exchange {
    AscendC::GlobalTensor<float> scores[2], products;
    AscendC::GlobalTensor<T> powers;
    uint32_t pitch;  // of products

    __aicore__ inline Exchange(GM_ADDR workspace, uint32_t tileRows, uint32_t width) : pitch(Up(width, SIDE)) {
        const uint64_t tile = tileRows * KEYS, sums = tileRows * pitch;
        const uint64_t share = (2 * tile + sums) * sizeof(float) + tile * sizeof(T);
        GM_ADDR own = workspace + AscendC::GetBlockIdx() / AscendC::GetSubBlockNum() * share;
        scores[0].SetGlobalBuffer((__gm__ float*)own, tile);
        scores[1].SetGlobalBuffer((__gm__ float*)own + tile, tile);
        products.SetGlobalBuffer((__gm__ float*)own + 2 * tile, sums);
        powers.SetGlobalBuffer((__gm__ T*)(own + (2 * tile + sums) * sizeof(float)), tile);
    }
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
