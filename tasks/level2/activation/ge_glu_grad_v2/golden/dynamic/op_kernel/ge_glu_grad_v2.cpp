// GeGluGradV2: with a and b the halves of x along an axis, dx is dy * b * gelu'(a) where a stands
// and dy * gelu where b does.
//
// A tile is a piece of one long row of a half, or several whole short rows. Tiles go to the cores in turn.
#include "row_tensors.h"
#include "gelu.h"

template <typename T>
class KernelGeGluGradV2 {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR dy, GM_ADDR x, GM_ADDR gelu, GM_ADDR dx,
                                const HalvesTilingData& tiling) {
        outer = tiling.outer;
        inner = tiling.inner;
        columns = tiling.columns;
        pitch = tiling.pitch;
        tileRows = tiling.tileRows;
        gateFirst = tiling.gateFirst != 0;
        const uint32_t elements = tileRows * pitch;
        dyIn.Init(pipe, dy, elements);
        gateIn.Init(pipe, x, elements);
        otherIn.Init(pipe, x, elements);
        geluIn.Init(pipe, gelu, elements);
        gateOut.Init(pipe, dx, elements);
        otherOut.Init(pipe, dx, elements);
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
        const Place half{row * inner + column, inner};
        const Place gate{gateFirst ? pair : pair + inner, 2 * inner};
        const Place other{gateFirst ? pair + inner : pair, 2 * inner};
        const uint32_t length = tile.Length();
        LocalTensor<float> dy = dyIn.Take(half, tile);
        LocalTensor<float> dGate = gateOut.Begin();
        forms.Slope(dGate, gateIn.Take(gate, tile), length);
        gateIn.Drop();
        Mul(dGate, dGate, dy, length);
        Mul(dGate, dGate, otherIn.Take(other, tile), length);
        otherIn.Drop();
        gateOut.Store(gate, tile);
        Mul(otherOut.Begin(), dy, geluIn.Take(half, tile), length);
        geluIn.Drop();
        dyIn.Drop();
        otherOut.Store(other, tile);
    }

    RowsIn<T> dyIn, gateIn, otherIn, geluIn;
    RowsOut<T> gateOut, otherOut;
    GeluForms forms;
    uint64_t outer = 0, inner = 0;
    uint32_t columns = 0, pitch = 0, tileRows = 0;
    bool gateFirst = false;
};

extern "C" __global__ __aicore__ void ge_glu_grad_v2(GM_ADDR dy, GM_ADDR x, GM_ADDR gelu, GM_ADDR dx, GM_ADDR workspace,
                                                     GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelGeGluGradV2<DTYPE_X> op;
    op.Init(&pipe, dy, x, gelu, dx, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
