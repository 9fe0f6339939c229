// What the tiling function of GeluQuant tells the kernel.
#ifndef GELU_QUANT_TILING_H
#define GELU_QUANT_TILING_H
#include "row_plan.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(GeluQuantTilingData)
TILING_DATA_FIELD_DEF_STRUCT(RowPlan, plan);
TILING_DATA_FIELD_DEF(uint32_t, tanhForm);
TILING_DATA_FIELD_DEF(uint32_t, dynamic);        // whether every row has a scale of its own
TILING_DATA_FIELD_DEF(uint32_t, scaleIsNumber);  // rather than one per column
TILING_DATA_FIELD_DEF(uint32_t, offsetIsNumber);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(GeluQuant, GeluQuantTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
