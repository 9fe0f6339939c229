// CoalesceSparse on the host: tiling, shapes and types, definition.
#include <algorithm>

#include "coalesce_sparse_tiling.h"
#include "work_split.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint64_t SUMS = 12288, WIDTH = 2048;      // elements of the kernel's buffers
    constexpr uint64_t COORDINATE_BYTES = 16384, BLOCK = 32;
    const gert::Shape& indices = context->GetInputShape(2)->GetStorageShape();
    const uint64_t ranks = context->GetInputShape(0)->GetStorageShape().GetShapeSize(), entries = indices.GetDim(0);
    const uint64_t coordinates = indices.GetDim(1);
    const uint64_t values = context->GetInputShape(3)->GetStorageShape().GetShapeSize();
    const uint64_t columns = entries == 0 ? 0 : values / entries, cores = VectorCores(context);
    const uint64_t row = CeilDiv(coordinates * ge::GetSizeByDataType(context->GetInputDesc(2)->GetDataType()), BLOCK);
    if (row * BLOCK > COORDINATE_BYTES) {
        return ge::GRAPH_FAILED;
    }
    // Cores have ranks of their own; few ranks with long values are also cut by columns.
    const uint64_t most = std::max<uint64_t>(1, CeilDiv(columns, GranuleOf(context, 3)));
    const uint64_t pieces = std::min(most, std::max<uint64_t>(1, cores / std::max<uint64_t>(1, ranks)));
    const Shares byRank = Divide(ranks, 1, cores / pieces);
    const uint64_t columnShare = Divide(columns, GranuleOf(context, 3), pieces).share;
    const uint64_t width = std::max<uint64_t>(1, std::min({columns, columnShare, WIDTH}));
    const uint64_t pitch = CeilDiv(width, 16) * 16;

    CoalesceSparseTilingData tiling;
    tiling.set_entries(entries);
    tiling.set_ranks(ranks);
    tiling.set_coordinates(coordinates);
    tiling.set_columns(columns);
    tiling.set_rankShare(byRank.share);
    tiling.set_columnShare(columnShare);
    tiling.set_pieces(pieces);
    tiling.set_batch(std::min({byRank.share, SUMS / pitch, COORDINATE_BYTES / (std::max<uint64_t>(1, row) * BLOCK)}));
    tiling.set_width(width);
    return Launch(context, tiling, byRank.blocks * pieces);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const int64_t ranks = context->GetInputShape(0)->GetDim(0);
    for (size_t i = 0; i < 2; ++i) {
        *context->GetOutputShape(i) = *context->GetInputShape(2 + i);
        context->GetOutputShape(i)->SetDim(0, ranks);
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(2));
    context->SetOutputDataType(1, context->GetInputDataType(3));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class CoalesceSparse : public OpDef {
  public:
    explicit CoalesceSparse(const char* name) : OpDef(name) {
        std::vector<ge::DataType> lengths, ranks, indices, values;
        for (ge::DataType value : {ge::DT_FLOAT, ge::DT_INT32, ge::DT_FLOAT16}) {
            for (int wide = 0; wide < 8; ++wide) {
                lengths.push_back(wide & 1 ? ge::DT_INT64 : ge::DT_INT32);
                ranks.push_back(wide & 2 ? ge::DT_INT64 : ge::DT_INT32);
                indices.push_back(wide & 4 ? ge::DT_INT64 : ge::DT_INT32);
                values.push_back(value);
            }
        }
        const std::vector<ge::Format> formats(values.size(), ge::FORMAT_ND);
        this->Input("unique_len").ParamType(REQUIRED).DataType(lengths).Format(formats);
        this->Input("unique_indices").ParamType(REQUIRED).DataType(ranks).Format(formats);
        this->Input("indices").ParamType(REQUIRED).DataType(indices).Format(formats);
        this->Input("values").ParamType(REQUIRED).DataType(values).Format(formats);
        this->Output("new_indices").ParamType(REQUIRED).DataType(indices).Format(formats);
        this->Output("new_values").ParamType(REQUIRED).DataType(values).Format(formats);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(CoalesceSparse);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
