// Host side of the cross entropy and its gradient: what the tiling functions tell the kernels.
#ifndef CROSS_ENTROPY_TILING_H
#define CROSS_ENTROPY_TILING_H
#include <cstring>

#include "row_plan.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CrossEntropyTilingData)
TILING_DATA_FIELD_DEF_STRUCT(RowPlan, plan);
TILING_DATA_FIELD_DEF(int64_t, ignored);     // the class of rows that do not count
TILING_DATA_FIELD_DEF(float, smoothing);     // share of the uniform distribution
TILING_DATA_FIELD_DEF(float, squareScale);   // factor of the z-loss
TILING_DATA_FIELD_DEF(uint32_t, keepsRows);  // one loss per row
TILING_DATA_FIELD_DEF(uint32_t, divides);    // by the weights of the rows that count
TILING_DATA_FIELD_DEF(uint32_t, squares);    // whether the z-loss is returned
END_TILING_DATA_DEF;

// Logits are input `logits`. Every core has a block of 32 bytes in the workspace.
inline ge::graphStatus LaunchCrossEntropy(gert::TilingContext* context, size_t logits, const Footprint& footprint,
                                          bool squares) {
    const gert::Shape& shape = context->GetInputShape(logits)->GetStorageShape();
    const gert::RuntimeAttrs* attributes = context->GetAttrs();
    const char* reduction = attributes->GetStr(0);
    CrossEntropyTilingData tiling;
    const uint32_t blocks = PlanRows(context, shape.GetDim(0), shape.GetDim(1), footprint, tiling.plan);
    tiling.set_ignored(*attributes->GetInt(1));
    tiling.set_smoothing(*attributes->GetFloat(2));
    tiling.set_squareScale(*attributes->GetFloat(3));
    tiling.set_keepsRows(std::strcmp(reduction, "none") == 0);
    tiling.set_divides(std::strcmp(reduction, "mean") == 0);
    tiling.set_squares(squares);
    const uint32_t cores = VectorCores(context);
    const bool meets = squares || tiling.get_keepsRows() == 0;  // for which all cores must be there
    return Launch(context, tiling, meets ? cores : blocks, cores * 32);
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
