// Host side of the gradients of operators that normalise rows: what the tiling function tells the kernel.
#ifndef NORM_GRAD_TILING_H
#define NORM_GRAD_TILING_H
#include "row_plan.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(NormGradTilingData)
TILING_DATA_FIELD_DEF_STRUCT(RowPlan, plan);
TILING_DATA_FIELD_DEF(uint32_t, parts);  // cores that have rows
TILING_DATA_FIELD_DEF(float, alpha);     // factor of the first term
TILING_DATA_FIELD_DEF(float, share);     // of one element in the mean of its row
END_TILING_DATA_DEF;

// `tensors` of the shape of dy are read and written; `sums` are taken over rows, for which all cores meet.
inline ge::graphStatus LaunchNormGrad(gert::TilingContext* context, uint64_t columns, uint64_t tensors, uint64_t sums,
                                      float alpha) {
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    NormGradTilingData tiling;
    const Footprint footprint{8 * tensors + 4 * sums + 13, 6 + 8 * sums, 16, false, 4 * 1024, 120};
    const uint32_t parts = PlanRows(context, columns == 0 ? 0 : total / columns, columns, footprint, tiling.plan);
    tiling.set_parts(parts);
    tiling.set_alpha(alpha);
    tiling.set_share(columns == 0 ? 0.0f : 1.0 / columns);
    return Launch(context, tiling, VectorCores(context), sums * parts * columns * sizeof(float));
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
