// Where the cores of a block that compute attention hand over to each other.
#ifndef ATTENTION_EXCHANGE_H
#define ATTENTION_EXCHANGE_H
#include "kernel_operator.h"

constexpr uint32_t KEYS = 128;  // of a tile
constexpr uint32_t SIDE = 16;   // of a fractal of 16-bit elements

// Flags between the cube core and the vector cores of a block.
constexpr uint16_t SCORES_READY = 0, POWERS_READY = 1, PRODUCTS_READY = 2;

__aicore__ inline uint32_t Up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

// What a block's cores leave for each other in the workspace: scores, powers and products in two places each, which
// tiles take in turn.
template <typename T>
struct Exchange {
    AscendC::GlobalTensor<float> scores[2], products[2];
    AscendC::GlobalTensor<T> powers[2];
    uint32_t pitch;  // of products

    __aicore__ inline Exchange(GM_ADDR workspace, uint32_t tileRows, uint32_t width) : pitch(Up(width, SIDE)) {
        const uint64_t tile = tileRows * KEYS, sums = tileRows * pitch;
        const uint64_t place = (tile + sums) * sizeof(float) + tile * sizeof(T);
        GM_ADDR own = workspace + AscendC::GetBlockIdx() / AscendC::GetSubBlockNum() * 2 * place;
        for (uint32_t i = 0; i < 2; ++i, own += place) {
            scores[i].SetGlobalBuffer((__gm__ float*)own, tile);
            products[i].SetGlobalBuffer((__gm__ float*)own + tile, sums);
            powers[i].SetGlobalBuffer((__gm__ T*)(own + (tile + sums) * sizeof(float)), tile);
        }
    }
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
