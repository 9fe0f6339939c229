// DequantSwigluQuant: v = a * sigmoid(a) * b of the halves a and b of dequantised rows, quantised to bytes.
//
//     d = (x + bias) * weightScale * activationScale     a, b = halves of d
//     static: y = round(v / quantScale + quantOffset)     dynamic: w = v * quantScale, y = round(w / scale of the row)
//
// Every core takes a contiguous share of the rows. A tile holds rows of one group, whose scales it has in common, or a
// piece of a long row.
#include "row_quantizer.h"

// Addresses; null where a case has no such tensor.
struct DequantTensors {
    GM_ADDR x;
    GM_ADDR weightScale;
    GM_ADDR activationScale;
    GM_ADDR bias;
    GM_ADDR quantScale;
    GM_ADDR quantOffset;
    GM_ADDR groupIndex;
    GM_ADDR y;
    GM_ADDR scale;
};

// The vectors of one half of the columns.
template <typename B>
class HalfWeights {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR weightScale, GM_ADDR bias, uint32_t pitch) {
        hasScale = weightScale != nullptr;
        hasBias = bias != nullptr;
        if (hasScale) {
            scaleIn.Init(pipe, weightScale, pitch, 1);
        }
        if (hasBias) {
            biasIn.Init(pipe, bias, pitch, 1);
        }
    }

    __aicore__ inline void Hold(uint64_t scalePlace, uint64_t biasPlace, const Tile& vector) {
        if (hasScale) {
            scales = scaleIn.Take({scalePlace, 0}, vector);
        }
        if (hasBias) {
            biases = biasIn.Take({biasPlace, 0}, vector);
        }
    }

    __aicore__ inline void Drop() {
        if (hasScale) {
            scaleIn.Drop();
        }
        if (hasBias) {
            biasIn.Drop();
        }
    }

    // The tile's vectors begin at `from`.
    __aicore__ inline void Apply(const LocalTensor<float>& x, const Tile& tile, uint32_t from) {
        if (hasBias) {
            WithColumns<Plus>(x, x, biases[from], tile.rows, tile.columns, tile.pitch);
        }
        if (hasScale) {
            WithColumns<Times>(x, x, scales[from], tile.rows, tile.columns, tile.pitch);
        }
    }

  private:
    RowsIn<float> scaleIn;
    RowsIn<B> biasIn;
    LocalTensor<float> scales, biases;
    bool hasScale = false, hasBias = false;
};

template <typename T, typename B, typename S, typename C>
class KernelDequantSwigluQuant {
  public:
    __aicore__ inline void Init(TPipe* pipe, const DequantTensors& tensors,
                                const DequantSwigluQuantTilingData& tiling) {
        const uint64_t begin = GetBlockIdx() * tiling.plan.share;
        rowBegin = begin < tiling.plan.rows ? begin : tiling.plan.rows;
        rowEnd = tiling.plan.rows - rowBegin < tiling.plan.share ? tiling.plan.rows : rowBegin + tiling.plan.share;
        columns = tiling.plan.columns;
        width = tiling.plan.width;
        pitch = tiling.plan.pitch;
        tileRows = tiling.plan.tileRows;
        kept = tiling.plan.kept != 0;
        groups = tensors.groupIndex == nullptr ? 0 : tiling.groups;
        gateFirst = tiling.gateFirst != 0;
        dynamic = tiling.dynamic != 0;
        hasActivation = tensors.activationScale != nullptr;
        hasScale = tensors.quantScale != nullptr;
        hasOffset = !dynamic && tensors.quantOffset != nullptr;
        held = tiling.held;
        const uint32_t elements = tileRows * pitch, vector = held == 0 ? pitch : held;
        const uint32_t numbers = (tileRows + 7) / 8 * 8;
        countGlobal.SetGlobalBuffer((__gm__ C*)tensors.groupIndex, groups);
        gateIn.Init(pipe, tensors.x, elements);
        otherIn.Init(pipe, tensors.x, elements);
        gateWeights.Init(pipe, tensors.weightScale, tensors.bias, vector);
        otherWeights.Init(pipe, tensors.weightScale, tensors.bias, vector);
        if (hasActivation) {
            activationIn.Init(pipe, tensors.activationScale, numbers);
            pipe->InitBuffer(activationBuffer, numbers * 32);
        }
        if (hasScale) {
            scaleIn.Init(pipe, tensors.quantScale, vector, 1);
            if (!dynamic) {
                pipe->InitBuffer(onesBuffer, vector * sizeof(float));
            }
        }
        if (hasOffset) {
            offsetIn.Init(pipe, tensors.quantOffset, vector, 1);
        }
        quantizer.Init(pipe, tensors.y, tensors.scale, tileRows, pitch, tiling.plan.kept);
    }

    __aicore__ inline void Process() {
        uint64_t groupEnd = 0;
        if (groups == 0) {
            groupEnd = rowEnd;
            RunGroup(0, rowBegin, rowEnd);
        }
        for (uint32_t group = 0; group < groups && groupEnd < rowEnd; ++group) {
            const uint64_t groupBegin = groupEnd;
            groupEnd += static_cast<uint64_t>(countGlobal.GetValue(group));
            if (groupEnd > rowBegin) {
                RunGroup(group, groupBegin < rowBegin ? rowBegin : groupBegin, groupEnd < rowEnd ? groupEnd : rowEnd);
            }
        }
    }

  private:
    __aicore__ inline void RunGroup(uint32_t number, uint64_t begin, uint64_t end) {
        if (begin >= end || columns == 0) {
            return;
        }
        group = number;
        if (held > 0) {
            HoldWeights(0, columns);
        }
        for (uint64_t row = begin; row < end; row += tileRows) {
            rows = end - row < tileRows ? end - row : tileRows;
            Quantise(row);
        }
        if (held > 0) {
            DropWeights();
        }
    }

