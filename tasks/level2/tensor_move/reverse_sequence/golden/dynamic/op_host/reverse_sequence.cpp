// ReverseSequence on the host: tiling, shapes and types, definition.
#include <algorithm>

#include "reverse_sequence_tiling.h"
#include "work_split.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint64_t TILE_BYTES = 32768;
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const int64_t rank = x.GetDimNum();
    const int64_t bytes = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
    const int64_t seqDim = *context->GetAttrs()->GetInt(0), batchDim = *context->GetAttrs()->GetInt(1);
    const int64_t seq = seqDim < 0 ? seqDim + rank : seqDim, batch = batchDim < 0 ? batchDim + rank : batchDim;
    const int64_t low = std::min(seq, batch), high = std::max(seq, batch);
    if (low < 0 || rank <= high || low == high) {
        return ge::GRAPH_FAILED;
    }
    uint64_t outer = 1, middle = 1, columns = 1;
    for (int64_t i = 0; i < rank; ++i) {
        outer *= i < low ? x.GetDim(i) : 1;
        middle *= low < i && i < high ? x.GetDim(i) : 1;
        columns *= high < i ? x.GetDim(i) : 1;
    }
    const uint64_t time = x.GetDim(seq), sequences = outer * middle * x.GetDim(batch);
    const uint64_t cores = VectorCores(context);
    const uint64_t tileColumns = std::min(columns, TILE_BYTES / bytes);
    const uint64_t fitting = TILE_BYTES / (CeilDiv(std::max<uint64_t>(1, tileColumns) * bytes, 32) * 32);
    // A core that has several sequences takes them whole; few sequences are cut into as many pieces as there are cores.
    const uint64_t fair = CeilDiv(time * sequences, cores);
    const uint64_t tileRows = std::max<uint64_t>(1, std::min({fitting, fair, time}));
    const uint64_t items = columns == 0 ? 0 : sequences * CeilDiv(time, tileRows) * CeilDiv(columns, tileColumns);

    ReverseSequenceTilingData tiling;
    tiling.set_outer(columns == 0 ? 0 : outer);
    tiling.set_batch(x.GetDim(batch));
    tiling.set_middle(middle);
    tiling.set_time(time);
    tiling.set_columns(columns);
    tiling.set_batchFirst(batch < seq);
    tiling.set_tileRows(tileRows);
    tiling.set_tileColumns(tileColumns);
    return Launch(context, tiling, std::max<uint64_t>(1, std::min(items, cores)));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class ReverseSequence : public OpDef {
  public:
    explicit ReverseSequence(const char* name) : OpDef(name) {
        std::vector<ge::DataType> types, lengths;
        for (ge::DataType length : {ge::DT_INT32, ge::DT_INT64}) {
            for (ge::DataType type : {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT8, ge::DT_UINT8, ge::DT_INT16,
                                      ge::DT_UINT16, ge::DT_INT32, ge::DT_INT64, ge::DT_BOOL, ge::DT_COMPLEX64}) {
                types.push_back(type);
                lengths.push_back(length);
            }
        }
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("seq_lengths").ParamType(REQUIRED).DataType(lengths).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("seq_dim").AttrType(REQUIRED).Int();
        this->Attr("batch_dim").AttrType(OPTIONAL).Int(0);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ReverseSequence);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
