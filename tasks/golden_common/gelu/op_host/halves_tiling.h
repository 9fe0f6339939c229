// Host side of operators on the halves of a tensor along one axis.
//
// Seen as rows, such a tensor is `outer` pairs of a first and a second row of `inner` elements.
#ifndef HALVES_TILING_H
#define HALVES_TILING_H
#include <algorithm>

#include "register/tilingdata_base.h"
#include "row_tiles.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(HalvesTilingData)
TILING_DATA_FIELD_DEF(uint64_t, outer);
TILING_DATA_FIELD_DEF(uint64_t, inner);
TILING_DATA_FIELD_DEF(uint32_t, columns);  // of a tile
TILING_DATA_FIELD_DEF(uint32_t, pitch);    // elements from row to row in a tile
TILING_DATA_FIELD_DEF(uint32_t, tileRows);
TILING_DATA_FIELD_DEF(uint32_t, tanhForm);   // of GELU
TILING_DATA_FIELD_DEF(uint32_t, gateFirst);  // whether the first half is the gate
END_TILING_DATA_DEF;

// `x` is the tensor that has halves; a tile has at most `tile` elements.
inline ge::graphStatus LaunchHalves(gert::TilingContext* context, const gert::Shape& x, uint64_t tile) {
    const int64_t rank = x.GetDimNum();
    const int64_t dim = *context->GetAttrs()->GetInt(0);
    const int64_t axis = dim < 0 ? dim + rank : dim;
    if (axis < 0 || rank <= axis || x.GetDim(axis) % 2 != 0) {
        return ge::GRAPH_FAILED;
    }
    uint64_t outer = 1, inner = x.GetDim(axis) / 2;
    for (int64_t i = 0; i < rank; ++i) {
        outer *= i < axis ? x.GetDim(i) : 1;
        inner *= i > axis ? x.GetDim(i) : 1;
    }
    // Few long rows are cut into more pieces than fit would ask for, until every core has one.
    const uint64_t cores = VectorCores(context);
    const uint64_t fairPiece = CeilDiv(CeilDiv(inner, CeilDiv(cores, std::max<uint64_t>(1, outer))), 256) * 256;
    const uint64_t columns = std::min({inner, tile, std::max<uint64_t>(512, fairPiece)});
    const RowTiles tiles = LayRows(columns, 16, tile);
    const uint64_t fair = std::max<uint64_t>(1, CeilDiv(outer, cores));
    const uint64_t rows = CeilDiv(fair, CeilDiv(fair, std::max<uint64_t>(1, tiles.rows)));  // tiles of equal height
    const uint64_t items = inner == 0 ? 0 : CeilDiv(outer, rows) * CeilDiv(inner, columns);

    HalvesTilingData tiling;
    tiling.set_outer(inner == 0 ? 0 : outer);
    tiling.set_inner(inner);
    tiling.set_columns(columns);
    tiling.set_pitch(tiles.pitch);
    tiling.set_tileRows(columns < inner ? 1 : rows);
    tiling.set_tanhForm(*context->GetAttrs()->GetInt(1) == 1);
    tiling.set_gateFirst(*context->GetAttrs()->GetBool(2));
    return Launch(context, tiling, std::max<uint64_t>(1, std::min(items, cores)));
}
}  // namespace optiling

namespace ge {
inline void ShapeOfHalf(gert::Shape* half, const gert::Shape& x, int64_t dim) {
    const size_t axis = dim < 0 ? dim + x.GetDimNum() : dim;
    *half = x;
    half->SetDim(axis, x.GetDim(axis) / 2);
}
}  // namespace ge
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
