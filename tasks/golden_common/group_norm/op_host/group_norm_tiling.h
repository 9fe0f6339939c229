// Host side of group normalization with Swish and its gradient: what the tiling functions tell the kernels.
#ifndef GROUP_NORM_TILING_H
#define GROUP_NORM_TILING_H
#include "row_plan.h"

namespace optiling {
// A group of a sample is `columns` neighbouring elements: `depth` channels of `spatial` elements each. An item is some
// samples of one group; a tile has rows of several samples, or a piece of one.
BEGIN_TILING_DATA_DEF(GroupNormTilingData)
TILING_DATA_FIELD_DEF(uint64_t, samples);
TILING_DATA_FIELD_DEF(uint64_t, groups);
TILING_DATA_FIELD_DEF(uint64_t, depth);
TILING_DATA_FIELD_DEF(uint64_t, spatial);
TILING_DATA_FIELD_DEF(uint64_t, columns);
TILING_DATA_FIELD_DEF(uint64_t, share);  // samples of an item
TILING_DATA_FIELD_DEF(uint32_t, parts);  // items of a group
TILING_DATA_FIELD_DEF(uint32_t, width);  // columns of a tile
TILING_DATA_FIELD_DEF(uint32_t, pitch);  // elements from row to row in a tile
TILING_DATA_FIELD_DEF(uint32_t, tileRows);
TILING_DATA_FIELD_DEF(uint32_t, kept);  // floats of a whole row, if all of it can be kept; else 0
TILING_DATA_FIELD_DEF(float, mean);     // share of one element in the mean of its group
TILING_DATA_FIELD_DEF(float, epsilon);
TILING_DATA_FIELD_DEF(float, swishScale);
TILING_DATA_FIELD_DEF(uint32_t, activates);
TILING_DATA_FIELD_DEF(uint32_t, longChannels);  // whether tiles lie in one channel each
TILING_DATA_FIELD_DEF(uint32_t, wantsGamma);    // whether the gradient at gamma is returned
TILING_DATA_FIELD_DEF(uint32_t, wantsBeta);
END_TILING_DATA_DEF;

// Fills in how the tensor is cut; the blocks that have items are returned.
inline uint32_t CutGroups(gert::TilingContext* context, const gert::Shape& x, uint64_t groups,
                          const Footprint& footprint, GroupNormTilingData& tiling) {
    const uint64_t samples = x.GetDim(0), depth = x.GetDim(1) / groups;
    uint64_t spatial = 1;
    for (size_t axis = 2; axis < x.GetDimNum(); ++axis) {
        spatial *= x.GetDim(axis);
    }
    const uint64_t cores = VectorCores(context), columns = depth * spatial;
    const uint64_t wanted = std::max<uint64_t>(1, std::min(CeilDiv(4 * cores, groups), samples));
    const uint64_t share = std::max<uint64_t>(1, CeilDiv(samples, wanted));
    const uint64_t parts = CeilDiv(samples, share);
    RowPlan plan;
    PlanRows(context, share * cores, columns, footprint, plan);  // `share` rows for every core
    tiling.set_samples(columns == 0 ? 0 : samples);
    tiling.set_groups(groups);
    tiling.set_depth(depth);
    tiling.set_spatial(spatial);
    tiling.set_columns(columns);
    tiling.set_share(share);
    tiling.set_parts(parts);
    tiling.set_width(plan.get_width());
    tiling.set_pitch(plan.get_pitch());
    tiling.set_tileRows(plan.get_tileRows());
    tiling.set_kept(plan.get_kept());
    tiling.set_mean(columns == 0 ? 0.0f : 1.0 / columns);
    return std::max<uint64_t>(1, std::min(cores, groups * parts));
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
