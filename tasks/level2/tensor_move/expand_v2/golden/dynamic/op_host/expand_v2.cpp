// ExpandV2 on the host: tiling, shapes and types, definition.
#include <algorithm>

#include "expand_v2_tiling.h"
#include "work_split.h"

namespace optiling {
// The axes of y with a stride in x each, those that belong together made one: neighbours that are both repeated, or
// that both lie in x as they lie in y.
struct Axes {
    uint64_t extents[MOST_AXES] = {};
    uint64_t strides[MOST_AXES] = {};
    uint32_t count = 0;
};

static bool Collapse(const gert::Shape& x, const gert::Shape& y, Axes& axes) {
    const size_t lacking = y.GetDimNum() - x.GetDimNum();
    uint64_t stride = x.GetShapeSize();
    for (size_t i = 0; i < y.GetDimNum(); ++i) {
        const uint64_t extent = y.GetDim(i);
        const uint64_t own = i < lacking ? 1 : x.GetDim(i - lacking);
        if (own != 0) {
            stride /= own;
        }
        if (extent == 1) {
            continue;
        }
        const uint64_t step = own == 1 ? 0 : stride;
        const uint32_t last = axes.count - 1;
        if (axes.count > 0 && axes.strides[last] == step * extent) {
            axes.extents[last] *= extent;
            axes.strides[last] = step;
        } else if (axes.count == MOST_AXES) {
            return false;
        } else {
            axes.extents[axes.count] = extent;
            axes.strides[axes.count] = step;
            ++axes.count;
        }
    }
    return true;
}

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint64_t TILE = 4096;      // elements
    constexpr uint64_t BLOCK = 4;        // elements of 32 bytes
    constexpr uint64_t MOST_ROWS = 255;  // repeats of an instruction
    Axes axes;
    if (!Collapse(context->GetInputShape(0)->GetStorageShape(), context->GetOutputShape(0)->GetStorageShape(), axes)) {
        return ge::GRAPH_FAILED;
    }
    uint64_t run = 1, times = 1, groups = 1;
    bool spread = false;
    if (axes.count > 0) {
        --axes.count;
        run = axes.extents[axes.count];
        spread = axes.strides[axes.count] == 0;
    }
    if (axes.count > 0 && !spread && axes.strides[axes.count - 1] == 0) {
        times = axes.extents[--axes.count];
    }
    for (uint32_t i = 0; i < axes.count; ++i) {
        groups *= axes.extents[i];
    }
    const uint64_t cores = VectorCores(context);
    const uint64_t tileRun = run < TILE ? run : TILE;
    const uint64_t fitting = run == 0 ? 1 : TILE / (CeilDiv(tileRun, BLOCK) * BLOCK);
    const uint64_t fair = CeilDiv(groups * times, cores);  // rows for every core
    const uint64_t together = spread ? groups : times;     // rows that may share a tile
    const uint64_t rows = std::max<uint64_t>(1, std::min({fitting, fair, together, MOST_ROWS}));
    const uint64_t items = run == 0 ? 0 : groups * times / together * CeilDiv(together, rows) * CeilDiv(run, tileRun);

    ExpandV2TilingData tiling;
    tiling.set_groups(run == 0 ? 0 : groups);
    tiling.set_times(times);
    tiling.set_run(run);
    tiling.set_spread(spread);
    tiling.set_tileRows(rows);
    tiling.set_tileRun(tileRun);
    tiling.set_axes(axes.count);
    tiling.set_extents(axes.extents);
    tiling.set_strides(axes.strides);
    return Launch(context, tiling, std::max<uint64_t>(1, std::min(items, cores)));
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    const auto* shape = context->GetAttrs()->GetListInt(0);
    gert::Shape* y = context->GetOutputShape(0);
    y->SetDimNum(shape->GetSize());
    for (size_t i = 0; i < shape->GetSize(); ++i) {
        y->SetDim(i, shape->GetData()[i]);
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class ExpandV2 : public OpDef {
  public:
    explicit ExpandV2(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_INT64}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_INT64}).Format({ge::FORMAT_ND});
        this->Attr("shape").AttrType(REQUIRED).ListInt();
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ExpandV2);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
