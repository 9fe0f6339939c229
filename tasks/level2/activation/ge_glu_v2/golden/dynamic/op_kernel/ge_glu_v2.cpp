// GeGluV2: gelu = GELU of one half of x along an axis, y = gelu times the other half.
//
// A tile is a piece of one long row of a half, or several whole short rows. Tiles go to the cores in turn.
#include "row_tensors.h"
#include "gelu.h"

template <typename T>
class KernelGeGluV2 {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR y, GM_ADDR gelu, const HalvesTilingData& tiling) {
        outer = tiling.outer;
        inner = tiling.inner;
        columns = tiling.columns;
        pitch = tiling.pitch;
        tileRows = tiling.tileRows;
        gateFirst = tiling.gateFirst != 0;
        const uint32_t elements = tileRows * pitch;
        gateIn.Init(pipe, x, elements);
        otherIn.Init(pipe, x, elements);
        yOut.Init(pipe, y, elements);
        geluOut.Init(pipe, gelu, elements);
        forms.Init(pipe, elements, tiling.tanhForm != 0);
    }

    __aicore__ inline void Process() {
        if (outer == 0) {
            return;
        }
        const uint64_t pieces = (inner + columns - 1) / columns;
        const uint64_t tiles = (outer + tileRows - 1) / tileRows * pieces;
        for (uint64_t number = GetBlockIdx(); number < tiles; number += GetBlockNum()) {
            const uint64_t row = number / pieces * tileRows;
            const uint64_t column = number % pieces * columns;
            const uint32_t rows = outer - row < tileRows ? outer - row : tileRows;
            const uint32_t length = inner - column < columns ? inner - column : columns;
            Compute(row, column, {rows, length, pitch});
        }
    }

  private:
    __aicore__ inline void Compute(uint64_t row, uint64_t column, const Tile& tile) {
        const uint64_t pair = row * 2 * inner + column;
        const Place result{row * inner + column, inner};
        LocalTensor<float> gelu = geluOut.Begin();
        forms.Value(gelu, gateIn.Take({gateFirst ? pair : pair + inner, 2 * inner}, tile), tile.Length());
        gateIn.Drop();
        LocalTensor<float> other = otherIn.Take({gateFirst ? pair + inner : pair, 2 * inner}, tile);
        Mul(yOut.Begin(), gelu, other, tile.Length());
        otherIn.Drop();
        geluOut.Store(result, tile);
        yOut.Store(result, tile);
    }

    RowsIn<T> gateIn, otherIn;
    RowsOut<T> yOut, geluOut;
    GeluForms forms;
    uint64_t outer = 0, inner = 0;
    uint32_t columns = 0, pitch = 0, tileRows = 0;
    bool gateFirst = false;
};

extern "C" __global__ __aicore__ void ge_glu_v2(GM_ADDR x, GM_ADDR y, GM_ADDR gelu, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelGeGluV2<DTYPE_X> op;
    op.Init(&pipe, x, y, gelu, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
