// TopKV3 on the host: tiling, shapes and types, definition.
//
// k is at most 256: the lines of a tile keep that many candidates each.
#include <algorithm>

#include "top_kv3_tiling.h"
#include "work_split.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint64_t MOST = 256;  // what sixteen lines of the unified buffer leave room for
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& values = context->GetOutputShape(0)->GetStorageShape();
    const int64_t rank = x.GetDimNum();
    const int64_t dim = *context->GetAttrs()->GetInt(1);
    const int64_t axis = dim < 0 ? dim + rank : dim;
    uint64_t outer = 1, inner = 1;
    for (int64_t i = 0; i < axis; ++i) {
        outer *= x.GetDim(i);
    }
    for (int64_t i = axis + 1; i < rank; ++i) {
        inner *= x.GetDim(i);
    }
    const uint64_t length = rank == 0 ? 1 : x.GetDim(axis);
    const uint64_t k = rank == 0 ? 1 : values.GetDim(axis);
    if (k > MOST || k > length) {
        return ge::GRAPH_FAILED;
    }
    const uint64_t cores = VectorCores(context);
    const uint64_t lines = inner == 1 ? std::min<uint64_t>(16, std::max<uint64_t>(1, CeilDiv(outer, cores))) : 16;
    const uint64_t tiles = k == 0 ? 0 : inner == 1 ? CeilDiv(outer, lines) : outer * CeilDiv(inner, lines);

    TopKV3TilingData tiling;
    tiling.set_outer(k == 0 ? 0 : outer);
    tiling.set_length(length);
    tiling.set_inner(inner);
    tiling.set_k(k);
    tiling.set_tileLines(lines);
    tiling.set_largest(*context->GetAttrs()->GetBool(2));
    return Launch(context, tiling, std::max<uint64_t>(1, std::min(tiles, cores)));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Tensor* tensor = context->GetInputTensor(1);
    const int32_t* k = tensor == nullptr ? nullptr : tensor->GetData<int32_t>();
    const gert::Shape* x = context->GetInputShape(0);
    const int64_t dim = *context->GetAttrs()->GetInt(1);
    for (size_t output = 0; output < 2; ++output) {
        *context->GetOutputShape(output) = *x;
        context->GetOutputShape(output)->SetDim(dim < 0 ? dim + x->GetDimNum() : dim, k == nullptr ? -1 : *k);
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    context->SetOutputDataType(1, DT_INT32);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class TopKV3 : public OpDef {
  public:
    explicit TopKV3(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->Input("k").ParamType(REQUIRED).DataType({ge::DT_INT32}).Format({ge::FORMAT_ND});
        this->Output("values").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->Output("indices").ParamType(REQUIRED).DataType({ge::DT_INT32}).Format({ge::FORMAT_ND});
        this->Attr("sorted").AttrType(OPTIONAL).Bool(true);
        this->Attr("dim").AttrType(OPTIONAL).Int(-1);
        this->Attr("largest").AttrType(OPTIONAL).Bool(true);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(TopKV3);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
