// A helper of operator repositories that no page of the documentation describes: written from its use.
#pragma once
#include "log/ops_log.h"
#include "twin_host/host.h"

// What a tiling function's preparation fills in.
template <class T>
T* GetCompileInfoPtr(gert::TilingParseContext* context) {
    return context->GetCompiledInfo<T>();
}

namespace ops {

// The output has the shape of the first input.
inline ge::graphStatus InferShape4Elewise(gert::InferShapeContext* context) {
    const gert::Shape* input = context->GetInputShape(0);
    gert::Shape* output = context->GetOutputShape(0);
    if (input == nullptr || output == nullptr) return ge::GRAPH_FAILED;
    *output = *input;
    return ge::GRAPH_SUCCESS;
}

}  // namespace ops
