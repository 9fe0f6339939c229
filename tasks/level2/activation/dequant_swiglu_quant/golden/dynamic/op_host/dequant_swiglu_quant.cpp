// DequantSwigluQuant on the host: tiling, shapes and types, definition.
#include <cstring>

#include "dequant_swiglu_quant_tiling.h"

namespace optiling {
// Bytes of the unified buffer for each element of an input, 0 if it is absent: so many places, and a float besides.
static uint64_t BytesIn(gert::TilingContext* context, size_t input, uint64_t places) {
    if (context->GetOptionalInputDesc(input) == nullptr) {
        return 0;
    }
    const ge::DataType type = context->GetOptionalInputDesc(input)->GetDataType();
    return places * ge::GetSizeByDataType(type) + (type == ge::DT_FLOAT ? 0 : sizeof(float));
}

// Tiles of both halves, of values and of bytes on their way out; the vectors that a case has, those of x twice.
static Footprint Kept(gert::TilingContext* context) {
    constexpr uint64_t VALUES = sizeof(float), OUT = 9;
    const uint64_t columns = 2 * (BytesIn(context, 1, 1) + BytesIn(context, 3, 1)) + BytesIn(context, 4, 1) +
                             BytesIn(context, 5, 1) + sizeof(float);
    return {2 * BytesIn(context, 0, 2) + VALUES + OUT, columns, 32, true};
}

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const uint64_t total = x.GetShapeSize();
    const uint64_t columns = x.GetDim(x.GetDimNum() - 1) / 2;
    const gert::StorageShape* groups = context->GetOptionalInputShape(6);
    DequantSwigluQuantTilingData tiling;
    const uint64_t rows = columns == 0 ? 0 : total / columns / 2;
    const Footprint footprint = Kept(context);
    uint32_t blocks = PlanRows(context, rows, columns, footprint, tiling.plan);
    const uint64_t aligned = CeilDiv(std::max<uint64_t>(1, columns), footprint.unit) * footprint.unit;
    tiling.set_held(tiling.plan.get_width() == columns ? aligned : 0);
    // Vectors of all columns are worth smaller pieces of rows.
    constexpr uint64_t MOST = 96 * 1024;
    if (tiling.get_held() == 0 && aligned * footprint.perColumn <= MOST) {
        Footprint beside = footprint;
        beside.fixed = aligned * footprint.perColumn;
        beside.perColumn = 0;
        blocks = PlanRows(context, rows, columns, beside, tiling.plan);
        tiling.set_held(aligned);
    }
    tiling.set_groups(groups == nullptr ? 0 : groups->GetStorageShape().GetShapeSize());
    tiling.set_gateFirst(*context->GetAttrs()->GetBool(0));
    tiling.set_dynamic(std::strcmp(context->GetAttrs()->GetStr(1), "dynamic") == 0);
    return Launch(context, tiling, blocks);
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape& x = *context->GetInputShape(0);
    const size_t last = x.GetDimNum() - 1;
    *context->GetOutputShape(0) = x;
    context->GetOutputShape(0)->SetDim(last, x.GetDim(last) / 2);
    *context->GetOutputShape(1) = gert::Shape({0});
    if (std::strcmp(context->GetAttrs()->GetStr(1), "dynamic") == 0) {
        *context->GetOutputShape(1) = x;
        context->GetOutputShape(1)->SetDimNum(last);
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, DT_INT8);
    context->SetOutputDataType(1, DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class DequantSwigluQuant : public OpDef {
  public:
    explicit DequantSwigluQuant(const char* name) : OpDef(name) {
        std::vector<ge::DataType> types, biases, scales, counts;
        for (ge::DataType x : {ge::DT_BF16, ge::DT_FLOAT16, ge::DT_INT32}) {
            for (ge::DataType bias : {ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_BF16, ge::DT_INT32}) {
                for (ge::DataType scale : {ge::DT_FLOAT, ge::DT_FLOAT16}) {
                    for (ge::DataType count : {ge::DT_INT32, ge::DT_INT64}) {
                        types.push_back(x);
                        biases.push_back(bias);
                        scales.push_back(scale);
                        counts.push_back(count);
                    }
                }
            }
        }
        const std::vector<ge::DataType> bytes(types.size(), ge::DT_INT8);
        const std::vector<ge::DataType> floats(types.size(), ge::DT_FLOAT);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("weight_scale").ParamType(OPTIONAL).DataType(floats).Format(formats);
        this->Input("activation_scale").ParamType(OPTIONAL).DataType(floats).Format(formats);
        this->Input("bias").ParamType(OPTIONAL).DataType(biases).Format(formats);
        this->Input("quant_scale").ParamType(OPTIONAL).DataType(scales).Format(formats);
        this->Input("quant_offset").ParamType(OPTIONAL).DataType(floats).Format(formats);
        this->Input("group_index").ParamType(OPTIONAL).DataType(counts).Format(formats);
        this->Output("y").ParamType(REQUIRED).DataType(bytes).Format(formats);
        this->Output("scale").ParamType(REQUIRED).DataType(floats).Format(formats);
        this->Attr("activate_left").AttrType(OPTIONAL).Bool(false);
        this->Attr("quant_mode").AttrType(OPTIONAL).String("static");
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(DequantSwigluQuant);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
