// Tril on the host: definition; tiling, shapes and types are those of all triangles.
#include "triangle_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(Tril, TriangleTilingData)
}  // namespace optiling

namespace ops {
class Tril : public OpDef {
  public:
    explicit Tril(const char* name) : OpDef(name) {
        this->Input("x")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("diagonal").AttrType(OPTIONAL).Int(0);
        this->SetInferShape(ge::ShapeOfInput).SetInferDataType(ge::TypeOfInput);
        this->AICore().SetTiling(optiling::TileTriangle);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Tril);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
