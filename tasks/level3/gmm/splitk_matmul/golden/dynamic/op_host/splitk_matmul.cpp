// SplitkMatmul on the host: tiling, shapes and types, definition.
//
// The more parts k is cut into, the larger the rectangles of the result that cores multiply, and the less of a and b is
// loaded more than once. But parts have to meet and be added up, which pays where k is long. Tiling key 0: the whole of
// k on cube cores; 1: parts of k, added up by vector cores. All cores are started, as they meet.
#include <algorithm>
#include "plain_product.h"
#include "splitk_matmul_tiling.h"

namespace optiling {
// Parts of k begin at multiples of 512 bytes.
constexpr int64_t GRANULE = 256;

static Product PartOf(const gert::TilingContext* context, uint64_t parts) {
    using matmul_tiling::DataType;
    const gert::Shape& a = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& b = context->GetInputShape(1)->GetStorageShape();
    const int64_t k = a.GetDim(1), depth = parts == 1 ? k : CeilDiv(CeilDiv(k, parts), GRANULE) * GRANULE;
    const DataType result = parts == 1 ? DataType::DT_FLOAT16 : DataType::DT_FLOAT;
    return {a.GetDim(0), b.GetDim(1), depth, DataType::DT_FLOAT16, result};
}

// Nanoseconds, by round numbers of the chip, that a core spends on a rectangle and all of them on adding up.
static double TimeOf(const Product& part, TCubeTiling& cube, uint64_t parts) {
    constexpr double LOADED = 145.0, STORED = 75.0, MEETING = 6500.0, ADDED = 1000.0;
    const double height = cube.get_singleCoreM(), width = cube.get_singleCoreN();
    const double load = (height + width) * part.k * 2 / LOADED, store = height * width * (parts == 1 ? 2 : 4) / STORED;
    const double add = parts == 1 ? 0 : MEETING + double(part.m) * part.n * 4 * parts / ADDED;
    return std::max(load, store) + add;
}

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint64_t cores = CubeCores(context), k = context->GetInputShape(0)->GetStorageShape().GetDim(1);
    SplitkMatmulTilingData tiling;
    double least = 0;
    for (uint64_t wanted = 1; wanted <= cores; wanted *= 2) {
        const Product part = PartOf(context, wanted);
        const uint64_t parts = CeilDiv(k, part.k);
        TCubeTiling cube;
        if (!CutProduct(context, part, cores / wanted, cube)) {
            continue;
        }
        const double time = TimeOf(part, cube, parts);
        if (least == 0 || time < least) {
            least = time;
            tiling.cube = cube;
            tiling.set_parts(parts);
            tiling.set_depth(part.k);
        }
    }
    if (least == 0) {
        return ge::GRAPH_FAILED;
    }
    tiling.cube.set_Ka(k);
    const bool whole = tiling.get_parts() == 1;
    const uint64_t elements = uint64_t(tiling.cube.get_M()) * tiling.cube.get_N();
    tiling.set_share(Divide(elements, 128, VectorCores(context)).share);
    context->SetTilingKey(whole ? 0 : 1);
    const uint64_t sums = whole ? 0 : tiling.get_parts() * elements * sizeof(float);
    return Launch(context, tiling, cores, sums);
}
}  // namespace optiling

namespace ops {
class SplitkMatmul : public OpDef {
  public:
    explicit SplitkMatmul(const char* name) : OpDef(name) {
        for (const char* tensor : {"a", "b"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        }
        this->Output("c").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->SetInferShape(ge::ShapeOfProduct).SetInferDataType(ge::TypeOfProduct);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(SplitkMatmul);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
