// FlashAttentionScoreWithLargeHeadDim on the host: tiling, shapes and types, definition.
//
// A block treats some queries of one head at a time, together with all its keys.
#include "attention_rows.h"
#include "flash_attention_score_with_large_head_dim_tiling.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint64_t MOST_WIDTH = 512;
    const gert::Shape& query = context->GetInputShape(0)->GetStorageShape();
    const uint64_t batches = query.GetDim(0), length = query.GetDim(1), heads = *context->GetAttrs()->GetInt(1);
    const uint64_t headWidth = query.GetDim(2) / heads, cores = CubeCores(context);
    if (headWidth == 0 || headWidth > MOST_WIDTH) {
        return ge::GRAPH_FAILED;
    }
    const auto count = [&](uint64_t rows) { return batches * heads * CeilDiv(length, rows); };
    const uint64_t pitch = AttentionPitch(headWidth);
    const uint64_t keys = ATTENTION_KEYS * 3 * pitch * sizeof(uint16_t);  // and values in L1
    const uint64_t rows = AttentionRows(headWidth, pitch, keys, cores, count);
    const uint64_t tiles = count(rows), blocks = tiles < cores ? tiles : cores;

    FlashAttentionScoreWithLargeHeadDimTilingData tiling;
    tiling.set_batches(batches);
    tiling.set_heads(heads);
    tiling.set_length(length);
    tiling.set_headWidth(headWidth);
    tiling.set_tileRows(rows);
    tiling.set_scale(*context->GetAttrs()->GetFloat(0));
    return Launch(context, tiling, blocks, blocks * ExchangeBytes(rows, headWidth));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& query = *context->GetInputShape(0);
    const gert::Shape statistics({query.GetDim(0), *context->GetAttrs()->GetInt(1), query.GetDim(1), 8});
    *context->GetOutputShape(0) = statistics;
    *context->GetOutputShape(1) = statistics;
    *context->GetOutputShape(2) = query;
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, ge::DT_FLOAT);
    context->SetOutputDataType(1, ge::DT_FLOAT);
    context->SetOutputDataType(2, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class FlashAttentionScoreWithLargeHeadDim : public OpDef {
  public:
    explicit FlashAttentionScoreWithLargeHeadDim(const char* name) : OpDef(name) {
        for (const char* tensor : {"query", "key", "value"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        }
        for (const char* statistics : {"softmax_max", "softmax_sum"}) {
            this->Output(statistics).ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        }
        this->Output("attention_out").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->Attr("scale_value").AttrType(OPTIONAL).Float(1.0);
        this->Attr("head_num").AttrType(REQUIRED).Int();
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(FlashAttentionScoreWithLargeHeadDim);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
