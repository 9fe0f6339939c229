// GeluQuant: v = GELU(x) * scale, quantised to bytes: round(v + offset), or v over a scale per row.
//
// Every core takes a contiguous share of the rows and works on as many whole rows at a time as fit a tile; longer rows
// are taken piece by piece. Scale and offset are numbers, or vectors along the rows, or absent.
#include "gelu.h"
#include "row_quantizer.h"

template <typename T>
class KernelGeluQuant {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, GM_ADDR scale, GM_ADDR offset, GM_ADDR y, GM_ADDR outScale,
                                const GeluQuantTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.plan.share;
        rowBegin = begin < tiling.plan.rows ? begin : tiling.plan.rows;
        rowEnd = tiling.plan.rows - rowBegin < tiling.plan.share ? tiling.plan.rows : rowBegin + tiling.plan.share;
        columns = tiling.plan.columns;
        width = tiling.plan.width;
        pitch = tiling.plan.pitch;
        tileRows = tiling.plan.tileRows;
        kept = tiling.plan.kept != 0;
        dynamic = tiling.dynamic != 0;
        hasScales = scale != nullptr && tiling.scaleIsNumber == 0;
        hasOffsets = !dynamic && offset != nullptr && tiling.offsetIsNumber == 0;
        scaleNumber = scale != nullptr && !hasScales ? NumberAt(scale) : 1.0f;
        offsetNumber = !dynamic && offset != nullptr && !hasOffsets ? NumberAt(offset) : 0.0f;
        xIn.Init(pipe, x, tileRows * pitch);
        if (hasScales) {
            scaleIn.Init(pipe, scale, pitch, 1);
        }
        if (hasOffsets) {
            offsetIn.Init(pipe, offset, pitch, 1);
        }
        forms.Init(pipe, tileRows * pitch, tiling.tanhForm != 0);
        quantizer.Init(pipe, y, outScale, tileRows, pitch, tiling.plan.kept);
    }

    __aicore__ inline void Process() {
        if (rowBegin == rowEnd) {
            return;
        }
        if (columns == width) {
            HoldWeights(0, width);
        }
        for (uint64_t row = rowBegin; row < rowEnd; row += tileRows) {
            rows = rowEnd - row < tileRows ? rowEnd - row : tileRows;
            if (dynamic) {
                for (uint64_t column = 0; column < columns; column += width) {
                    Activate(row, column);
                    quantizer.Observe(column, Piece(column));
                }
                quantizer.Settle(row, rows);
            }
            for (uint64_t column = 0; column < columns; column += width) {
                if (!dynamic || !kept) {
                    Activate(row, column);
                }
                quantizer.Emit(column, {row * columns + column, columns}, Piece(column), dynamic);
            }
        }
        if (columns == width) {
            DropWeights();
        }
    }

  private:
    __aicore__ inline float NumberAt(GM_ADDR address) {
        GlobalTensor<T> global;
        global.SetGlobalBuffer((__gm__ T*)address, 1);
        if constexpr (std::is_same<T, bfloat16_t>::value) {
            return ToFloat(global.GetValue(0));
        } else {
            return static_cast<float>(global.GetValue(0));
        }
    }

    __aicore__ inline Tile Piece(uint64_t column) const {
        return {rows, static_cast<uint32_t>(columns - column < width ? columns - column : width), pitch};
    }

    __aicore__ inline void Activate(uint64_t row, uint64_t column) {
        const Tile tile = Piece(column);
        LocalTensor<float> values = quantizer.Values(column);
        forms.Value(values, xIn.Take({row * columns + column, columns}, tile), tile.Length());
        xIn.Drop();
        if (columns != width) {
            HoldWeights(column, tile.columns);
        }
        if (hasScales) {
            WithColumns<Times>(values, values, scales, rows, tile.columns, pitch);
        } else if (scaleNumber != 1.0f) {
            Muls(values, values, scaleNumber, tile.Length());
        }
        if (hasOffsets) {
            WithColumns<Plus>(values, values, offsets, rows, tile.columns, pitch);
        } else if (offsetNumber != 0.0f) {
            Adds(values, values, offsetNumber, tile.Length());
        }
        if (columns != width) {
            DropWeights();
        }
    }

    __aicore__ inline void HoldWeights(uint64_t column, uint32_t length) {
        const Tile tile{1, length, pitch};
        if (hasScales) {
            scales = scaleIn.Take({column, 0}, tile);
        }
        if (hasOffsets) {
            offsets = offsetIn.Take({column, 0}, tile);
        }
    }

    __aicore__ inline void DropWeights() {
        if (hasScales) {
            scaleIn.Drop();
        }
        if (hasOffsets) {
            offsetIn.Drop();
        }
    }

    RowsIn<T> xIn, scaleIn, offsetIn;
    GeluForms forms;
    RowQuantizer quantizer;
    LocalTensor<float> scales, offsets;
    uint64_t rowBegin = 0, rowEnd = 0, columns = 0;
    uint32_t width = 0, pitch = 0, tileRows = 0;
    uint32_t rows = 0;  // of the tile that is worked on
    bool kept = false;
    bool dynamic = false, hasScales = false, hasOffsets = false;
    float scaleNumber = 1.0f, offsetNumber = 0.0f;
};

extern "C" __global__ __aicore__ void gelu_quant(GM_ADDR x, GM_ADDR inputScale, GM_ADDR inputOffset, GM_ADDR y,
                                                 GM_ADDR outScale, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelGeluQuant<DTYPE_X> op;
    op.Init(&pipe, x, inputScale, inputOffset, y, outScale, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
