// BasicMatmul on the host: the definition. Tiling, shape and type are those of every plain product.
#include "basic_matmul_tiling.h"
#include "plain_product.h"

namespace ops {
class BasicMatmul : public OpDef {
  public:
    explicit BasicMatmul(const char* name) : OpDef(name) {
        for (const char* tensor : {"a", "b"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        }
        this->Output("c").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->SetInferShape(ge::ShapeOfProduct).SetInferDataType(ge::TypeOfProduct);
        this->AICore().SetTiling(optiling::TileProduct<optiling::BasicMatmulTilingData>);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(BasicMatmul);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