    __aicore__ inline void Quantise(uint64_t row) {
        if (hasActivation) {
            const Tile numbers{1, rows, (rows + 7) / 8 * 8};
            Spread(activationBuffer.Get<float>(), activationIn.Take({row, 0}, numbers), rows);
            activationIn.Drop();
        }
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

    __aicore__ inline Tile Piece(uint64_t column) const {
        return {rows, static_cast<uint32_t>(columns - column < width ? columns - column : width), pitch};
    }

    __aicore__ inline void Activate(uint64_t row, uint64_t column) {
        const Tile tile = Piece(column);
        const uint32_t length = tile.Length();
        const uint64_t pair = row * 2 * columns + column;
        const uint32_t from = held > 0 ? column : 0;  // of vectors
        const Place gatePlace{gateFirst ? pair : pair + columns, 2 * columns};
        const Place otherPlace{gateFirst ? pair + columns : pair, 2 * columns};
        if (held == 0) {
            HoldWeights(column, tile.columns);
        }
        LocalTensor<float> values = quantizer.Values(column);
        LocalTensor<float> gate = Dequantise(gateIn, gateWeights, gatePlace, tile, from);
        Muls(values, gate, -1.0f, length);
        Exp(values, values, length);  // where it overflows, the quotient is the zero that the activation tends to
        Adds(values, values, 1.0f, length);
        Div(values, gate, values, length);
        gateIn.Drop();
        Mul(values, values, Dequantise(otherIn, otherWeights, otherPlace, tile, from), length);
        otherIn.Drop();
        if (hasScale) {
            WithColumns<Times>(values, values, scales[from], rows, tile.columns, pitch);
        }
        if (hasOffset) {
            WithColumns<Plus>(values, values, offsets[from], rows, tile.columns, pitch);
        }
        if (held == 0) {
            DropWeights();
        }
    }

    // One half of the rows as floats, which nothing else needs.
    __aicore__ inline LocalTensor<float> Dequantise(RowsIn<T>& in, HalfWeights<B>& weights, const Place& place,
                                                    const Tile& tile, uint32_t from) {
        const LocalTensor<float> x = in.Take(place, tile);
        weights.Apply(x, tile, from);
        if (hasActivation) {
            WithRows<Times>(x, x, activationBuffer.Get<float>(), rows, tile.columns, pitch);
        }
        return x;
    }

    // The vectors of the group; scales that divide are inverted.
    __aicore__ inline void HoldWeights(uint64_t column, uint32_t length) {
        const Tile vector{1, length, held == 0 ? pitch : held};
        const uint64_t first = column, second = column + columns;
        const uint64_t base = group * 2 * columns;
        gateWeights.Hold(base + (gateFirst ? first : second), gateFirst ? first : second, vector);
        otherWeights.Hold(base + (gateFirst ? second : first), gateFirst ? second : first, vector);
        if (hasScale) {
            scales = scaleIn.Take({group * columns + column, 0}, vector);
            if (!dynamic) {
                Invert(scales, onesBuffer.Get<float>(), length);
            }
        }
        if (hasOffset) {
            offsets = offsetIn.Take({group * columns + column, 0}, vector);
        }
    }

    __aicore__ inline void DropWeights() {
        gateWeights.Drop();
        otherWeights.Drop();
        if (hasScale) {
            scaleIn.Drop();
        }
        if (hasOffset) {
            offsetIn.Drop();
        }
    }

    RowsIn<T> gateIn, otherIn;
    HalfWeights<B> gateWeights, otherWeights;
    RowsIn<float> activationIn, offsetIn;
    RowsIn<S> scaleIn;
    RowQuantizer quantizer;
    GlobalTensor<C> countGlobal;
    LocalTensor<float> scales, offsets;
    TBuf<TPosition::VECCALC> activationBuffer, onesBuffer;
    uint64_t group = 0;
    uint32_t groups = 0;
    uint64_t rowBegin = 0, rowEnd = 0, columns = 0;
    uint32_t width = 0, pitch = 0, tileRows = 0;
    uint32_t held = 0;  // elements of vectors that are kept for all columns; 0: they are loaded piece by piece
    uint32_t rows = 0;  // of the tile that is worked on
    bool kept = false;
    bool gateFirst = false, dynamic = false, hasActivation = false, hasScale = false, hasOffset = false;
};

// Types of tensors that may be absent.
#ifdef DTYPE_BIAS
using BiasType = DTYPE_BIAS;
#else
using BiasType = float;
#endif
#ifdef DTYPE_QUANT_SCALE
using ScaleType = DTYPE_QUANT_SCALE;
#else
using ScaleType = float;
#endif
#ifdef DTYPE_GROUP_INDEX
using CountType = DTYPE_GROUP_INDEX;
#else
using CountType = int32_t;
#endif

extern "C" __global__ __aicore__ void dequant_swiglu_quant(GM_ADDR x, GM_ADDR weightScale, GM_ADDR activationScale,
                                                           GM_ADDR bias, GM_ADDR quantScale, GM_ADDR quantOffset,
                                                           GM_ADDR groupIndex, GM_ADDR y, GM_ADDR scale,
                                                           GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelDequantSwigluQuant<DTYPE_X, BiasType, ScaleType, CountType> op;
    const DequantTensors tensors{x, weightScale, activationScale, bias, quantScale, quantOffset, groupIndex, y, scale};
    op.Init(&pipe, tensors, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
