// Mla: softmax(scale * queries @ transpose(keys)) @ values over a paged cache, sequence by sequence, where values are
// the keys' part without rotary embedding.
//
// Blocks of one cube core and two vector cores, which pass tiles to each other through the workspace: the cube core
// multiplies queries by keys, the vector cores make powers of the scores, the cube core multiplies those by values,
// which it has kept in L1, and the vector cores add the products up. No score is ever kept longer than its tile.
#include "attention_softmax.h"
#include "mla_products.h"

// Where results go: one row of queries after the other. Nobody asks for statistics.
class RowResults {
  public:
    __aicore__ inline explicit RowResults(uint32_t width) : width(width) {}
    __aicore__ inline uint64_t Distance() const { return width; }
    __aicore__ inline uint64_t Place(const Tile& tile, uint32_t first) const { return (tile.firstRow + first) * width; }

    template <typename Softmax>
    __aicore__ inline void WriteStatistics(Softmax&, const Tile&, uint32_t) const {}

  private:
    uint32_t width;
};

extern "C" __global__ __aicore__ void mla(GM_ADDR query_nope, GM_ADDR query_rope, GM_ADDR kv_nope_cache,
                                          GM_ADDR kv_rope_cache, GM_ADDR block_tables, GM_ADDR out, GM_ADDR workspace,
                                          GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA(sizes, tiling);
    using T = DTYPE_QUERY_NOPE;
    AscendC::TPipe pipe;
    GM_ADDR exchange = AscendC::GetUserWorkspace(workspace);
    if ASCEND_IS_AIC {
        MlaProducts<T>(&pipe, query_nope, query_rope, kv_nope_cache, kv_rope_cache, block_tables, exchange, sizes)
            .Process();
    }
    if ASCEND_IS_AIV {
        AttentionSoftmax<T, Walk, RowResults>(&pipe, RowResults(sizes.headWidth), out, exchange, sizes.tileRows,
                                              sizes.headWidth, sizes.scale)
            .Process(Walk(sizes));
    }
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
