// ScatterList on the host: tiling, shapes and types, definition.
#include "row_copy_cores.h"
#include "scatter_list_tiling.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::Tensor* var = context->GetDynamicInputTensor(0, 0);
    const gert::Shape& shape = var->GetStorageShape();
    const int64_t rank = shape.GetDimNum(), axis = *context->GetAttrs()->GetInt(1);
    const int64_t place = axis < 0 ? axis + rank : axis;
    if (place < 0 || place >= rank) {
        return ge::GRAPH_FAILED;
    }
    uint64_t outer = 1, inner = ge::GetSizeByDataType(var->GetDataType());
    for (int64_t i = 0; i < rank; ++i) {
        outer *= i < place ? shape.GetDim(i) : 1;
        inner *= i > place ? shape.GetDim(i) : 1;
    }
    uint64_t count = 0;
    while (context->GetDynamicInputTensor(0, count) != nullptr) {
        ++count;
    }

    ScatterListTilingData tiling;
    tiling.set_count(count);
    tiling.set_outer(outer);
    tiling.set_extent(shape.GetDim(place));
    tiling.set_inner(inner);
    return Launch(context, tiling, CoresForBytes(context, count * outer * shape.GetDim(place) * inner));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    for (size_t k = 0; k < context->GetComputeNodeOutputNum(); ++k) {
        *context->GetOutputShape(k) = *context->GetDynamicInputShape(0, k);
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    for (size_t k = 0; k < context->GetComputeNodeOutputNum(); ++k) {
        context->SetOutputDataType(k, context->GetDynamicInputDataType(0, k));
    }
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class ScatterList : public OpDef {
  public:
    explicit ScatterList(const char* name) : OpDef(name) {
        std::vector<ge::DataType> types, indices;
        for (ge::DataType index : {ge::DT_INT32, ge::DT_INT64}) {
            for (ge::DataType type : {ge::DT_INT8, ge::DT_INT16, ge::DT_INT32, ge::DT_UINT8, ge::DT_UINT16,
                                      ge::DT_UINT32, ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT}) {
                types.push_back(type);
                indices.push_back(index);
            }
        }
        const std::vector<ge::DataType> bytes(types.size(), ge::DT_UINT8);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("var").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->Input("indice").ParamType(REQUIRED).DataType(indices).Format(formats);
        this->Input("updates").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("mask").ParamType(OPTIONAL).DataType(bytes).Format(formats);
        this->Output("varOut").ParamType(DYNAMIC).DataType(types).Format(formats);
        this->Attr("reduce").AttrType(OPTIONAL).String("update");
        this->Attr("axis").AttrType(OPTIONAL).Int(-2);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ScatterList);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
