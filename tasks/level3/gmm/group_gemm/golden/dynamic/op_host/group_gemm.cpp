// GroupGemm on the host: tiling, shapes and types, definition.
//
// The products of all groups are cut into rectangles of one size, which cube cores hand over to vector cores.
#include "group_gemm_tiling.h"
#include "handover_tiles.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    using matmul_tiling::DataType;
    const gert::TypedContinuousVector<int64_t>* lists[3];  // m, k and n of every group
    for (size_t i = 0; i < 3; ++i) {
        lists[i] = context->GetAttrs()->GetListInt(i);
        if (lists[i] == nullptr || lists[i]->GetSize() != lists[0]->GetSize()) {
            return ge::GRAPH_FAILED;
        }
    }
    const size_t groups = lists[0]->GetSize();
    if (groups == 0 || groups > MOST_GROUPS) {
        return ge::GRAPH_FAILED;
    }
    uint32_t extents[3][MOST_GROUPS] = {};
    std::vector<Product> products;
    for (size_t g = 0; g < groups; ++g) {
        for (size_t i = 0; i < 3; ++i) {
            extents[i][g] = lists[i]->GetData()[g];
        }
        products.push_back({extents[0][g], extents[2][g], extents[1][g], DataType::DT_FLOAT16, DataType::DT_FLOAT});
    }
    GroupGemmTilingData tiling;
    const uint64_t blocks = CutTiles(context, products, tiling.cube);
    if (blocks == 0) {
        return ge::GRAPH_FAILED;
    }
    tiling.set_groups(groups);
    tiling.set_m(extents[0]);
    tiling.set_k(extents[1]);
    tiling.set_n(extents[2]);
    return Launch(context, tiling, blocks, HandoverBytes(tiling.cube, blocks));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(2);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(2));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class GroupGemm : public OpDef {
  public:
    explicit GroupGemm(const char* name) : OpDef(name) {
        for (const char* matrices : {"a", "b", "c"}) {
            this->Input(matrices).ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        }
        for (const char* factors : {"alpha", "beta"}) {
            this->Input(factors).ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        }
        this->Output("d").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});  // in the memory of c
        for (const char* extents : {"mList", "kList", "nList"}) {
            this->Attr(extents).AttrType(REQUIRED).ListInt();
        }
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(GroupGemm);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
