// How the tiling functions of golden operators cut tensors of rows.
#ifndef ROW_PLAN_H
#define ROW_PLAN_H
#include <algorithm>

#include "register/tilingdata_base.h"
#include "work_split.h"

namespace optiling {
// Rows, spread over the cores. Whole rows make a tile where they fit; longer rows are cut into pieces of `width`.
BEGIN_TILING_DATA_DEF(RowPlan)
TILING_DATA_FIELD_DEF(uint64_t, rows);
TILING_DATA_FIELD_DEF(uint64_t, columns);   // elements of a row
TILING_DATA_FIELD_DEF(uint64_t, share);     // rows for each core
TILING_DATA_FIELD_DEF(uint32_t, width);     // columns of a tile
TILING_DATA_FIELD_DEF(uint32_t, pitch);     // elements from row to row in a tile
TILING_DATA_FIELD_DEF(uint32_t, tileRows);  // rows of a tile, one where a row takes several tiles
TILING_DATA_FIELD_DEF(uint32_t, kept);      // floats of a whole row, if all of it can be kept; else 0
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(RowPlanOp, RowPlan)

// What a kernel keeps in the unified buffer: bytes for every element of a tile, and for every column of one.
struct Footprint {
    uint64_t perElement, perColumn;
    uint64_t unit = 16;       // elements that rows are padded to
    bool keeps = false;       // whether the floats of a whole row are kept if a row takes several tiles
    uint64_t fixed = 0;       // bytes besides
    uint64_t mostRows = 248;  // of a tile: instructions repeat at most 255 times, here a multiple of 8
};

inline uint64_t LargestTile(const Footprint& footprint, uint64_t columns, uint64_t room) {
    uint64_t tile = 512;
    for (uint64_t candidate = tile; candidate <= 8192; candidate += 512) {
        const uint64_t bytes = candidate * footprint.perElement + std::min(candidate, columns) * footprint.perColumn;
        tile = bytes <= room ? candidate : tile;
    }
    return tile;
}

// The blocks that have rows are returned; the plan is filled.
inline uint32_t PlanRows(gert::TilingContext* context, uint64_t rows, uint64_t columns, const Footprint& footprint,
                         RowPlan& plan) {
    const uint64_t room = 164 * 1024 - footprint.fixed;  // of the unified buffer; the rest is for numbers per row
    const uint64_t aligned = CeilDiv(std::max<uint64_t>(1, columns), footprint.unit) * footprint.unit;
    uint64_t tile = LargestTile(footprint, aligned, room);
    uint64_t kept = aligned <= tile ? aligned : 0;
    if (kept == 0 && footprint.keeps && (aligned + 512) * sizeof(float) < room) {
        const uint64_t less = LargestTile(footprint, aligned, room - (aligned + 512) * sizeof(float));
        tile = less < 1024 ? tile : less;
        kept = less < 1024 ? 0 : aligned;
    }
    const Shares shares = Divide(columns == 0 ? 0 : rows, 1, VectorCores(context));
    const uint64_t pitch = std::min(aligned, tile);
    const uint64_t most = std::min({shares.share, footprint.mostRows, tile / pitch});
    plan.set_rows(columns == 0 ? 0 : rows);
    plan.set_columns(columns);
    plan.set_share(shares.share);
    plan.set_width(std::min(columns, pitch));
    plan.set_pitch(pitch);
    plan.set_tileRows(CeilDiv(shares.share, CeilDiv(shares.share, most)));  // tiles of equal height
    plan.set_kept(kept);
    return shares.blocks;
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
