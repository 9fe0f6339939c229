// What the tiling function of AddRmsNormQuant tells the kernel.
#ifndef ADD_RMS_NORM_QUANT_TILING_H
#define ADD_RMS_NORM_QUANT_TILING_H
#include "row_plan.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(AddRmsNormQuantTilingData)
TILING_DATA_FIELD_DEF_STRUCT(RowPlan, plan);
TILING_DATA_FIELD_DEF(float, epsilon);
TILING_DATA_FIELD_DEF(float, share);       // of one element in the mean of its row
TILING_DATA_FIELD_DEF(uint32_t, divides);  // whether scales divide
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(AddRmsNormQuant, AddRmsNormQuantTilingData)
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
