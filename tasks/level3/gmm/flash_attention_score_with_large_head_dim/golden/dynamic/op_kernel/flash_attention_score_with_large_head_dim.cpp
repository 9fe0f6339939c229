// FlashAttentionScoreWithLargeHeadDim: softmax(scale * query @ transpose(key)) @ value, head by head.
//
// Blocks of one cube core and two vector cores, which pass tiles to each other through the workspace: the cube core
// multiplies queries by keys, the vector cores make powers of the scores, the cube core multiplies those by values, and
// the vector cores add the products up. No score is ever kept longer than its tile.
#include "attention_products.h"
#include "attention_softmax.h"

// Where results go: heads side by side, and two statistics of every row, 8 times each.
class HeadResults {
  public:
    __aicore__ inline HeadResults(const Sizes& sizes, GM_ADDR largest, GM_ADDR sums)
        : sizes(sizes), largest((__gm__ float*)largest), sums((__gm__ float*)sums) {}

    __aicore__ inline uint64_t Distance() const { return uint64_t(sizes.heads) * sizes.headWidth; }

    __aicore__ inline uint64_t Place(const Tile& tile, uint32_t first) const {
        const uint64_t row = tile.firstRow + first;
        return (tile.batch * sizes.length + row) * Distance() + tile.head * sizes.headWidth;
    }

    template <typename Softmax>
    __aicore__ inline void WriteStatistics(Softmax& softmax, const Tile& tile, uint32_t first) const {
        const uint64_t row = (tile.batch * sizes.heads + tile.head) * sizes.length + tile.firstRow + first;
        softmax.WriteLargest(largest + row * Softmax::REPEATS, tile);
        softmax.WriteSums(sums + row * Softmax::REPEATS, tile);
    }

  private:
    const Sizes& sizes;
    __gm__ float* largest;
    __gm__ float* sums;
};

extern "C" __global__ __aicore__ void flash_attention_score_with_large_head_dim(
    GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR softmax_max, GM_ADDR softmax_sum, GM_ADDR attention_out,
    GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA(sizes, tiling);
    AscendC::TPipe pipe;
    GM_ADDR exchange = AscendC::GetUserWorkspace(workspace);
    if ASCEND_IS_AIC {
        AttentionProducts(&pipe, query, key, value, exchange, sizes).Process();
    }
    if ASCEND_IS_AIV {
        const HeadResults results(sizes, softmax_max, softmax_sum);
        AttentionSoftmax<half, Walk, HeadResults>(&pipe, results, attention_out, exchange, sizes.tileRows,
                                                  sizes.headWidth, sizes.scale)
            .Process(Walk(sizes));
    }
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
