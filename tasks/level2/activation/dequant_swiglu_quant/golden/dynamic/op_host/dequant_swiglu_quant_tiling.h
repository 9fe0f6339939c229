// What the tiling function of DequantSwigluQuant tells the kernel.
#ifndef DEQUANT_SWIGLU_QUANT_TILING_H
#define DEQUANT_SWIGLU_QUANT_TILING_H
#include "row_plan.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(DequantSwigluQuantTilingData)
TILING_DATA_FIELD_DEF_STRUCT(RowPlan, plan);  // of rows of y, half of those of x
TILING_DATA_FIELD_DEF(uint32_t, held);        // floats of a vector of all columns that is kept; 0 if only pieces are
TILING_DATA_FIELD_DEF(uint32_t, groups);      // 0: all rows are one group
TILING_DATA_FIELD_DEF(uint32_t, gateFirst);   // whether the first half is the gate
TILING_DATA_FIELD_DEF(uint32_t, dynamic);     // whether every row has a scale of its own
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(DequantSwigluQuant, DequantSwigluQuantTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
