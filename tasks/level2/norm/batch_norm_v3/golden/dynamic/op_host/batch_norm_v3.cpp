// BatchNormV3 on the host: tiling, shapes and types, definition.
#include <algorithm>

#include "batch_norm_v3_tiling.h"
#include "row_tiles.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint64_t TILE = 5120;
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const uint64_t samples = x.GetDim(0), channels = x.GetDim(1);
    uint64_t spatial = 1;
    for (size_t axis = 2; axis < x.GetDimNum(); ++axis) {
        spatial *= x.GetDim(axis);
    }
    if (samples * channels * spatial == 0) {
        return ge::GRAPH_FAILED;
    }
    // Channels are cut into parts of some samples until every core has work.
    const uint64_t cores = VectorCores(context);
    const uint64_t wanted = std::min({CeilDiv(2 * cores, channels), samples, uint64_t(48)});
    const uint64_t share = CeilDiv(samples, wanted);
    const uint64_t parts = CeilDiv(samples, share);
    const uint64_t width = std::min(spatial, TILE);
    const RowTiles tiles = LayRows(width, 16, TILE);
    const uint64_t rows = width < spatial ? 1 : std::min<uint64_t>(share, tiles.rows);
    const gert::RuntimeAttrs* attributes = context->GetAttrs();

    BatchNormV3TilingData tiling;
    tiling.set_samples(samples);
    tiling.set_channels(channels);
    tiling.set_spatial(spatial);
    tiling.set_share(share);
    tiling.set_parts(parts);
    tiling.set_width(width);
    tiling.set_pitch(tiles.pitch);
    tiling.set_tileRows(CeilDiv(share, CeilDiv(share, rows)));  // tiles of equal height
    tiling.set_epsilon(*attributes->GetFloat(0));
    tiling.set_momentum(*attributes->GetFloat(1));
    tiling.set_training(*attributes->GetBool(2));
    const bool meets = tiling.get_training() != 0;  // for which all cores must be there
    return Launch(context, tiling, meets ? cores : std::min(cores, channels * parts), channels * parts * 32);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape saved = *context->GetAttrs()->GetBool(2) ? *context->GetInputShape(3) : gert::Shape({0});
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    *context->GetOutputShape(1) = *context->GetInputShape(3);
    *context->GetOutputShape(2) = *context->GetInputShape(4);
    *context->GetOutputShape(3) = saved;
    *context->GetOutputShape(4) = saved;
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    for (size_t output = 1; output < 5; ++output) {
        context->SetOutputDataType(output, DT_FLOAT);
    }
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class BatchNormV3 : public OpDef {
  public:
    explicit BatchNormV3(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT16,
                                                 ge::DT_BF16};
        const std::vector<ge::DataType> weights = {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT,
                                                   ge::DT_FLOAT};
        const std::vector<ge::DataType> floats(types.size(), ge::DT_FLOAT);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("weight").ParamType(REQUIRED).DataType(weights).Format(formats);
        this->Input("bias").ParamType(REQUIRED).DataType(weights).Format(formats);
        this->Input("running_mean").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Input("running_var").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Output("running_mean")
            .ParamType(REQUIRED)
            .DataType(floats)
            .Format(formats);                                                              // in the memory of the input
        this->Output("running_var").ParamType(REQUIRED).DataType(floats).Format(formats);  // likewise
        this->Output("save_mean").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Output("save_rstd").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Attr("epsilon").AttrType(OPTIONAL).Float(1.0e-5);
        this->Attr("momentum").AttrType(OPTIONAL).Float(0.1);
        this->Attr("is_training").AttrType(OPTIONAL).Bool(true);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(BatchNormV3);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
