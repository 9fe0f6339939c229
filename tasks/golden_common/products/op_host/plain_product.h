// Operators that are one product c = a @ b of halves: shape and type of c, and the tiling where nothing else is done.
#ifndef PLAIN_PRODUCT_H
#define PLAIN_PRODUCT_H
#include "products.h"

namespace optiling {
// The library's search cuts the product into one rectangle for each cube core, and every rectangle into base blocks;
// with a bias the bias table has room for each of them. `TilingData` holds the library's tiling as `cube`.
template <typename TilingData, bool BIAS = false>
ge::graphStatus TileProduct(gert::TilingContext* context) {
    using matmul_tiling::DataType;
    const gert::Shape& a = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& b = context->GetInputShape(1)->GetStorageShape();
    const Product product{a.GetDim(0), b.GetDim(1), a.GetDim(1), DataType::DT_FLOAT16, DataType::DT_FLOAT16, BIAS};
    TilingData tiling;
    if (!CutProduct(context, product, CubeCores(context), tiling.cube)) {
        return ge::GRAPH_FAILED;
    }
    return Launch(context, tiling, tiling.cube.get_usedCoreNum());
}
}  // namespace optiling

namespace ge {
inline graphStatus ShapeOfProduct(gert::InferShapeContext* context) {
    const gert::Shape* a = context->GetInputShape(0);
    const gert::Shape* b = context->GetInputShape(1);
    *context->GetOutputShape(0) = gert::Shape({a->GetDim(0), b->GetDim(1)});
    return GRAPH_SUCCESS;
}

inline graphStatus TypeOfProduct(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
