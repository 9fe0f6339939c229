// StridedSliceAssignV2 on the host: tiling, shapes and types, definition.
#include "row_copy_cores.h"
#include "strided_slice_assign_v2_tiling.h"

namespace optiling {
// Where the slice begins is data, which only the kernel sees; how much it takes is the shape of input_value.
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const gert::Shape& var = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& slice = context->GetInputShape(1)->GetStorageShape();
    const uint32_t rank = var.GetDimNum();
    if (rank > MOST_AXES || slice.GetDimNum() != rank) {
        return ge::GRAPH_FAILED;
    }
    uint64_t counts[MOST_AXES] = {}, pitches[MOST_AXES] = {};
    const uint64_t bytes = ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType());
    uint64_t pitch = bytes;
    for (uint32_t axis = rank; axis-- > 0;) {
        counts[axis] = slice.GetDim(axis);
        pitches[axis] = pitch;
        pitch *= var.GetDim(axis);
    }
    uint32_t axes = rank;
    uint64_t cell = bytes;
    while (axes > 0 && slice.GetDim(axes - 1) == var.GetDim(axes - 1)) {
        cell *= var.GetDim(--axes);
    }

    StridedSliceAssignV2TilingData tiling;
    tiling.set_rank(rank);
    tiling.set_axes(axes);
    tiling.set_sliced(context->GetInputShape(2)->GetStorageShape().GetShapeSize());
    tiling.set_cell(cell);
    tiling.set_counts(counts);
    tiling.set_pitches(pitches);
    return Launch(context, tiling, CoresForBytes(context, slice.GetShapeSize() * bytes));
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
class StridedSliceAssignV2 : public OpDef {
  public:
    explicit StridedSliceAssignV2(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_FLOAT,  ge::DT_BF16, ge::DT_INT32,
                                                 ge::DT_INT64,   ge::DT_DOUBLE, ge::DT_INT8};
        const std::vector<ge::DataType> indices(types.size(), ge::DT_INT64);
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        this->Input("var").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("input_value").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Input("begin").ParamType(REQUIRED).DataType(indices).Format(formats);
        this->Input("end").ParamType(REQUIRED).DataType(indices).Format(formats);
        this->Input("strides").ParamType(REQUIRED).DataType(indices).Format(formats);
        this->Input("axes").ParamType(OPTIONAL).DataType(indices).Format(formats);
        this->Output("var_out").ParamType(REQUIRED).DataType(types).Format(formats);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(StridedSliceAssignV2);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
