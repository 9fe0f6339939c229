// Mla on the host: tiling, shapes and types, definition.
//
// A block treats some queries of a sequence that see the same cached head, together with all cached tokens.
#include <cmath>
#include "attention_rows.h"
#include "mla_tiling.h"

namespace optiling {
constexpr size_t MOST_SEQUENCES = 128;

// The lengths of sequences. False if there are too many of them, or if a cache is empty.
static bool ReadLengths(gert::TilingContext* context, MlaTilingData& tiling) {
    const gert::TypedContinuousVector<int64_t>* queries = context->GetAttrs()->GetListInt(0);
    const gert::TypedContinuousVector<int64_t>* keys = context->GetAttrs()->GetListInt(1);
    const size_t sequences = queries->GetSize();
    if (sequences > MOST_SEQUENCES || keys->GetSize() != sequences) {
        return false;
    }
    uint32_t tokens[MOST_SEQUENCES] = {}, cached[MOST_SEQUENCES] = {};
    for (size_t s = 0; s < sequences; ++s) {
        tokens[s] = queries->GetData()[s];
        cached[s] = keys->GetData()[s];
        if (cached[s] == 0) {
            return false;
        }
    }
    tiling.set_sequences(sequences);
    tiling.set_tokens(tokens);
    tiling.set_cached(cached);
    return true;
}

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    constexpr uint64_t MOST_WIDTH = 512, MOST_ROPE = 128, MOST_DISTANCE = 65535;
    const gert::Shape& query = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& cache = context->GetInputShape(2)->GetStorageShape();
    const uint64_t heads = query.GetDim(1), headWidth = query.GetDim(2), cachedHeads = cache.GetDim(2);
    const uint64_t ropeWidth = context->GetInputShape(1)->GetStorageShape().GetDim(2), cores = CubeCores(context);
    MlaTilingData tiling;
    if (headWidth > MOST_WIDTH || ropeWidth > MOST_ROPE || headWidth * cachedHeads > MOST_DISTANCE ||
        heads % cachedHeads != 0 || !ReadLengths(context, tiling)) {
        return ge::GRAPH_FAILED;
    }
    const auto count = [&](uint64_t rows) {
        uint64_t tiles = 0;
        for (uint32_t s = 0; s < tiling.get_sequences(); ++s) {
            const uint64_t tokens = tiling.get_tokens()[s];
            tiles += cachedHeads == 1 ? CeilDiv(tokens * heads, rows)
                                      : tokens * cachedHeads * CeilDiv(heads / cachedHeads, rows);
        }
        return tiles;
    };
    const uint64_t pitch = AttentionPitch(headWidth), rope = AttentionPitch(ropeWidth);
    const uint64_t keys = ATTENTION_KEYS * (3 * pitch + 2 * rope) * sizeof(uint16_t);  // of tiles in L1
    const uint64_t rows = AttentionRows(headWidth, pitch + rope, keys, cores, count), tiles = count(rows);
    const uint64_t blocks = tiles == 0 ? 1 : tiles < cores ? tiles : cores;

    tiling.set_heads(heads);
    tiling.set_cachedHeads(cachedHeads);
    tiling.set_headWidth(headWidth);
    tiling.set_ropeWidth(ropeWidth);
    tiling.set_blockSize(cache.GetDim(1));
    tiling.set_tableWidth(context->GetInputShape(4)->GetStorageShape().GetDim(1));
    tiling.set_tileRows(rows);
    tiling.set_scale(1.0f / std::sqrt(static_cast<float>(headWidth + ropeWidth)));
    return Launch(context, tiling, blocks, blocks * ExchangeBytes(rows, headWidth));
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
class Mla : public OpDef {
  public:
    explicit Mla(const char* name) : OpDef(name) {
        const std::vector<ge::DataType> types = {ge::DT_FLOAT16, ge::DT_BF16};
        const std::vector<ge::Format> formats(types.size(), ge::FORMAT_ND);
        for (const char* tensor : {"query_nope", "query_rope", "kv_nope_cache", "kv_rope_cache"}) {
            this->Input(tensor).ParamType(REQUIRED).DataType(types).Format(formats);
        }
        this->Input("block_tables").ParamType(REQUIRED).DataType({ge::DT_INT32, ge::DT_INT32}).Format(formats);
        this->Output("out").ParamType(REQUIRED).DataType(types).Format(formats);
        this->Attr("q_seqlen_list").AttrType(REQUIRED).ListInt();
        this->Attr("k_seqlen_list").AttrType(REQUIRED).ListInt();
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(Mla);
}  // namespace ops
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
