// SelectReduceMaxDSubExpReduceSumDRealDiv on the host: tiling, shapes and types, definition.
#include "select_reduce_max_d_sub_exp_reduce_sum_d_real_div_tiling.h"
#include "row_tiles.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint32_t TILE = 4096;
    constexpr uint32_t LONGEST_PITCH = 255 * 8;  // floats from repeat to repeat of an instruction
    const gert::Shape& shape = context->GetInputShape(0)->GetStorageShape();
    const uint64_t total = shape.GetShapeSize();
    const uint64_t columns = shape.GetDimNum() == 0 ? 1 : shape.GetDim(shape.GetDimNum() - 1);
    const uint64_t rows = columns == 0 ? 0 : total / columns;
    const Shares shares = Divide(rows, 1, VectorCores(context));
    const RowTiles tiles = LayRows(columns, 32, TILE);  // whole blocks of the bytes that select

    SelectReduceMaxDSubExpReduceSumDRealDivTilingData tiling;
    tiling.set_rows(rows);
    tiling.set_share(shares.share);
    tiling.set_columns(columns);
    tiling.set_tile(TILE);
    tiling.set_tileRows(LONGEST_PITCH < tiles.pitch && tiles.rows > 0 ? 1 : tiles.rows);
    tiling.set_pitch(tiles.pitch);
    return Launch(context, tiling, shares.blocks);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(1);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(1));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class SelectReduceMaxDSubExpReduceSumDRealDiv : public OpDef {
  public:
    explicit SelectReduceMaxDSubExpReduceSumDRealDiv(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16};
        const std::vector<ge::DataType> bools(types.size(), ge::DT_BOOL);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("sel").ParamType(REQUIRED).DataType(bools).Format(formats);
        this->Input("input1").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("input2").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("ouput").ParamType(REQUIRED).DataType(types).Format(formats);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(SelectReduceMaxDSubExpReduceSumDRealDiv);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
