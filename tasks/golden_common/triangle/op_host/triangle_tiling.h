// Host side of Tril and Triu: how matrices are cut, and that the output looks like the input.
//
// Rows that fit a tile are taken several at a time, longer ones in pieces. Tiles are dealt out in turn, since rows need
// different amounts of work.
#ifndef TRIANGLE_TILING_H
#define TRIANGLE_TILING_H
#include "register/tilingdata_base.h"
#include "work_split.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(TriangleTilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);    // rows of all matrices
TILING_DATA_FIELD_DEF(uint64_t, rows);     // of a matrix
TILING_DATA_FIELD_DEF(uint64_t, columns);  // of a matrix
TILING_DATA_FIELD_DEF(int64_t, diagonal);
TILING_DATA_FIELD_DEF(uint64_t, pieces);  // of a row
TILING_DATA_FIELD_DEF(uint64_t, tiles);   // of all matrices
TILING_DATA_FIELD_DEF(uint32_t, tileRows);
TILING_DATA_FIELD_DEF(uint32_t, tileColumns);
TILING_DATA_FIELD_DEF(uint32_t, pitch);  // elements from row to row of a tile, whole blocks of 32 bytes
END_TILING_DATA_DEF;

inline ge::graphStatus TileTriangle(gert::TilingContext* context) {
    constexpr uint64_t TILE = 32768, BLOCK = 32, MOST_ROWS = 4095;  // bytes, bytes, blocks that one copy takes
    const gert::Shape& shape = context->GetInputShape(0)->GetStorageShape();
    const uint64_t bytes = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
    const uint64_t rows = shape.GetDim(shape.GetDimNum() - 2);
    const uint64_t columns = shape.GetDim(shape.GetDimNum() - 1);
    const uint64_t total = columns == 0 ? 0 : shape.GetShapeSize() / columns;
    const uint64_t cores = VectorCores(context);
    const int64_t* diagonal = context->GetAttrs()->GetInt(0);

    const uint64_t tileColumns = columns * bytes < TILE ? columns : TILE / bytes;
    const uint64_t pitch = columns == 0 ? BLOCK : CeilDiv(tileColumns * bytes, BLOCK) * BLOCK;
    uint64_t tileRows = tileColumns < columns ? 1 : TILE / pitch;
    tileRows = tileRows < MOST_ROWS ? tileRows : MOST_ROWS;
    const uint64_t perCore = CeilDiv(total, cores);
    tileRows = perCore > 0 && perCore < tileRows ? perCore : tileRows;
    const uint64_t pieces = columns == 0 ? 0 : CeilDiv(columns, tileColumns);
    const uint64_t tiles = CeilDiv(total, tileRows) * pieces;

    TriangleTilingData tiling;
    tiling.set_total(total);
    tiling.set_rows(rows);
    tiling.set_columns(columns);
    tiling.set_diagonal(diagonal == nullptr ? 0 : *diagonal);
    tiling.set_pieces(pieces);
    tiling.set_tiles(tiles);
    tiling.set_tileRows(tileRows);
    tiling.set_tileColumns(tileColumns);
    tiling.set_pitch(pitch / bytes);
    return Launch(context, tiling, tiles == 0 ? 1 : tiles < cores ? tiles : cores);
}
}  // namespace optiling

namespace ge {
inline graphStatus ShapeOfInput(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}

inline graphStatus TypeOfInput(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
