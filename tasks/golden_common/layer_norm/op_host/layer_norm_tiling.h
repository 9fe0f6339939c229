// Host side of operators that normalise the rows of a sum of tensors: what the tiling function tells the kernel.
#ifndef LAYER_NORM_TILING_H
#define LAYER_NORM_TILING_H
#include "row_plan.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(LayerNormTilingData)
TILING_DATA_FIELD_DEF_STRUCT(RowPlan, plan);
TILING_DATA_FIELD_DEF(float, epsilon);
TILING_DATA_FIELD_DEF(float, share);         // of one element in the mean of its row
TILING_DATA_FIELD_DEF(uint32_t, biasIsRow);  // whether there is one bias for all rows
TILING_DATA_FIELD_DEF(uint32_t, returnsSum);
END_TILING_DATA_DEF;

// `tensors` of the shape of x are read and written.
inline ge::graphStatus LaunchLayerNorm(gert::TilingContext* context, uint64_t columns, uint64_t tensors, float epsilon,
                                       bool biasIsRow, bool returnsSum) {
    const uint64_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    LayerNormTilingData tiling;
    const Footprint footprint{8 * tensors + 9, 12, 16, true};
    const uint32_t blocks = PlanRows(context, columns == 0 ? 0 : total / columns, columns, footprint, tiling.plan);
    tiling.set_epsilon(epsilon);
    tiling.set_share(columns == 0 ? 0.0f : 1.0 / columns);
    tiling.set_biasIsRow(biasIsRow);
    tiling.set_returnsSum(returnsSum);
    return Launch(context, tiling, blocks);
}
}  // namespace optiling

namespace ge {
// The shape of `x` with extent 1 in its last `axes` axes.
inline void ShapeOfStatistics(gert::Shape* shape, const gert::Shape& x, size_t axes) {
    *shape = x;
    for (size_t axis = x.GetDimNum() - axes; axis < x.GetDimNum(); ++axis) {
        shape->SetDim(axis, 1);
    }
}
}  // namespace ge
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
