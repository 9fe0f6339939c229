// FeedsRepeat on the host: tiling, shapes and types, definition.
#include <algorithm>

#include "feeds_repeat_tiling.h"
#include "work_split.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::Shape& feeds = context->GetInputShape(0)->GetStorageShape();
    const uint64_t outputRows = *context->GetAttrs()->GetInt(0);
    uint64_t columns = 1;
    for (size_t i = 1; i < feeds.GetDimNum(); ++i) {
        columns *= feeds.GetDim(i);
    }
    const Shares shares = Divide(columns == 0 ? 0 : outputRows, 1, VectorCores(context));

    FeedsRepeatTilingData tiling;
    tiling.set_rows(feeds.GetDim(0));
    tiling.set_columns(columns);
    tiling.set_outputRows(outputRows);
    tiling.set_share(shares.share);
    tiling.set_tile(std::min<uint64_t>(columns, 64 * GranuleOf(context, 0)));
    return Launch(context, tiling, shares.blocks);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    context->GetOutputShape(0)->SetDim(0, *context->GetAttrs()->GetInt(0));
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class FeedsRepeat : public OpDef {
  public:
    explicit FeedsRepeat(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16,
                                                 ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16};
        const std::vector<ge::DataType> times = {ge::DT_INT32, ge::DT_INT32, ge::DT_INT32,
                                                 ge::DT_INT64, ge::DT_INT64, ge::DT_INT64};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("feeds").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("feeds_repeat_times").ParamType(REQUIRED).DataType(times).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("output_feeds_size").AttrType(REQUIRED).Int();
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(FeedsRepeat);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
